// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ipc/frames.h"
#include "trainer/agent/devices/nvml.h"

namespace lockstep::agent {

/// Samples GPUs on a thread of its own ("lockstep-gpu"), so that a slow NVML never stalls the agent's loop.
class GpuWatch {
public:
    struct Sample {
        std::int64_t monoNs = 0; ///< CLOCK_MONOTONIC, when it was taken
        DeviceSample device;
        bool lost = false; ///< by Nvml::isLost()
    };

    /// Watches those GPUs of `nvml` whose UUID is in `uuids`.
    GpuWatch(std::unique_ptr<Nvml> nvml, const std::vector<std::string> &uuids, std::chrono::milliseconds interval);
    ~GpuWatch(); ///< waits for the thread briefly; a thread that is stuck in the driver is left running

    [[nodiscard]] std::vector<Sample> latest() const; ///< the newest sample of each GPU that has one

private:
    struct Shared;
    std::shared_ptr<Shared> m_shared;
};

} // namespace lockstep::agent
