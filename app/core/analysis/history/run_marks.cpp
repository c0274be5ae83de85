// SPDX-License-Identifier: MIT
#include "analysis/history/run_marks.h"

#include <algorithm>
#include <map>

#include "ipc/alerts.h"
#include "store/run_store.h"

namespace lockstep::core {

std::vector<RunMark> runMarks(const RunStore &store) {
    std::vector<RunMark> out;
    for (const StateChange &change : store.messages().stateChanges())
        if (change.state == RunState::Checkpointing && change.rank.value_or(-1) == 0)
            out.push_back({RunMark::Kind::Checkpoint, change.wallUs,
                           change.epoch ? "checkpoint after epoch " + std::to_string(*change.epoch) : "checkpoint"});
    for (const AlertLine &line : store.messages().alerts())
        out.push_back({isRestart(line.alert) ? RunMark::Kind::Restart : RunMark::Kind::Alert, line.wallUs,
                       line.alert.message, line.alert.severity == "error"});
    if (store.lifecycle().link() == LinkState::AgentDied)
        out.push_back(
            {RunMark::Kind::Alert, store.log().lastWallUs, store.lifecycle().deathSentence().toStdString(), true});
    std::stable_sort(out.begin(), out.end(), [](const RunMark &a, const RunMark &b) { return a.wallUs < b.wallUs; });
    return out;
}

std::vector<RunMark> epochEnds(const RunStore &store) {
    std::map<int, std::int64_t> endsUs;
    for (const RankEpoch &epoch : store.epochs().ofRanks()) {
        std::int64_t &last = endsUs[epoch.frame.epoch];
        last = std::max(last, epoch.wallUs);
    }
    std::vector<RunMark> out;
    for (const MergedEpoch &epoch : completeEpochs(store.epochs().merged()))
        if (const auto at = endsUs.find(epoch.epoch); at != endsUs.end())
            out.push_back({RunMark::Kind::EpochEnd, at->second, "end of epoch " + std::to_string(epoch.epoch)});
    return out;
}

} // namespace lockstep::core
