// SPDX-License-Identifier: MIT
#pragma once
// Energy of one run, over all its nodes, as its agent added it up (Energy, ipc/run_folder.h). Unknown stays unknown, with a
// sentence that names the node whose part is.
#include <optional>
#include <string>

#include "store/run_data.h"

namespace lockstep::core {

[[nodiscard]] std::optional<double> gpusEnergyOf(const RunOutcome &run);
[[nodiscard]] std::optional<double> packagesEnergyOf(const RunOutcome &run);
/// Of the devices that trained: the GPUs, or for CPU devices the machine's packages, which other programs share.
[[nodiscard]] std::optional<double> devicesEnergyOf(const RunOutcome &run);
/// Mean power of these over the run, in watts.
[[nodiscard]] std::optional<double> devicesPowerOf(const RunOutcome &run);
/// devicesEnergyOf() ÷ training samples; joules.
[[nodiscard]] std::optional<double> energyPerSampleOf(const RunOutcome &run);
/// Why devicesEnergyOf() is unknown, one sentence; empty: it is known.
[[nodiscard]] std::string whyEnergyUnknown(const RunOutcome &run);
/// Training time in which GPUs waited for data (load) or for communication (exposed), summed over ranks. Absent where a rank
/// doesn't have exactly one GPU.
[[nodiscard]] std::optional<double> gpuHoursWaitingOf(const RunOutcome &run);

} // namespace lockstep::core
