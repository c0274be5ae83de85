// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "ipc/log.h"
#include "ipc/run_folder.h"

namespace lockstep::core {

/// The sealed lines of a run's nodes as they come in any mixture: each node's by its own checker, so that nothing is lost
/// unseen and nothing counts twice, whatever was cut in between.
class NodeLines {
public:
    /// A line (no newline). Whose a damaged one is nobody knows; it is counted with `hint`.
    LineChecker::Verdict check(std::string_view line, int hint = 0);

    [[nodiscard]] std::uint64_t nextSeq(int node) const; ///< the first that lacks
    [[nodiscard]] std::map<int, std::uint64_t> nextSeqsBut(int node) const;
    [[nodiscard]] std::vector<LogGap> gaps() const;
    [[nodiscard]] std::uint64_t damagedLines() const;
    /// Whether all lines are here that the run's result counts, and those that are not.
    [[nodiscard]] bool complete(const RunResult &result) const { return missing(result).empty(); }
    [[nodiscard]] std::vector<LogGap> missing(const RunResult &result) const;

private:
    std::map<int, LineChecker> m_checkers;
};

} // namespace lockstep::core
