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

/// A device of the run, as the sampler sees it.
struct DevicePlan {
    std::string name; ///< "cpu:0", or the GPU's UUID
    std::string kind; ///< cpu | cuda
    std::string model;
    CoreList cores;          ///< CPU devices
    std::optional<int> rank; ///< the rank that uses this device alone; absent when the device is shared
};

/// Measures devices, ranks, followers and the agent itself. Called five times a second, on the agent's loop.
class Sampler {
public:
    struct Watched {
        std::optional<int> rank;
        pid_t pid = 0;
    };

    Sampler(const Clock &clock, std::vector<DevicePlan> devices, std::unique_ptr<Nvml> nvml);

    /// What happened since the last call. Shares are fractions (0..1); memory is in bytes.
    [[nodiscard]] Frame sample(const std::vector<Watched> &ranks, const std::vector<Watched> &viewers);

    /// Since the last sample, without what was left out.
    [[nodiscard]] std::int64_t sinceSampleNs() const { return m_clock.monoNs() - m_lastNs - m_leftOutNs; }
    /// The next sample is without this time, in which the run was paused, and what the cores did in it.
    void leaveOut(std::int64_t ns, const CoreTimesByCore &before, const CoreTimesByCore &after);
    /// GPUs of the run that NVML has said to be lost since the last call, each once.
    [[nodiscard]] std::vector<DevicePlan> takeLost();
    /// Mean and largest use of every device between two times (CLOCK_MONOTONIC, ns).
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
    std::map<std::string, bool> m_lost; ///< by UUID: whether takeLost() has said so
    CoreTimesByCore m_coreTimes;
    CoreList m_allCores;
    std::map<pid_t, double> m_cpuSeconds;
    std::int64_t m_lastNs, m_leftOutNs = 0;
    std::vector<UseHistory> m_history; ///< by device
};

} // namespace lockstep::agent
