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
        std::int64_t monoNs = 0; ///< when it was taken
        DeviceSample device;
    };

    /// Watches those of `nvml`'s GPUs whose UUID is in `uuids`; takes nvml over.
    GpuWatch(std::unique_ptr<Nvml> nvml, const std::vector<std::string> &uuids, std::chrono::milliseconds interval);
    ~GpuWatch(); ///< waits for the thread briefly; one stuck inside the driver is left behind

    [[nodiscard]] std::vector<Sample> latest() const; ///< one a GPU that has been sampled

private:
    struct Shared;
    std::shared_ptr<Shared> m_shared;
};

} // namespace lockstep::agent
