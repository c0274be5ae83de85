// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string_view>

#include "base/command_prefix.h"
#include "base/request.h"

namespace lockstep::core {

/// Asks a run's agent to stop it: through its socket on this machine, by `PREFIX lockstep-agent stop RUN` on another. Fails when no
/// agent answers within 2 s here, within `answerLimit` there. `experiment`: the id of the one whose document names the run; nothing is
/// stopped unless the run's record, where the agent is, names it too. Empty: whatever the record says.
[[nodiscard]] Asked askToStop(const CommandPrefix &prefix, std::string_view run, std::string_view by,
                              std::string_view experiment = {});

/// Asks for a trace of the next `steps` steps of every rank, in the same way (`PREFIX lockstep-agent trace RUN STEPS`).
[[nodiscard]] Asked askForTrace(const CommandPrefix &prefix, std::string_view run, std::int64_t steps,
                                std::string_view by);

/// Asks where every rank is; scripts that report to the run answer in its log (ipc/messages.h).
[[nodiscard]] Asked askForStacks(const CommandPrefix &prefix, std::string_view run, std::string_view by);

/// For a request that `host` did not answer in time.
[[nodiscard]] Error noAnswerFrom(const std::string &host);

} // namespace lockstep::core
