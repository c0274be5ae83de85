// SPDX-License-Identifier: MIT
#include "store/run_failure.h"

#include <algorithm>

#include "store/run_store.h"

namespace lockstep::core {
namespace {

/// The rank that the reason is about; null: none, or an unknown one, as where a command has started the ranks and its own end is the reason.
const RankInfo *rankAtFault(const RunStore &store, const std::string &reason) {
    const auto &ranks = store.ranks().all();
    const auto found = std::ranges::find_if(ranks, [&](const auto &entry) {
        const auto &exit = entry.second.exit;
        return exit && exit->reason.starts_with("rank ") &&
               reason.starts_with(exit->reason.substr(0, exit->reason.find(": ")));
    });
    return found == ranks.end() ? nullptr : &found->second;
}

} // namespace

bool hasFailed(const RunStore &store) {
    return store.lifecycle().agentDied() || store.lifecycle().state() == RunState::Failed;
}

std::string deathReason(const RunStore &store) {
    constexpr std::string_view failed = "failed: ";
    const std::string sentence = store.lifecycle().deathSentence().toStdString();
    return sentence.starts_with(failed) ? sentence.substr(failed.size()) : sentence;
}

std::string endReason(const RunStore &store) {
    if (store.lifecycle().agentDied())
        return deathReason(store);
    if (store.lifecycle().unknown())
        return store.lifecycle().linkSentence().toStdString();
    std::string reason = store.lifecycle().reason();
    const RankInfo *rank = hasFailed(store) ? rankAtFault(store, reason) : nullptr;
    if (rank && rank->lastStep) // before the rank's own message
        reason.insert(std::min(reason.find(": "), reason.size()), " after step " + std::to_string(*rank->lastStep));
    return reason;
}

} // namespace lockstep::core
