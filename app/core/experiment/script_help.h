// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::core {

/// A flag as a script's --help shows it.
struct ScriptFlag {
    std::string name;                 ///< without dashes: "num-workers"
    bool takesValue = false;          ///< else it is given or not
    std::vector<std::string> choices; ///< where the help lists them
    bool operator==(const ScriptFlag &) const = default;
};

/// The long flags in the --help that Python's argparse prints, in its order, without --help itself.
[[nodiscard]] std::vector<ScriptFlag> flagsFromHelp(std::string_view help);

} // namespace lockstep::core
