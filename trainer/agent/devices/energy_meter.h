// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ipc/frames.h"
#include "ipc/run_folder.h"

namespace lockstep::agent {

/// Adds up over a run the energy of its GPUs and of this machine's processor packages. Called five times a second; it
/// reads the kernel's counters once a second, and when the last rank has ended.
///
/// GPUs: NVML's counter where the GPU has one, else its power × time between samples. Packages: RAPL's energy_uj, which
/// wraps around at max_energy_range_uj. A package's counter holds whatever ran on it, so it is the machine's energy and
/// not the run's alone; memory and power supply are not in it.
class EnergyMeter {
public:
    /// `powercap`: where the kernel shows RAPL; another folder in tests.
    explicit EnergyMeter(std::string powercap = powercapFolder());
    /// `sample` as it goes into the log.
    void take(const DeviceFrame &sample);
    /// The ranks have ended: reads the counters once more. `sinceTakeS`: seconds since the last take().
    void finish(double sinceTakeS);
    [[nodiscard]] Energy total() const;

private:
    struct Package {
        std::string folder;
        std::uint64_t range = 0, before = 0; ///< microjoules
    };
    struct Gpu {
        std::optional<double> first, last; ///< NVML's counter, joules
        double integratedJ = 0;
        bool hasPower = false, hasGap = false; ///< a sample had neither
    };
    [[nodiscard]] static std::string powercapFolder(); ///< or what LOCKSTEP_TEST_POWERCAP names
    void findPackages(const std::string &powercap);
    void readPackages();
    void addGpu(const DeviceSample &device, double seconds);

    std::vector<Package> m_packages;
    std::string m_packagesOf;      ///< the kernel's boot and the folder: another node on this machine has the same
    std::string m_packagesUnknown; ///< why; empty: they are read
    std::map<std::string, Gpu> m_gpus;
    double m_packagesJ = 0, m_packagesS = 0, m_sinceReadS = 0, m_gpusS = 0;
};

} // namespace lockstep::agent
