// SPDX-License-Identifier: MIT
#include "store/node_lines.h"

namespace lockstep::core {

std::vector<LogGap> missingLines(const RunResult &result, const std::function<std::uint64_t(int node)> &nextSeq) {
    std::vector<LogGap> missing;
    const auto check = [&](int node, std::uint64_t lines) {
        if (const std::uint64_t next = nextSeq(node); next < lines)
            missing.push_back({next, lines - 1});
    };
    check(0, result.logLines);
    for (const auto &[node, lines] : result.nodeLogLines)
        check(node, lines);
    return missing;
}

void NodeLines::take(std::string_view line, int hint, const std::function<void(std::string_view record)> &onGood) {
    for (LineRecords records(line); records.next();) {
        const auto &place = records.place();
        const auto verdict =
            place ? m_checkers[place->node].checkSeq(place->seq) : m_checkers[hint].checkSeq(std::nullopt);
        if (verdict == LineChecker::Verdict::Good)
            onGood(records.record());
    }
}

std::uint64_t NodeLines::nextSeq(int node) const {
    const auto found = m_checkers.find(node);
    return found == m_checkers.end() ? 0 : found->second.nextSeq();
}

std::map<int, std::uint64_t> NodeLines::nextSeqsBut(int node) const {
    std::map<int, std::uint64_t> seqs;
    for (const auto &[other, checker] : m_checkers)
        if (other != node)
            seqs[other] = checker.nextSeq();
    return seqs;
}

LogGaps NodeLines::gaps() const {
    LogGaps gaps;
    for (const auto &[node, checker] : m_checkers)
        gaps.add(checker.gaps());
    return gaps;
}

std::uint64_t NodeLines::damagedLines() const {
    std::uint64_t damaged = 0;
    for (const auto &[node, checker] : m_checkers)
        damaged += checker.damagedLines();
    return damaged;
}

std::vector<LogGap> NodeLines::missing(const RunResult &result) const {
    return missingLines(result, [this](int node) { return nextSeq(node); });
}

} // namespace lockstep::core
