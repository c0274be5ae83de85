// SPDX-License-Identifier: MIT
#pragma once
// How a phase of a step is named and painted: the same in every picture of a step.
#include <QColor>
#include <QString>

class QPainter;
class QPointF;
class QRectF;

namespace lockstep::ui {
struct Palette;

enum class PhaseStyle { Load, Compute, Communicate, Rest };

/// `phase` by its wire name: "parallel_forward".
[[nodiscard]] PhaseStyle phaseStyle(const QString &phase);
/// "forward" for "parallel_forward"; most are called as on the wire.
[[nodiscard]] QString phaseName(const QString &phase);
/// What a phase is, in one sentence, for tooltips.
[[nodiscard]] QString phaseMeaning(const QString &phase);
[[nodiscard]] QColor phaseFill(const QString &phase, const QColor &color, const Palette &palette);
/// A part's box: filled, hatched if it communicates, with a hairline to the part on its right.
void paintPhase(QPainter *painter, const QRectF &box, const QString &phase, const QColor &color,
                const Palette &palette);
/// A name in the middle of such a box, whose fill is given; on hatching it stands on a plate.
void paintPhaseName(QPainter *painter, const QRectF &box, const QString &name, const QString &phase,
                    const QColor &fill);

/// The legend of the parts: "pale: loading, …".
[[nodiscard]] QString phaseKey();
/// The same as a line of swatches, and what a thin line means: its width, and painted from its left middle.
[[nodiscard]] double phaseKeyWidth();
void paintPhaseKey(QPainter *painter, const QPointF &leftMiddle, const Palette &palette);
/// The title of the axis under `plot` and, on its line, the key at the area's right end: what finds room of the two.
void paintPhaseFoot(QPainter *painter, const QRectF &area, const QRectF &plot, const QString &title,
                    const Palette &palette);

} // namespace lockstep::ui
