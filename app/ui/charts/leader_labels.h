// SPDX-License-Identifier: MIT
#pragma once
#include <QList>
#include <QRectF>
#include <QString>

class QPainter;

namespace lockstep::ui {
struct Palette;

/// The name of something too narrow to hold it: it stands in a band above, with a line down to its place.
struct LeaderLabel {
    double x = 0; ///< of its place, in the painter's coordinates
    QString text;
    double weight = 0; ///< where the band is too short for all, those of least weight are left out
    double width = 0;  ///< px that the text takes; measured by placeLeaders()
    double left = 0;   ///< where the text begins; set by placeLeaders()
};

constexpr double leaderBand = 14; ///< px that the band is high

/// Puts labels side by side in [left, right], each as near above its place as its neighbours let it; in order of their places.
[[nodiscard]] QList<LeaderLabel> placeLeaders(QList<LeaderLabel> labels, double left, double right);
/// `band`: where the texts stand; `foot`: how far down the lines go.
void paintLeaders(QPainter *painter, const QList<LeaderLabel> &labels, const QRectF &band, double foot,
                  const Palette &palette);

} // namespace lockstep::ui
