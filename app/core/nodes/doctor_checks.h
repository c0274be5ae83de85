#pragma once
#include <string>
#include <vector>

#include "nodes/doctor_look.h"
#include "nodes/finding.h"
#include "nodes/torch_line.h"

namespace lockstep::core {

/// Everything worth saying of what was looked at, each with its fix; the worst first. Pure.
[[nodiscard]] std::vector<Finding> findingsOf(const DoctorLook &look);

/// The line of PyTorch that all usable nodes can use, of those built here and those that all have. Pure.
[[nodiscard]] Result<LineChoice> lineFor(const DoctorLook &look);

/// Findings and figures for scripts: {"findings":[…],"nodes":[…],"interfaces":[…],"links":[…],
/// "torch_line":{"version":…,"reason":…}}.
[[nodiscard]] std::string toJson(const DoctorLook &look, const std::vector<Finding> &findings);

} // namespace lockstep::core
