// SPDX-License-Identifier: MIT
#pragma once
#include <QRectF>
#include <QStringList>

class QFontMetricsF;
class QPainter;

namespace lockstep::ui {

constexpr double nameLine = 14; ///< px that a line of a small name takes

/// A run's name as charts paint it, "DDP (2), 4 workers" (ipc/run_title.h). Their data, tooltips and words have the whole name.
[[nodiscard]] QString paintedName(const QString &name);
/// A run's name in a column: on one line where it fits, else on two, the first of which ends at a comma, a space or, as in Chinese,
/// anywhere. What fits in neither ends in "…".
[[nodiscard]] QStringList nameLines(const QString &name, const QFontMetricsF &metrics, double width);
/// A sentence broken between words, on so many lines at most.
[[nodiscard]] QStringList sentenceLines(const QString &text, const QFontMetricsF &metrics, double width, int most);
/// In the painter's font and pen, on two lines where `box` is high enough; centred vertically.
void paintName(QPainter *painter, const QRectF &box, const QString &name);

} // namespace lockstep::ui
