// SPDX-License-Identifier: MIT
#pragma once
// How a phase of a step is named and painted: the same in every picture of a step.
#include <QColor>
#include <QString>

class QPainter;
class QPointF;
class QRectF;
class QSizeF;

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
/// The height in pixels to keep under rows that take at least `leastRows` of the area's height, for the axis, its title and the key.
/// Where these two don't fit side by side, the key gets a line of its own if the area is wide and high enough.
[[nodiscard]] double phaseFootHeight(const QSizeF &area, double leastRows, const QString &title);
/// The title of the axis under `plot`, and the key at the area's right end: beside it, or in the line that a foot of that height has.
void paintPhaseFoot(QPainter *painter, const QRectF &area, const QRectF &plot, const QString &title, double footHeight,
                    const Palette &palette);

} // namespace lockstep::ui
