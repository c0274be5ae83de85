// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ipc/run_folder.h"

namespace lockstep::agent {

/// How a run, or one node's part of it, has ended.
struct RunEnd {
    RunState state = RunState::Failed;
    int resultCode = 1; ///< 0, 1, 2 or 130, as in result.json
    int commandCode =
        1; ///< exit code of `lockstep-agent run`: that of the failing rank; 1 if all succeeded and the result can't be written
    std::string reason;
    std::int64_t wallUs = 0; ///< since 1970
    double runTimeS = 0;
    std::vector<RankExit> exits;
    std::vector<std::string> warnings; ///< as in result.json, or why there is none
};

} // namespace lockstep::agent
