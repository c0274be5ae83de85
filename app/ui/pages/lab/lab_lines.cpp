// SPDX-License-Identifier: MIT
#include "app/ui/pages/lab/lab_lines.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "lab/lab_report.h"

namespace lockstep::ui {
namespace {

constexpr double fromBytes = 4, stepsAnOctave = 4;

/// Okabe and Ito's colours. The ring has DDP's colour and the server that of the server method.
QColor colorOf(const QString &collective) {
    if (collective == QLatin1String("ring_all_reduce"))
        return methodColor(methodOf(Traffic::Ring).id);
    if (collective == QLatin1String("server_all_reduce"))
        return methodColor(methodOf(Traffic::Server).id);
    if (collective == QLatin1String("all_reduce"))
        return methodColor(QStringLiteral("pipeline"));
    if (collective == QLatin1String("send_recv"))
        return methodColor(Method::Baseline);
    if (collective == QLatin1String("broadcast"))
        return methodColor(Method::Dp);
    return collective == QLatin1String("all_gather") ? QColor(0x56B4E9) : QColor(0xCC79A7);
}

QString title(const QString &collective) {
    return QString::fromStdString(core::collectiveTitle(collective.toStdString()));
}

QList<QPointF> measured(const core::LabRecord &lab, const QString &collective, int ranks,
                        double (*value)(const core::LabRow &)) {
    QList<QPointF> points;
    for (const core::LabRow &row : lab.rows)
        if (row.ranks == ranks && QString::fromStdString(row.collective) == collective)
            points.append({std::log2(row.bytes), value(row)});
    std::sort(points.begin(), points.end(), [](const QPointF &a, const QPointF &b) { return a.x() < b.x(); });
    return points;
}

template <class Seconds> QList<QPointF> computed(double toBytes, Seconds seconds) {
    QList<QPointF> points;
    for (double x = std::log2(fromBytes); x <= std::log2(toBytes) + 1e-9; x += 1 / stepsAnOctave)
        points.append({x, seconds(std::exp2(x)) * 1e3});
    return points;
}

} // namespace

QList<LineData> sumLines(const core::LabRecord &lab, const core::CommunicationModel &model, int ranks,
                         const Palette &palette) {
    QList<LineData> lines;
    const auto add = [&](const QString &key, const QString &name, const QColor &color, QList<QPointF> points) {
        LineData line;
        line.key = key;
        line.name = name;
        line.color = color;
        line.points = std::move(points);
        line.endText = line.points.isEmpty() ? QString() : core::shortTime(line.points.last().y() / 1e3);
        lines.append(line);
        return &lines.last();
    };
    for (const QString &collective :
         {QStringLiteral("all_reduce"), QStringLiteral("ring_all_reduce"), QStringLiteral("server_all_reduce")}) {
        const core::CostModel *cost = model.find(collective.toStdString(), ranks);
        if (!cost)
            continue;
        const QColor color = colorOf(collective);
        add(collective + QStringLiteral("-fit"), title(collective) + QStringLiteral(", fit"), color,
            computed(cost->toBytes(), [cost](double bytes) { return cost->seconds(bytes); }))
            ->labelled = false; // the figure at a line's end is a measured one
        auto *dots = add(collective, title(collective), color,
                         measured(lab, collective, ranks, [](const core::LabRow &row) { return row.medianS * 1e3; }));
        dots->markers = true;
        dots->style = Qt::NoPen;
    }
    const core::CostModel *pair = core::costOfMessages(lab, model);
    if (!pair)
        return lines;
    const QColor quiet = palette.textMuted;
    add(QStringLiteral("ring-formula"), QStringLiteral("2(N-1)K/N"),
        mix(quiet, colorOf(QStringLiteral("ring_all_reduce")), 0.6),
        computed(pair->toBytes(), [=](double bytes) { return core::ringFormulaS(*pair, ranks, bytes); }))
        ->style = Qt::DotLine;
    add(QStringLiteral("server-formula"), QStringLiteral("2(N-1)K"),
        mix(quiet, colorOf(QStringLiteral("server_all_reduce")), 0.6),
        computed(pair->toBytes(), [=](double bytes) { return core::serverFormulaS(*pair, ranks, bytes); }))
        ->style = Qt::DotLine;
    return lines;
}

QList<LineData> bandwidthLines(const core::LabRecord &lab, int ranks) {
    QList<LineData> lines;
    for (const char *name : {"send_recv", "all_reduce", "ring_all_reduce", "server_all_reduce", "reduce_scatter",
                             "all_gather", "broadcast"}) {
        LineData line;
        line.key = QLatin1String(name);
        line.name = title(line.key);
        line.color = colorOf(line.key);
        line.points = measured(lab, line.key, ranks, [](const core::LabRow &row) { return row.busbwBytesS / 1e9; });
        if (line.points.isEmpty())
            continue;
        line.endText = core::significant(line.points.last().y()) + QStringLiteral(" GB/s"); // the axis' unit
        lines.append(line);
    }
    return lines;
}

} // namespace lockstep::ui
