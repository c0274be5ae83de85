// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "ipc/log.h"
#include "ipc/run_folder.h"

namespace lockstep::core {

/// Those lines that the run's result counts and that come after all that were read; `nextSeq`: of a node's first line that was not read.
[[nodiscard]] std::vector<LogGap> missingLines(const RunResult &result,
                                               const std::function<std::uint64_t(int node)> &nextSeq);

/// Takes the sealed lines of a run's nodes in any mixture. Each node has its own checker, so that lost lines are noticed and
/// none counts twice, whatever was cut in between.
class NodeLines {
public:
    /// Passes on the good records of a line (no newline), mostly one. The node of a damaged one is unknown: it is counted for `hint`.
    void take(std::string_view line, int hint, const std::function<void(std::string_view record)> &onGood);

    [[nodiscard]] std::uint64_t nextSeq(int node) const; ///< of the first missing line
    [[nodiscard]] std::map<int, std::uint64_t> nextSeqsBut(int node) const;
    [[nodiscard]] LogGaps gaps() const;
    [[nodiscard]] std::uint64_t damagedLines() const;
    /// Whether all lines that the run's result counts are here; and the missing ones.
    [[nodiscard]] bool complete(const RunResult &result) const { return missing(result).empty(); }
    [[nodiscard]] std::vector<LogGap> missing(const RunResult &result) const;

private:
    std::map<int, LineChecker> m_checkers;
};

} // namespace lockstep::core
