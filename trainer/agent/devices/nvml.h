// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ipc/frames.h"

namespace lockstep::agent {

/// NVIDIA's management library, loaded at run time: a machine without a GPU lacks it. Our own few declarations stand in
/// for nvml.h. Calls may take milliseconds, and on a broken GPU seconds: sample from a thread of one's own.
class Nvml {
public:
    struct Gpu {
        unsigned index = 0; ///< NVML's own, in PCI order
        std::string uuid, name;
        std::optional<double> memoryTotalBytes;
        bool mig = false; ///< a slice of a GPU: NVML gives no utilisation for it
    };

    /// Nothing when there is no library or no driver.
    static std::unique_ptr<Nvml> load();
    ~Nvml();
    Nvml(const Nvml &) = delete;
    Nvml &operator=(const Nvml &) = delete;

    /// GPUs (and MIG slices) that this process may open, honouring CUDA_VISIBLE_DEVICES, in CUDA's PCI order.
    [[nodiscard]] const std::vector<Gpu> &gpus() const;
    [[nodiscard]] std::string driverVersion() const;

    /// What can be measured of one GPU now; the rest is absent. Thread safe per GPU.
    [[nodiscard]] DeviceSample sample(std::size_t gpu);

    struct Process {
        int pid = 0;
        std::optional<double> memoryBytes; ///< absent where the driver does not tell
    };
    /// How a GPU is joined to its host; what NVML does not tell is absent.
    struct Link {
        std::optional<int> pcieWidth, pcieWidthMax, pcieGeneration, pcieGenerationMax;
    };
    [[nodiscard]] Link link(std::size_t gpu) const;
    /// "7.5" of a Turing card; empty where NVML does not tell.
    [[nodiscard]] std::string computeCapability(std::size_t gpu) const;
    /// Whether two GPUs read each other's memory directly; absent where NVML does not tell.
    [[nodiscard]] std::optional<bool> peerToPeer(std::size_t gpu, std::size_t other) const;
    /// Programs that compute on it now; takes milliseconds.
    [[nodiscard]] std::vector<Process> processes(std::size_t gpu);

private:
    Nvml();
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

/// Which of `all` CUDA_VISIBLE_DEVICES leaves, in its order; null: all. As CUDA reads it: the list ends at its first
/// entry that names nothing.
[[nodiscard]] std::vector<Nvml::Gpu> visibleGpus(const std::vector<Nvml::Gpu> &all, const char *cudaVisibleDevices);

/// NVML's bits of clock throttle reasons in words; idle clocks are no throttling.
[[nodiscard]] std::vector<std::string> throttleWords(unsigned long long bits);

} // namespace lockstep::agent
