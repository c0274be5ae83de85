// SPDX-License-Identifier: MIT
#include "app/ui/charts/row_names.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>

#include "app/ui/charts/bar_rows.h"
#include "app/ui/charts/name_lines.h"
#include "app/ui/theme/theme.h"

namespace lockstep::ui {
namespace {

double partWidth(const RowName &name) {
    return name.part.isEmpty() ? 0
                               : QFontMetricsF(Theme::font(Type::Small)).horizontalAdvance(name.part) + BarRows::gap;
}

} // namespace

double widthOf(const QList<RowName> &names) {
    const QFontMetricsF bold(Theme::font(Type::Small, QFont::DemiBold));
    double widest = 0;
    for (const RowName &name : names)
        widest = std::max(widest, bold.horizontalAdvance(paintedName(name.run)) + partWidth(name));
    return widest + 2;
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
