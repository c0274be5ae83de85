// SPDX-License-Identifier: MIT
#include "trainer/agent/log/rank_processes.h"

#include <utility>

#include "ipc/sha256.h"

namespace lockstep::agent {

RankProcesses::Is RankProcesses::greet(int rank, const std::string &identity) {
    const auto [known, isFirst] = m_processes.try_emplace(rank);
    Process &process = known->second;
    std::string hash = sha256Hex(identity);
    const bool same = process.identity == hash;
    if (!same)
        process = {std::move(hash), {}, true};
    process.silent = true;
    return isFirst ? Is::First : same ? Is::Same : Is::Another;
}

/// A process that connects again may send its first frame again, too, but that one was made at the same time.
bool RankProcesses::beginsAnother(int rank, std::string_view line) {
    const auto known = m_processes.find(rank);
    if (known == m_processes.end() || !std::exchange(known->second.silent, false))
        return false;
    const auto frame = m_decoder.decode(line);
    if (!frame || frame->rank != rank || frame->rseq != 0u)
        return false;
    const auto *state = std::get_if<StateFrame>(&frame->body);
    if (!state || state->state != RunState::Init)
        return false;
    const auto before = std::exchange(known->second.begunNs, frame->monoNs);
    return before && *before < frame->monoNs;
}

std::vector<int> RankProcesses::ranks() const {
    std::vector<int> ranks;
    for (const auto &[rank, process] : m_processes)
        ranks.push_back(rank);
    return ranks;
}

} // namespace lockstep::agent
