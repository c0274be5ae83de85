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
/// A run's name where it does not fit: as charts paint it, then cut short in its middle, "DDP (2)…4 workers #2": names often differ in
/// their ends alone.
[[nodiscard]] QString elidedName(const QString &name, const QFontMetricsF &metrics, double width);
/// The names, those too wide without the words that they begin with as another one does, which tell nothing apart: "…8 micro-batches".
[[nodiscard]] QStringList toldApart(const QStringList &names, const QFontMetricsF &metrics, double width);
/// A run's name in a column: on one line where it fits, else on two, the first of which ends at a comma if possible, else where its
/// language breaks lines. What fits in neither is cut short, as by elidedName().
[[nodiscard]] QStringList nameLines(const QString &name, const QFontMetricsF &metrics, double width);
/// Whether nameLines() leaves out a part of the name.
[[nodiscard]] bool isCutShort(const QString &name, const QFontMetricsF &metrics, double width);
/// A sentence broken between words, on so many lines at most.
[[nodiscard]] QStringList sentenceLines(const QString &text, const QFontMetricsF &metrics, double width, int most);
/// In the painter's font and pen, on two lines where `box` is high enough; centred vertically.
void paintName(QPainter *painter, const QRectF &box, const QString &name);

} // namespace lockstep::ui
