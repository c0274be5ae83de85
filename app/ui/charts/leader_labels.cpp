// SPDX-License-Identifier: MIT
#include "app/ui/charts/leader_labels.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>

#include "app/ui/theme/theme.h"

namespace lockstep::ui {
namespace {

constexpr double leaderGap = 8, leaderDrop = 4; ///< between two labels; how much of the band's foot the lines take

double leadersWidth(const QList<LeaderLabel> &labels) {
    double width = 0;
    for (const LeaderLabel &label : labels)
        width += label.width + leaderGap;
    return width - leaderGap;
}

} // namespace

QList<LeaderLabel> placeLeaders(QList<LeaderLabel> labels, double left, double right) {
    const QFontMetricsF metrics(Theme::font(Type::Small));
    for (LeaderLabel &label : labels)
        label.width = metrics.horizontalAdvance(label.text);
    while (!labels.isEmpty() && leadersWidth(labels) > right - left)
        labels.erase(std::ranges::min_element(labels, {}, &LeaderLabel::weight));
    std::ranges::stable_sort(labels, {}, &LeaderLabel::x);
    double free = left;
    for (LeaderLabel &label : labels) {
        label.left = std::max(label.x - label.width / 2, free);
        free = label.left + label.width + leaderGap;
    }
    double limit = right;
    for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
        label->left = std::min(label->left, limit - label->width);
        limit = label->left - leaderGap;
    }
    return labels;
}

void paintLeaders(QPainter *painter, const QList<LeaderLabel> &labels, const QRectF &band, double foot,
                  const Palette &palette) {
    painter->setFont(Theme::font(Type::Small));
    for (const LeaderLabel &label : placeLeaders(labels, band.left(), band.right())) {
        painter->setPen(palette.textSecondary);
        painter->drawText(QRectF(label.left, band.top(), label.width + 2, band.height() - leaderDrop / 2),
                          int(Qt::AlignVCenter | Qt::AlignLeft) | Qt::TextDontClip, label.text);
        painter->setPen(QPen(mix(palette.surface, palette.text, 0.45), 1));
        const double middle = label.left + label.width / 2;
        painter->drawLine(QPointF(middle, band.bottom() - leaderDrop / 2), QPointF(label.x, foot));
    }
}

} // namespace lockstep::ui
