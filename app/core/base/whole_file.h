// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

namespace lockstep::core {

/// Whether a path is among the runs and experiments that Lockstep keeps: what a person exports would take the place of what was measured.
[[nodiscard]] bool isAmongRuns(const std::string &path);
inline constexpr const char *whyNotAmongRuns = "Lockstep keeps its runs and experiments there"; ///< for a refusal

/// Writes the whole file, or leaves the one before as it was. Permissions by the person's umask. Refuses a place that
/// isAmongRuns(). Returns why it can't be written; empty: it is.
[[nodiscard]] std::string writeWhole(const std::string &path, std::string_view bytes);

} // namespace lockstep::core
