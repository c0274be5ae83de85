#pragma once
#include <optional>
#include <set>
#include <string>

#include "ipc/error.h"

namespace lockstep::agent {

/// Puts the ranks' traces (rank-R.json) in `folder` together as trace.json, one process a rank, once every rank has written a
/// newer one than that. Nothing while there is nothing new. The result is trace.json's path.
[[nodiscard]] Result<std::optional<std::string>> mergeTraces(const std::string &folder, const std::set<int> &ranks);

} // namespace lockstep::agent
