// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
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
/// Of several, one that has all that is in the files, else the newest. Reads the record of every run.
[[nodiscard]] std::optional<EarlierRun> earlierRunOf(const RecordedFiles &files);

} // namespace lockstep::agent
