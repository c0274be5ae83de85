// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "base/command_prefix.h"
#include "experiment/experiment.h"
#include "ipc/error.h"

namespace lockstep::core {

/// Asks the agent whether it can start the experiment's scripts: placeholders, files and Python modules. Returns the
/// chosen Pythons ("/usr/bin/python3 (found by PATH)"). Without scripts it returns at once. Blocks up to
/// a minute: not for the GUI thread.
[[nodiscard]] tl::expected<std::vector<std::string>, std::vector<Error>> checkScripts(const CommandPrefix &prefix,
                                                                                      const Experiment &experiment);

} // namespace lockstep::core
