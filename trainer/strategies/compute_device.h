// SPDX-License-Identifier: MIT
#pragma once
#include <c10/core/Device.h>

#include "ipc/cores.h"

namespace lockstep::trainer {

/// One device of a process: a GPU, or a block of cores.
struct ComputeDevice {
    c10::Device device{c10::DeviceType::CPU};
    CoreList cores; ///< CPU devices
    int threads = 1;
};

} // namespace lockstep::trainer
