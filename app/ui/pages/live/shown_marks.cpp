// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/shown_marks.h"

#include <QCoreApplication>

#include "analysis/history/run_marks.h"
#include "app/ui/theme/palette.h"
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

ChartMark chartMark(const RunLook &look, const core::RunMark &mark, const Palette &palette) {
    ChartMark out;
    out.kind = signOf(mark.kind);
    out.color = mark.error                                     ? palette.wrong
                : mark.kind == core::RunMark::Kind::Checkpoint ? look.color
                                                               : palette.textSecondary;
    out.text = QCoreApplication::translate("LivePage", "%1, %2: %3")
                   .arg(look.name, core::clockTime(mark.wallUs).left(8), QString::fromStdString(mark.text));
    out.runId = look.runId;
    out.wallUs = mark.wallUs;
    return out;
}

QList<ChartMark> shownMarks(const ShownRuns &shown, core::RunCurves::XAxis axis, const Palette &palette) {
    QList<ChartMark> marks;
    for (const RunLook &look : shown.looks()) {
        if (!look.shown)
            continue;
        for (const core::RunMark &mark : core::runMarks(shown.storeOf(look)))
            if (const auto x = shown.curves().placeOf(look.index, axis, mark.wallUs)) {
                marks.append(chartMark(look, mark, palette));
                marks.last().x = *x;
            }
    }
    return marks;
}

} // namespace lockstep::ui
