// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <string>

#include "ipc/run_folder.h"

namespace lockstep::core {

/// readRunStatus() of runs. Of one whose agent is elsewhere and that has no result, its experiment may know more: that it has failed, and
/// why, as when its Slurm job ended. Reads an experiment again only when its document has changed, so that one reader is for many runs.
/// One thread.
class StatusReader {
public:
    /// `record` is the one in the folder.
    [[nodiscard]] RunStatus read(const RunFolder &folder, const RunRecord &record);

private:
    using Reasons = std::map<std::string, std::string, std::less<>>; ///< why runs failed, by run
    struct Known {
        std::string stamp; ///< of the document that was read
        Reasons failures;
    };
    const Reasons &failuresIn(const std::string &experiment);
    std::map<std::string, Known, std::less<>> m_known; ///< by experiment
};

} // namespace lockstep::core
