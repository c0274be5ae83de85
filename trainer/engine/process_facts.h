// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

namespace lockstep::trainer {

/// What Linux says about this process.
[[nodiscard]] std::optional<double> secondsSinceLaunch(); ///< since the kernel started it
[[nodiscard]] std::optional<double> peakRssBytes();
[[nodiscard]] std::string hostName();
[[nodiscard]] std::string bootId(); ///< the same in all containers and namespaces of one machine

/// Asks for SCHED_BATCH, which needs no privilege: a rank then keeps its core while Gloo's threads wake, and small
/// all-reduces lose their 4 ms stalls. Threads started later inherit it.
void useBatchScheduling();
/// Keeps memory that training frees for the next step: by default glibc hands blocks as large as activations back to the
/// kernel and faults them in again every step. To be called when the data are read.
void keepFreedMemory();
/// The policy in force: "batch", "other", "fifo", "rr", "idle".
[[nodiscard]] std::string schedulingPolicy();

} // namespace lockstep::trainer
