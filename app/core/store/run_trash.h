// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"

namespace lockstep::core {

/// Runs deleted together: dataHome()/trash/ID/RUN_ID. Whole folders, moved by rename: nothing is copied or rewritten.
struct TrashedRuns {
    std::string id; ///< of the same shape as a run id; its time is the deletion's
    std::vector<std::string> runs;
};

/// Runs deleted longer ago than this are removed for good.
inline constexpr std::chrono::days trashKept{30};

[[nodiscard]] std::string trashFolder();
/// Why the run can't be deleted: it is running or starting, or does not exist.
[[nodiscard]] Result<void> checkDeletable(const std::string &run);
/// Deletes all of them or, if one can't be deleted, none.
[[nodiscard]] Result<TrashedRuns> trashRuns(const std::vector<std::string> &runs);
/// Newest first.
[[nodiscard]] std::vector<TrashedRuns> listTrash();
/// Restores runs that were deleted together.
[[nodiscard]] Result<TrashedRuns> restoreTrashed(std::string_view id);
/// Restores one run alone.
[[nodiscard]] Result<void> restoreRun(const std::string &run);
/// Removes for good what was deleted at least `age` ago, by its id, its folders and its runs' own times alike, since a clock may have been
/// wrong; everything if that is 0. Returns how many runs.
[[nodiscard]] Result<int> emptyTrash(std::chrono::seconds age = std::chrono::seconds(0));

} // namespace lockstep::core
