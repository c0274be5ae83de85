#pragma once
#include <string>
#include <vector>

#include "ipc/error.h"
#include "launch/command_prefix.h"
#include "launch/experiment.h"

namespace lockstep::core {

/// Asks the agent whether it would start the experiment's scripts: placeholders, files and the Python's modules. Gives the
/// Pythons that were chosen ("/usr/bin/python3 (found by PATH)"). Nothing is asked when there is no script. Blocks up to
/// a minute: not for the GUI thread.
[[nodiscard]] tl::expected<std::vector<std::string>, std::vector<Error>> checkScripts(const CommandPrefix &prefix,
                                                                                      const Experiment &experiment);

} // namespace lockstep::core
