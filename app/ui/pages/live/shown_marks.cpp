// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/shown_marks.h"

#include <QCoreApplication>

#include "analysis/history/run_marks.h"
#include "base/format.h"

namespace lockstep::ui {
namespace {

ChartMark::Kind signOf(core::RunMark::Kind kind) {
    using Kind = core::RunMark::Kind;
    switch (kind) {
    case Kind::Checkpoint:
        return ChartMark::Kind::Checkpoint;
    case Kind::Restart:
        return ChartMark::Kind::Restart;
    case Kind::EpochEnd:
        return ChartMark::Kind::EpochEnd;
    case Kind::Alert:
        break;
    }
    return ChartMark::Kind::Alert;
}

} // namespace

ChartMark chartMark(const RunStyle &style, const core::RunMark &mark) {
    ChartMark out;
    out.kind = signOf(mark.kind);
    out.ink = mark.error                                     ? ChartMark::Ink::Wrong
              : mark.kind == core::RunMark::Kind::Checkpoint ? ChartMark::Ink::Own
                                                             : ChartMark::Ink::Secondary;
    out.color = style.color;
    out.text = QCoreApplication::translate("LivePage", "%1, %2: %3")
                   .arg(style.name, core::clockTime(mark.wallUs).left(8), QString::fromStdString(mark.text));
    out.runId = style.runId;
    out.wallUs = mark.wallUs;
    return out;
}

QList<ChartMark> shownMarks(const ShownRuns &shown, core::RunCurves::XAxis axis) {
    QList<ChartMark> marks;
    for (const RunStyle &style : shown.styles()) {
        if (!style.shown)
            continue;
        for (const core::RunMark &mark : core::runMarks(shown.storeOf(style)))
            if (const auto x = shown.curves().placeOf(style.index, axis, mark.wallUs)) {
                marks.append(chartMark(style, mark));
                marks.last().x = *x;
            }
    }
    return marks;
}

} // namespace lockstep::ui
