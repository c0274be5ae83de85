// SPDX-License-Identifier: MIT
#include "app/ui/pages/shared/run_style.h"

#include <iterator>
#include <map>

#include "analysis/causes/median_repeat.h"
#include "app/ui/theme/palette.h"
#include "base/format.h"
#include "ipc/methods.h"
#include "models/run_set.h"

namespace lockstep::ui {
namespace {

Qt::PenStyle penStyleOf(int repeat) {
    static constexpr Qt::PenStyle styles[] = {Qt::SolidLine, Qt::DashLine, Qt::DashDotLine, Qt::DashDotDotLine};
    return styles[std::size_t(std::max(0, repeat - 1) % 4)];
}

/// Names of one method have different shades of its colour; many names share shades.
QColor shadeOfName(const QColor &base, int place) {
    static constexpr int depths[] = {100, 122, -125, 144, -150}; ///< above zero lighter, below darker, in per cent
    const int depth = depths[std::size_t(place) % std::size(depths)];
    return depth == 100 ? base : depth > 0 ? base.lighter(depth) : base.darker(-depth);
}

void markMedians(const core::RunSet &runs, std::vector<RunStyle> &styles) {
    std::map<QString, std::vector<const core::RunStore *>> byName;
    for (const RunStyle &style : styles)
        if (style.shown)
            byName[style.name].push_back(runs.at(style.index));
    for (RunStyle &style : styles)
        if (style.shown) {
            const auto &repeats = byName[style.name];
            style.repeats = int(repeats.size());
            style.median = core::medianRepeat(repeats) == runs.at(style.index);
        }
}

} // namespace

RunPlace placeOf(const RunStyle &style) {
    const MethodSpec *method = findMethod(style.method.toStdString());
    return {style.foreign, method ? method - methodTable.data() : std::ptrdiff_t(methodTable.size()), style.namePlace,
            style.repeat};
}

std::vector<RunStyle> runStyles(const core::RunSet &runs, const RunQuestion &isShown, const RunQuestion &isForeign) {
    std::vector<RunStyle> out;
    std::map<QString, std::size_t> newest;
    std::map<QString, std::map<QString, int>> sameMethod; // method → names in order: two DDPs differ in depth
    for (int i = 0; i < runs.count(); ++i) {
        const core::RunStore *store = runs.at(i);
        RunStyle style;
        style.index = i;
        style.runId = store->runId();
        style.method = store->identity().method();
        style.name = store->identity().title();
        style.repeat = store->record() ? store->record()->repeat : 1;
        style.shown = !isShown || isShown(*store);
        style.foreign = isForeign && isForeign(*store);
        if (style.foreign && store->record()) // "2026-11-21 14:05:30" without year and seconds
            style.name += u' ' + core::wallTime(store->record()->startWallUs).mid(5, 11);
        auto &names = sameMethod[style.method];
        style.namePlace = names.try_emplace(style.name, int(names.size())).first->second;
        style.color = shadeOfName(methodColor(style.method), style.namePlace);
        style.penStyle = penStyleOf(style.repeat);
        // A repeat that has just begun has nothing to show yet: the earlier one is labelled until then.
        if (!style.shown) {
            style.latest = false;
        } else if (const auto before = newest.find(style.name); before == newest.end()) {
            newest[style.name] = out.size();
        } else if (!store->losses().all().points().empty()) {
            out[before->second].latest = false;
            before->second = out.size();
        } else {
            style.latest = false;
        }
        out.push_back(std::move(style));
    }
    markMedians(runs, out);
    return out;
}

} // namespace lockstep::ui
