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

/// What lies longer than this is removed for good.
inline constexpr std::chrono::days trashKept{30};

[[nodiscard]] std::string trashFolder();
/// Why the run can't be deleted: it runs, it starts, there is none.
[[nodiscard]] Result<void> checkDeletable(const std::string &run);
/// All of them or, when one can't be, none.
[[nodiscard]] Result<TrashedRuns> trashRuns(const std::vector<std::string> &runs);
/// Newest first.
[[nodiscard]] std::vector<TrashedRuns> listTrash();
/// Puts back what was deleted together.
[[nodiscard]] Result<TrashedRuns> restoreTrashed(std::string_view id);
/// Puts one run back, whatever it was deleted with.
[[nodiscard]] Result<void> restoreRun(const std::string &run);
/// Removes for good what has lain at least `age`; returns how many runs.
[[nodiscard]] Result<int> emptyTrash(std::chrono::seconds age = std::chrono::seconds(0));

} // namespace lockstep::core
