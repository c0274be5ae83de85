// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// The most flags that are said of a script: runs are compared flag by flag.
inline constexpr std::size_t mostFlags = 512;

/// What is said of a script beside its command. A recipe may describe a script by a whole RunConfig. Of somebody's own script
/// less is known: only some keys of its configuration mean anything, and it has flags that no RunConfig has.
struct ScriptClaims {
    std::map<std::string, std::string> flags; ///< in which runs of the script differ: {"amp", "on"}; at most mostFlags
    /// RunConfig's keys that say something about the script; the others hold defaults that mean nothing. Absent: all do.
    std::optional<std::vector<std::string>> known;
    [[nodiscard]] bool knows(std::string_view key) const {
        return !known || std::find(known->begin(), known->end(), key) != known->end();
    }
    [[nodiscard]] bool empty() const { return flags.empty() && !known; }
    bool operator==(const ScriptClaims &) const = default;
};

} // namespace lockstep
