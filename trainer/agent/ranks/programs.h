// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ipc/error.h"

namespace lockstep::agent {

/// The path of a program, found as execvp would.
[[nodiscard]] Result<std::string> findProgram(const std::string &name);
/// LOCKSTEP_TRAINER, else lockstep-trainer beside this program, else in PATH.
[[nodiscard]] Result<std::string> findTrainer();

} // namespace lockstep::agent
