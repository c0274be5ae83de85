// SPDX-License-Identifier: MIT
#include "store/run_data.h"

#include <algorithm>

#include "ipc/sound_values.h"

namespace lockstep::core {

bool RunOutcome::madeNoEpoch() const {
    return firstEpoch > 1 && !summedEpochs.empty() && firstEpoch > summedEpochs.back().epoch;
}

std::string_view wordOf(RunState state) {
    return state == RunState::Init ? "starting" : toString(state);
}

std::string_view toString(LinkState state) {
    switch (state) {
    case LinkState::Idle:
        return "not followed";
    case LinkState::Replaying:
        return "reading the log";
    case LinkState::Connecting:
        return "connecting";
    case LinkState::Live:
        return "live";
    case LinkState::Lost:
        return "link lost, training state unknown";
    case LinkState::Finished:
        return "finished";
    case LinkState::AgentDied:
        return "failed: agent died";
    case LinkState::Failed:
        return "can't be read";
    case LinkState::Unknown: // of a copy; its sentence names the machine
        return "whether it still runs is unknown";
    }
    return "";
}

std::string whyLeftOut(int node, const HeaderFrame &header, const std::string &run) {
    const std::string log = "the log of node " + std::to_string(node), left = ": none of it counts";
    if (!header.run.empty() && header.run != run)
        return log + " is that of run " + header.run + left;
    if (header.format > logFormat)
        return log + " was written by a newer Lockstep (log format " + std::to_string(header.format) +
               ", this one knows " + std::to_string(logFormat) + ")" + left;
    return {};
}

std::optional<double> trainingTimeIn(const Summary &summary) {
    double sum = 0;
    for (const EpochSummary &epoch : summary.epochs)
        sum += epoch.durationS;
    constexpr double most = 2; // asynchronous ranks are slow in different epochs
    const auto &total = summary.totalTrainingTimeS;
    if (total && !summary.epochs.empty() &&
        !(canBeTrainingTime(*total, most * sum) && canBeTrainingTime(sum, most * *total)))
        return std::nullopt;
    return total;
}

std::string deviceKind(const std::vector<std::string> &names) {
    return names.empty() ? "" : names.front().starts_with("cpu") ? "cpu" : "cuda";
}

int reportedDevices(std::string_view method, int processes, std::size_t given) {
    const bool all = processes == 1 && method != toString(Method::Baseline);
    return std::max(1, all ? int(given) : processes);
}

std::string sentenceOf(const NodeLink &link, bool now) {
    const std::string who = link.host.empty() ? "node " + std::to_string(link.node) : link.host;
    if (link.ended)
        return who + " has ended";
    if (link.up)
        return "link to " + who + (now ? " is up" : " was up when last seen");
    return "link to " + who + " lost, its training state unknown" +
           (link.reason.empty() ? "" : " (" + link.reason + ")");
}

} // namespace lockstep::core
