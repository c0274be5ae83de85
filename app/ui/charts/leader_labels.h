// SPDX-License-Identifier: MIT
#pragma once
#include <QList>
#include <QRectF>
#include <QString>

class QPainter;

namespace lockstep::ui {
struct Palette;

/// The name of a part that is too narrow for it: written in a band above, with a line down to the part.
struct LeaderLabel {
    double x = 0; ///< of its place, in the painter's coordinates
    QString text;
    double weight = 0; ///< where the band is too short for all, those of least weight are left out
    double width = 0;  ///< px that the text takes; measured by placeLeaders()
    double left = 0;   ///< where the text begins; set by placeLeaders()
};

constexpr double leaderBand = 14; ///< px that the band is high

/// Places labels side by side in [left, right], in the order of their parts and each as near above its part as possible.
[[nodiscard]] QList<LeaderLabel> placeLeaders(QList<LeaderLabel> labels, double left, double right);
/// `band`: where the texts stand; `foot`: how far down the lines go.
void paintLeaders(QPainter *painter, const QList<LeaderLabel> &labels, const QRectF &band, double foot,
                  const Palette &palette);

} // namespace lockstep::ui
