// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace lockstep::core {
class RunStore;

/// The run is over and did not succeed. A run that was stopped on request has not failed.
[[nodiscard]] bool hasFailed(const RunStore &store);
/// RunLifecycle::deathSentence() without "failed: ".
[[nodiscard]] std::string deathReason(const RunStore &store);
/// Why a run ended as it did, in one clause: which rank, on which host, how, and after which step, as far as frames report it ("rank 1 on box1
/// was killed by SIGKILL after step 412"). Empty while it goes on or when there is nothing to say.
[[nodiscard]] std::string endReason(const RunStore &store);

} // namespace lockstep::core
