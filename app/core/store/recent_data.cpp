// SPDX-License-Identifier: MIT
#include "store/recent_data.h"

#include "store/run_store.h"

namespace lockstep::core {

QString whyNoRecentData(const RunStore &run) {
    const RunLifecycle &life = run.lifecycle();
    const bool noRecentData = life.unknown() || life.link() == LinkState::Lost ||
                              (life.link() == LinkState::Connecting && run.log().frames > 0);
    if (run.over() || !noRecentData)
        return {};
    const std::string_view words = toString(life.link());
    return life.linkSentence().isEmpty() ? QString::fromUtf8(words.data(), qsizetype(words.size()))
                                         : life.linkSentence();
}

QString whyNoRecentData(const RunStore &run, const std::string &device) {
    if (const QString whole = whyNoRecentData(run); run.over() || !whole.isEmpty())
        return whole;
    const auto &links = run.links().all();
    const auto node = run.devices().nodeOf(device);
    const auto link = node ? links.find(*node) : links.end();
    return link == links.end() || link->second.up || link->second.ended
               ? QString()
               : QString::fromStdString(sentenceOf(link->second));
}

bool linkToNodeLost(const RunStore &run) {
    return !run.over() && run.links().anyLost();
}

} // namespace lockstep::core
