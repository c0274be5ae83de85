// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ipc/clock.h"
#include "ipc/cores.h"
#include "ipc/frames.h"
#include "trainer/agent/devices/gpu_watch.h"
#include "trainer/agent/devices/proc_files.h"
#include "trainer/agent/devices/use_history.h"

namespace lockstep::agent {

/// One device of the run, as it is sampled.
struct DevicePlan {
    std::string name; ///< "cpu:0", or the GPU's UUID
    std::string kind; ///< cpu | cuda
    std::string model;
    CoreList cores;          ///< of a CPU device
    std::optional<int> rank; ///< the one rank that has this device for itself, if so
};

/// Measures devices, ranks, followers and the agent itself; called at 5 Hz from the agent's loop.
class Sampler {
public:
    struct Watched {
        std::optional<int> rank;
        pid_t pid = 0;
    };

    Sampler(const Clock &clock, std::vector<DevicePlan> devices, std::unique_ptr<Nvml> nvml);

    /// Everything since the last call.
    [[nodiscard]] Frame sample(const std::vector<Watched> &ranks, const std::vector<Watched> &viewers);

    [[nodiscard]] std::int64_t lastSampleNs() const { return m_lastNs; }
    /// Mean and largest use of every device in that time.
    [[nodiscard]] std::vector<DeviceEpochUse> over(std::int64_t fromNs, std::int64_t toNs) const;

private:
    DeviceSample sampleCpu(const DevicePlan &plan, const CoreTimesByCore &times,
                           const std::vector<ProcessSample> &ranks) const;
    void addGpus(std::vector<DeviceSample> &samples);
    ProcessSample sampleProcess(const Watched &process, std::map<pid_t, double> &cpuSeconds, double seconds) const;

    const Clock &m_clock;
    std::vector<DevicePlan> m_devices;
    std::unique_ptr<GpuWatch> m_gpus;
    std::map<std::string, std::int64_t> m_gpuSampleNs;
    CoreTimesByCore m_coreTimes;
    CoreList m_allCores;
    std::map<pid_t, double> m_cpuSeconds;
    std::int64_t m_lastNs;
    std::vector<UseHistory> m_history; ///< by device
};

} // namespace lockstep::agent
