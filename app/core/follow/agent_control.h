#pragma once
#include <cstdint>
#include <string_view>

#include "ipc/error.h"
#include "launch/command_prefix.h"

namespace lockstep::core {

/// Asks a run's agent to stop it: by its socket here, by `PREFIX lockstep-agent stop RUN` elsewhere. Blocks up to 25 s
/// elsewhere, some ms here. An error when no agent answers.
[[nodiscard]] Result<void> askToStop(const CommandPrefix &prefix, std::string_view run, std::string_view by);

/// Asks for a trace of the next `steps` steps of every rank, by the same ways (`PREFIX lockstep-agent trace RUN STEPS`).
[[nodiscard]] Result<void> askForTrace(const CommandPrefix &prefix, std::string_view run, std::int64_t steps,
                                       std::string_view by);

} // namespace lockstep::core
