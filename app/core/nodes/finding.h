// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::core {

/// One finding of the doctor. Error: a run would fail or hang. Warning: it would be slow or hard to interpret. Note: nothing to
/// do.
struct Finding {
    enum class Severity { Note, Warning, Error };
    std::string code; ///< short and stable, for scripts: "closed_port"
    Severity severity = Severity::Error;
    std::string what, where, fix; ///< where: a node, "node1 → node2", or "command 2"
};
[[nodiscard]] std::string_view toString(Finding::Severity severity);
/// Errors first, then warnings, then notes; otherwise as found.
void sortFindings(std::vector<Finding> &findings);
[[nodiscard]] bool anyError(const std::vector<Finding> &findings);

} // namespace lockstep::core
