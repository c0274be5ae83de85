// SPDX-License-Identifier: MIT
#include "app/ui/pages/shared/run_look.h"

#include <map>

#include "analysis/causes/median_repeat.h"
#include "app/ui/theme/palette.h"
#include "base/format.h"
#include "models/run_set.h"

namespace lockstep::ui {
namespace {

Qt::PenStyle styleOf(int repeat) {
    static constexpr Qt::PenStyle styles[] = {Qt::SolidLine, Qt::DashLine, Qt::DashDotLine, Qt::DashDotDotLine};
    return styles[std::size_t(std::max(0, repeat - 1) % 4)];
}

void markMedians(const core::RunSet &runs, std::vector<RunLook> &looks) {
    std::map<QString, std::vector<const core::RunStore *>> byName;
    for (const RunLook &look : looks)
        if (look.shown)
            byName[look.name].push_back(runs.at(look.index));
    for (RunLook &look : looks)
        if (look.shown) {
            const auto &repeats = byName[look.name];
            look.repeats = int(repeats.size());
            look.median = core::medianRepeat(repeats) == runs.at(look.index);
        }
}

} // namespace

std::vector<RunLook> runLooks(const core::RunSet &runs, const RunQuestion &isShown, const RunQuestion &isForeign) {
    std::vector<RunLook> out;
    std::map<QString, std::size_t> newest;
    std::map<QString, std::map<QString, int>> sameMethod; // method → names in order: two DDPs differ in depth
    for (int i = 0; i < runs.count(); ++i) {
        const core::RunStore *store = runs.at(i);
        RunLook look;
        look.index = i;
        look.runId = store->runId();
        look.method = store->identity().method();
        look.name = store->identity().title();
        look.repeat = store->record() ? store->record()->repeat : 1;
        look.shown = !isShown || isShown(*store);
        look.foreign = isForeign && isForeign(*store);
        if (look.foreign && store->record()) // "2026-11-21 14:05:30" without year and seconds
            look.name += u' ' + core::wallTime(store->record()->startWallUs).mid(5, 11);
        auto &names = sameMethod[look.method];
        const int place = names.try_emplace(look.name, int(names.size())).first->second;
        const QColor base = methodColor(look.method);
        look.color = place == 0  ? base
                     : place % 2 ? base.lighter(100 + 22 * ((place + 1) / 2))
                                 : base.darker(100 + 25 * (place / 2));
        look.style = styleOf(look.repeat);
        // A repeat that has just begun has nothing to show yet: the one before it speaks until then.
        if (!look.shown) {
            look.latest = false;
        } else if (const auto before = newest.find(look.name); before == newest.end()) {
            newest[look.name] = out.size();
        } else if (!store->losses().all().points().empty()) {
            out[before->second].latest = false;
            before->second = out.size();
        } else {
            look.latest = false;
        }
        out.push_back(std::move(look));
    }
    markMedians(runs, out);
    return out;
}

} // namespace lockstep::ui
