// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "nodes/doctor_snapshot.h"
#include "nodes/finding.h"
#include "nodes/torch_line.h"

namespace lockstep::core {

/// All findings that follow from the facts, each with its fix, worst first. Pure.
[[nodiscard]] std::vector<Finding> findingsOf(const DoctorSnapshot &snapshot);

/// The line of PyTorch that all usable nodes can use: one built here, or one that all of them have. Pure.
[[nodiscard]] Result<LineChoice> lineFor(const DoctorSnapshot &snapshot);

/// Findings and figures for scripts: {"findings":[…],"nodes":[…],"interfaces":[…],"links":[…],
/// "torch_line":{"version":…,"reason":…}}.
[[nodiscard]] std::string toJson(const DoctorSnapshot &snapshot, const std::vector<Finding> &findings);

} // namespace lockstep::core
