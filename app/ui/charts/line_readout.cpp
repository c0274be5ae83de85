// SPDX-License-Identifier: MIT
#include "app/ui/charts/line_readout.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

#include "app/ui/charts/drawn_lines.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/name_lines.h"
#include "base/format.h"

namespace lockstep::ui {
namespace {

constexpr double readoutLine = 15, readoutSwatch = 14, readoutGap = 6;

/// The point of a line at x; absent where the line does not reach, by more than its last points are apart.
std::optional<QPointF> reachedAt(const core::Curve &curve, double x) {
    const auto found = curve.nearest(x);
    const qsizetype size = curve.size();
    if (!found || size < 2)
        return found;
    const double before = curve.at(1).x() - curve.first().x(), after = curve.last().x() - curve.at(size - 2).x();
    return x < curve.first().x() - before || x > curve.last().x() + after ? std::nullopt : found;
}

void addReading(QList<ReadRow> &rows, const LineData &line, double y) {
    auto row = std::ranges::find(rows, line.name, &ReadRow::name);
    if (row == rows.end()) {
        rows.append({line.name, line.group, line.color, line.isDotted() ? Qt::DotLine : Qt::SolidLine, 0, y, y, 0});
        row = rows.end() - 1;
    }
    row->sum += y;
    row->low = std::min(row->low, y);
    row->high = std::max(row->high, y);
    ++row->count;
}

void paintReadRow(QPainter *painter, const ReadRow &row, const QRectF &box, const Palette &palette) {
    const double middle = box.top() + readoutLine / 2;
    painter->setPen(QPen(row.color, 2, row.style));
    painter->drawLine(QPointF(box.left(), middle), QPointF(box.left() + readoutSwatch, middle));
    const QString mean = row.meanText(), range = row.rangeText();
    const QFont figures = Theme::figures(Type::Small, QFont::DemiBold);
    const double meanWidth = QFontMetricsF(figures).horizontalAdvance(mean) + 2;
    const double left = box.left() + readoutSwatch + readoutGap;
    painter->setFont(Theme::font(Type::Small));
    painter->setPen(palette.textSecondary);
    const double room = std::max(0.0, box.right() - meanWidth - readoutGap - left);
    const QFontMetricsF metrics(painter->font());
    painter->drawText(QRectF(left, box.top(), room + 1, readoutLine), Qt::AlignVCenter | Qt::AlignLeft,
                      metrics.elidedText(readName(row, metrics, room), Qt::ElideRight, room));
    painter->setFont(figures);
    painter->setPen(palette.text);
    painter->drawText(QRectF(box.right() - meanWidth, box.top(), meanWidth, readoutLine),
                      Qt::AlignVCenter | Qt::AlignRight, mean);
    painter->setFont(Theme::figures(Type::Small));
    painter->setPen(palette.textMuted);
    painter->drawText(QRectF(box.left(), box.top() + readoutLine, box.width(), readoutLine),
                      Qt::AlignVCenter | Qt::AlignRight, range);
}

double readRowHeight(const ReadRow &row) {
    return row.rangeText().isEmpty() ? readoutLine : 2 * readoutLine;
}

} // namespace

QString readName(const ReadRow &row, const QFontMetricsF &metrics, double width) {
    const QString name = paintedName(row.name);
    const bool fits = row.count < 2 || row.group.isEmpty() || metrics.horizontalAdvance(name) <= width;
    return fits ? name : row.group;
}

QString ReadRow::meanText() const {
    return core::threeDigits(sum / count);
}

QString ReadRow::rangeText() const {
    const QString from = core::threeDigits(low), to = core::threeDigits(high);
    if (count < 2 || from == to || !std::isfinite(sum))
        return {};
    return from + (low < 0 ? QStringLiteral(" to ") : QStringLiteral("-")) + to;
}

Reading readAt(const DrawnLines &lines, double x) {
    Reading out{{}, NAN};
    for (qsizetype i = 0; i < lines.lines().size(); ++i) {
        const auto found = lines.lines()[i].faint ? std::nullopt : reachedAt(lines.curve(i), x);
        if (!found)
            continue;
        if (std::isnan(out.x) || std::abs(found->x() - x) < std::abs(out.x - x))
            out.x = found->x();
        addReading(out.rows, lines.lines()[i], found->y());
    }
    return out;
}

Reading readEnds(const DrawnLines &lines) {
    Reading out{{}, NAN};
    for (qsizetype i = 0; i < lines.lines().size(); ++i)
        if (const core::Curve &curve = lines.curve(i); !lines.lines()[i].faint && !curve.isEmpty()) {
            out.x = curve.last().x();
            addReading(out.rows, lines.lines()[i], curve.last().y());
        }
    return out;
}

QList<ReadRow> byGroup(const QList<ReadRow> &rows) {
    QList<ReadRow> out;
    for (const ReadRow &row : rows) {
        auto group = std::ranges::find(out, row.group, &ReadRow::group);
        if (row.group.isEmpty() || group == out.end()) {
            out.append(row);
            continue;
        }
        group->sum += row.sum;
        group->low = std::min(group->low, row.low);
        group->high = std::max(group->high, row.high);
        group->count += row.count;
        group->name.clear();
    }
    for (ReadRow &row : out)
        if (row.name.isEmpty())
            row.name =
                QCoreApplication::translate("LineChart", "%1, %2 runs").arg(row.group, QString::number(row.count));
    return out;
}

double readoutHeight(const QList<ReadRow> &rows) {
    double height = readoutLine;
    for (const ReadRow &row : rows)
        height += readRowHeight(row);
    return height;
}

double readoutWidth(const QList<ReadRow> &rows) {
    const QFontMetricsF names(Theme::font(Type::Small)), figures(Theme::figures(Type::Small, QFont::DemiBold));
    double width = 0;
    for (const ReadRow &row : rows)
        width = std::max({width, figures.horizontalAdvance(row.rangeText()),
                          readoutSwatch + 2 * readoutGap + names.horizontalAdvance(paintedName(row.name)) +
                              figures.horizontalAdvance(row.meanText()) + 2});
    return width;
}

void paintReadout(QPainter *painter, const QString &head, const QList<ReadRow> &rows, const QRectF &column,
                  const Palette &palette) {
    const QList<ReadRow> shown = readoutHeight(rows) <= column.height() ? rows : byGroup(rows);
    painter->setFont(Theme::font(Type::Small));
    painter->setPen(palette.textMuted);
    painter->drawText(QRectF(column.left(), column.top(), column.width(), readoutLine),
                      Qt::AlignVCenter | Qt::AlignLeft,
                      QFontMetricsF(painter->font()).elidedText(head, Qt::ElideRight, column.width()));
    double y = column.top() + readoutLine;
    for (qsizetype i = 0; i < shown.size(); ++i) {
        const bool last = i + 1 == shown.size();
        if (y + readRowHeight(shown[i]) + (last ? 0 : readoutLine) > column.bottom() + 1) {
            painter->setFont(Theme::font(Type::Small));
            painter->setPen(palette.textMuted);
            painter->drawText(QRectF(column.left(), y, column.width(), readoutLine), Qt::AlignVCenter | Qt::AlignLeft,
                              QCoreApplication::translate("LinePainter", "and %1 more").arg(shown.size() - i));
            return;
        }
        paintReadRow(painter, shown[i], {column.left(), y, column.width(), readRowHeight(shown[i])}, palette);
        y += readRowHeight(shown[i]);
    }
}

} // namespace lockstep::ui
