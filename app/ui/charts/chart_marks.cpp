// SPDX-License-Identifier: MIT
#include "app/ui/charts/chart_marks.h"

#include <QPainter>

#include "app/ui/theme/palette.h"

namespace lockstep::ui {
namespace {

QColor colorOf(const ChartMark &mark, const Palette &palette) {
    switch (mark.ink) {
    case ChartMark::Ink::Text:
        return palette.text;
    case ChartMark::Ink::Secondary:
        return palette.textSecondary;
    case ChartMark::Ink::Wrong:
        return palette.wrong;
    case ChartMark::Ink::Own:
        break;
    }
    return mark.color;
}

} // namespace

void paintMarkLine(QPainter *painter, const ChartMark &mark, double x, double top, double bottom,
                   const Palette &palette) {
    QColor thin = colorOf(mark, palette);
    thin.setAlphaF(0.45F);
    painter->setPen(QPen(thin, 1, mark.kind == ChartMark::Kind::Alert ? Qt::SolidLine : Qt::DotLine));
    painter->drawLine(QPointF(x, top), QPointF(x, bottom));
}

void paintMarkSign(QPainter *painter, const ChartMark &mark, double x, double foot, const Palette &palette) {
    using Kind = ChartMark::Kind;
    constexpr double s = markSize;
    painter->setPen(QPen(palette.surface, 1));
    painter->setBrush(colorOf(mark, palette));
    switch (mark.kind) {
    case Kind::Checkpoint: // a flag that was put down
        painter->drawPolygon(QPolygonF({{x, foot - s}, {x + s * 0.8, foot - s * 0.65}, {x, foot - s * 0.3}}));
        break;
    case Kind::Restart:
        painter->drawEllipse(QPointF(x, foot - s / 2), s / 2, s / 2);
        break;
    case Kind::Alert:
        painter->drawPolygon(QPolygonF({{x - s * 0.6, foot}, {x + s * 0.6, foot}, {x, foot - s}}));
        break;
    case Kind::EpochEnd:
        break;
    }
}

} // namespace lockstep::ui
