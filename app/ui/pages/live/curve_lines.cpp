// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/curve_lines.h"

#include <QCoreApplication>

#include "analysis/compare/result_table.h"
#include "app/ui/charts/line_chart.h"
#include "app/ui/theme/palette.h"
#include "experiment/recipe.h"
#include "ipc/methods.h"
#include "ipc/models.h"

namespace lockstep::ui {

using XAxis = core::RunCurves::XAxis;

namespace {

QString methodTitle(const RunStyle &style) {
    const MethodSpec *method = findMethod(style.method.toStdString()); // null: a method that a script invented
    return method ? QString::fromUtf8(method->title.data(), qsizetype(method->title.size())) : style.method;
}

} // namespace

LineData lineOf(const RunStyle &style) {
    LineData line;
    line.key = style.runId;
    line.name = style.name;
    line.runId = style.runId;
    line.group = methodTitle(style);
    line.color = style.color;
    line.style = style.penStyle;
    line.labelled = style.latest;
    return line;
}

QList<LineData> curveLines(core::RunCurves &curves, const std::vector<RunStyle> &styles, const CurveView &view) {
    QList<LineData> faint, lines;
    for (const RunStyle &style : styles) {
        if (!style.shown)
            continue;
        LineData line = lineOf(style);
        line.data = curves.curve(style.index, view.axis);
        line.curve = curves.smoothed(style.index, view.axis, view.smoothing);
        line.windowsAPoint = curves.windowsAPoint(style.index);
        if (line.curve != line.data && style.latest) {
            LineData raw = line;
            raw.key += QStringLiteral(" raw");
            raw.curve = line.data;
            raw.faint = true;
            raw.style = Qt::SolidLine;
            faint.append(raw);
        }
        lines.append(line);
    }
    return faint + lines;
}

QList<LineData> publishedLines(const core::Published &published, std::optional<double> core::PublishedEpoch::*figure) {
    QList<LineData> lines;
    const DataSetSpec *dataSet = findDataSet(published.dataset);
    const QString of = dataSet ? QString::fromUtf8(dataSet->title.data()) : QString();
    for (const core::PublishedRun &run : published.runs) {
        LineData line;
        line.key = QString::fromStdString(core::publishedLabel(run.name));
        line.name = of.isEmpty() ? line.key : QCoreApplication::translate("LivePage", "%1 on %2").arg(line.key, of);
        line.color = methodColor(QString::fromStdString(run.method));
        line.style = Qt::DotLine;
        for (const core::PublishedEpoch &epoch : run.epochs)
            if (const auto value = epoch.*figure)
                line.points.append({double(epoch.epoch), *value});
        if (!line.points.isEmpty())
            lines.append(line);
    }
    return lines;
}

void setCurveAxes(LineChart &chart, const CurveView &view, const QString &yTitle, double epochs) {
    chart.setAxisTitles(view.axisTitle, yTitle);
    chart.setXKind(view.axis == XAxis::Wall      ? XKind::WallTime
                   : view.axis == XAxis::RunTime ? XKind::Real
                                                 : XKind::Whole);
    if (view.axis == XAxis::Epoch)
        chart.setXRange(0, epochs);
    else
        chart.setXRange(view.axis == XAxis::Wall ? std::nullopt : std::optional(0.0), std::nullopt);
}

} // namespace lockstep::ui
