// SPDX-License-Identifier: MIT
#pragma once
#include <QColor>
#include <QList>
#include <QPointF>
#include <QString>

#include <memory>

#include "analysis/curves/curve.h"
#include "base/format.h"

namespace lockstep::ui {

/// One line of a LineChart.
struct LineData {
    QString key;        ///< identity over updates
    QString name;       ///< at the line's end and in the data: "DDP on 2 devices"
    QString group = {}; ///< names of one group are summarised when there are many: "DDP"
    QString runId = {}; ///< whose; empty: of no run
    QColor color;
    Qt::PenStyle style = Qt::SolidLine;       ///< shows the repeat, or published (dotted)
    bool markers = false;                     ///< a dot at each point (few points)
    bool faint = false;                       ///< the raw line behind a smoothed one: no label, not in the data
    bool labelled = true;                     ///< named at its end; repeats share one name
    QString endText;                          ///< value at the line's end; empty: the last y
    QList<QPointF> points;                    ///< sorted by x; few. Many come as `curve`
    std::shared_ptr<const core::Curve> curve; ///< instead of `points`; may grow until the next setLines()
    std::shared_ptr<const core::Curve>
        data;              ///< the measured values if `curve` is derived from them: copied and exported
    int windowsAPoint = 1; ///< of steps, at most
    bool operator==(const LineData &) const = default;

    [[nodiscard]] qsizetype size() const { return curve ? curve->size() : points.size(); }
    [[nodiscard]] QPointF at(qsizetype index) const { return curve ? curve->at(index) : points[index]; }
    /// Dots say that nobody here measured it: published figures, or what is only reckoned.
    [[nodiscard]] bool isDotted() const { return style == Qt::DotLine; }
    /// What is written at its end.
    [[nodiscard]] QString textAtEnd() const {
        return !endText.isEmpty() || size() == 0 ? endText : core::threeDigits(at(size() - 1).y());
    }
};

} // namespace lockstep::ui
