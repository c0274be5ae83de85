// SPDX-License-Identifier: MIT
#include "app/ui/pages/shared/run_look.h"

#include <iterator>
#include <map>

#include "analysis/causes/median_repeat.h"
#include "app/ui/theme/palette.h"
#include "base/format.h"
#include "ipc/methods.h"
#include "models/run_set.h"

namespace lockstep::ui {
namespace {

Qt::PenStyle styleOf(int repeat) {
    static constexpr Qt::PenStyle styles[] = {Qt::SolidLine, Qt::DashLine, Qt::DashDotLine, Qt::DashDotDotLine};
    return styles[std::size_t(std::max(0, repeat - 1) % 4)];
}

/// Names of one method differ in depth, within what is still the method's colour and can be seen; many names share depths.
QColor shadeOfName(const QColor &base, int place) {
    static constexpr int depths[] = {100, 122, -125, 144, -150}; ///< above zero lighter, below darker, in per cent
    const int depth = depths[std::size_t(place) % std::size(depths)];
    return depth == 100 ? base : depth > 0 ? base.lighter(depth) : base.darker(-depth);
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

std::ptrdiff_t placeOf(const RunLook &look) {
    const MethodSpec *method = findMethod(look.method.toStdString());
    return method ? method - methodTable.data() : std::ptrdiff_t(methodTable.size());
}

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
        look.color = shadeOfName(methodColor(look.method), place);
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
