// SPDX-License-Identifier: MIT
#pragma once
#include <QColor>

#include "ipc/methods.h"

namespace lockstep::ui {

/// Every colour of the window. Hues are reserved for methods and errors; everything else is grey.
struct Palette {
    bool dark = false;
    QColor window, surface, raised; ///< behind the cards, the cards, fields and hovered rows
    QColor border, grid;            ///< hairlines, chart grids
    QColor text, textSecondary, textMuted;
    QColor accent, onAccent; ///< the one big button and the selection mark: ink on paper, paper on ink
    QColor selection;        ///< behind a selected row
    QColor wrong, wrongSoft; ///< only for what is wrong
    QColor good;             ///< what is worth it; the link's and the runner's pulse
};

[[nodiscard]] Palette lightPalette();
[[nodiscard]] Palette darkPalette();

/// Each method has one colour, the same in both themes and colour-blind safe (Okabe-Ito).
/// `method` is a config's name; names that are not in the method table get the baseline's grey.
[[nodiscard]] QColor methodColor(const QString &method);
[[nodiscard]] QColor methodColor(Method method);

/// WCAG's contrast of two opaque colours, 1 to 21.
[[nodiscard]] double contrastRatio(const QColor &a, const QColor &b);

/// `over` laid on `under` with the given opacity, as an opaque colour.
[[nodiscard]] QColor mix(const QColor &under, const QColor &over, double opacity);

/// Around a field or an unticked box, which nothing but this edge shows.
[[nodiscard]] inline QColor controlBorder(const Palette &palette) {
    return mix(palette.border, palette.text, 0.45);
}

/// Muted text in a row that may be selected: textMuted doesn't read on `selection`.
[[nodiscard]] inline QColor mutedInRow(const Palette &palette, bool selected) {
    return selected ? palette.textSecondary : palette.textMuted;
}

/// The colour of what is not highlighted while something else is.
[[nodiscard]] inline QColor paled(const QColor &color, const Palette &palette) {
    return mix(palette.surface, color, 0.25);
}

} // namespace lockstep::ui
