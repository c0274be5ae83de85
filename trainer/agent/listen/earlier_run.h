// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "ipc/run_folder.h"

namespace lockstep::agent {

/// A run on this machine that was recorded from files of frames which begin like others.
struct EarlierRun {
    std::string run;
    RunStatus status;
    bool hasAll = false; ///< that is in the others, too
    [[nodiscard]] bool isDone() const { return status.result && status.result->state == RunState::Done; }
    [[nodiscard]] bool goesOn() const {
        return status.kind == RunStatus::Kind::Starting || status.kind == RunStatus::Kind::Running;
    }
};
/// Of several, one that has all of the files' `bytes`, else the newest. `begins`: of each file; a run that was begun by
/// one of them may not know yet that another is earlier. Reads the record of every run.
[[nodiscard]] std::optional<EarlierRun> earlierRunOf(const std::set<std::string> &begins, std::uint64_t bytes);

} // namespace lockstep::agent
