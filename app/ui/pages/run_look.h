#pragma once
#include <QColor>
#include <QString>

#include <vector>

namespace lockstep::core {
class RunSet;
class RunStore;
} // namespace lockstep::core

namespace lockstep::ui {

/// How one run of the set is drawn: colour says method, line style says repeat.
struct RunLook {
    int index = 0; ///< in the RunSet
    QString name;  ///< without the repeat: "DDP ×2"
    QString runId;
    QString method;
    QColor color;
    Qt::PenStyle style = Qt::SolidLine;
    int repeat = 1;
    bool latest =
        true; ///< the newest run of its name that has steps: named at its line's end, shown in lanes and phases
};

/// One a run of the set, in its order.
[[nodiscard]] std::vector<RunLook> runLooks(const core::RunSet &runs);

} // namespace lockstep::ui
