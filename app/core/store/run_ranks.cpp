// SPDX-License-Identifier: MIT
#include "store/run_ranks.h"

#include <algorithm>

namespace lockstep::core {

RankInfo &RunRanks::rankInfo(int rank) {
    RankInfo &info = m_ranks[rank];
    info.rank = rank;
    return info;
}

void RunRanks::take(int rank, const Frame &frame, const StateFrame &body) {
    RankInfo &info = rankInfo(rank);
    info.state = body.state;
    m_clocks[rank].onState(frame.monoNs, body.state);
    const auto keep = [](std::string &own, const std::string &reported) {
        if (!reported.empty())
            own = reported;
    };
    keep(info.host, body.host);
    keep(info.device, body.device);
    keep(info.cores, body.cores);
    keep(info.backend, body.backend);
    keep(info.scheduling, body.scheduling);
    if (body.pid)
        info.pid = body.pid;
    if (body.threads)
        info.threads = body.threads;
    if (!body.replicaBatch.empty())
        info.replicaBatch = body.replicaBatch;
    const auto keepReported = [&](const char *key, std::string &own) {
        if (const auto said = body.about.find(key); said != body.about.end() && own.empty())
            own = said->second;
    };
    keepReported("backend", info.backend);
    keepReported("device", info.device);
}

void RunRanks::take(int rank, const StepsFrame &body) {
    RankInfo &info = rankInfo(rank);
    info.lastStep = std::max(info.lastStep.value_or(-1), body.lastStep);
}

void RunRanks::take(const ProcessSample &process) {
    if (!process.rank)
        return;
    RankInfo &info = rankInfo(*process.rank);
    info.cpuCores = process.cpuCores;
    info.rssBytes = process.rssBytes;
}

std::optional<std::int64_t> RunRanks::doneSteps() const {
    int reported = 0;
    std::int64_t done = INT64_MAX;
    for (const auto &[rank, info] : m_ranks)
        if (info.lastStep) {
            ++reported;
            done = std::min(done, *info.lastStep + 1);
        }
    if (reported == 0)
        return std::nullopt;
    return reported >= expected() ? done : 0;
}

} // namespace lockstep::core
