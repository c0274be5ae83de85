// SPDX-License-Identifier: MIT
#include "app/ui/charts/row_names.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>

#include "app/ui/charts/bar_rows.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/name_lines.h"

namespace lockstep::ui {
namespace {

double partWidth(const RowName &name) {
    return name.part.isEmpty() ? 0
                               : QFontMetricsF(Theme::font(Type::Small)).horizontalAdvance(name.part) + BarRows::gap;
}

} // namespace

double nameColumn(const QList<RowName> &names, double chartWidth) {
    constexpr double usualShare = 0.36, largestShare = 0.45;
    const QFontMetricsF bold(Theme::font(Type::Small, QFont::DemiBold));
    double whole = 0, two = 0;
    for (const RowName &name : names) {
        const QString text = paintedName(name.run);
        const double wanted = bold.horizontalAdvance(text);
        double broken = wanted; // into two lines, where that takes the least
        for (qsizetype at = text.indexOf(u' '); at >= 0; at = text.indexOf(u' ', at + 1))
            broken = std::min(
                broken, std::max(bold.horizontalAdvance(text.left(at)), bold.horizontalAdvance(text.mid(at + 1))));
        whole = std::max(whole, wanted + partWidth(name));
        two = std::max(two, broken + partWidth(name));
    }
    return std::min({whole + 2, std::max(two + 2, chartWidth * usualShare), chartWidth * largestShare});
}

void paintRowNames(QPainter *painter, double left, const BarRows &rows, const QList<RowName> &names) {
    const QFont bold = Theme::font(Type::Small, QFont::DemiBold);
    for (qsizetype i = 0; i < names.size(); ++i) {
        const RowName &name = names[i];
        const QRectF row(left, rows.y(i), rows.nameWidth, rows.rowHeight);
        painter->setFont(Theme::font(Type::Small));
        painter->setPen(name.partInk);
        painter->drawText(row, Qt::AlignVCenter | Qt::AlignRight, name.part);
        if (name.further)
            continue;
        qsizetype own = 1;
        while (i + own < names.size() && names[i + own].further)
            ++own;
        const QString text = paintedName(name.run);
        const double width = rows.nameWidth - partWidth(name);
        const bool two = QFontMetricsF(bold).horizontalAdvance(text) > width;
        painter->setFont(bold);
        painter->setPen(name.runInk);
        paintName(painter, {row.left(), row.top(), width, row.height() * double(two ? own : 1)}, text);
    }
}

} // namespace lockstep::ui
