// SPDX-License-Identifier: MIT
#pragma once
#include <QString>

class QCategoryAxis;
class QChart;

namespace lockstep::ui {
struct Palette;
struct Ticks;

/// Two axes of Qt Charts in our style, with our own ticks; thin grid lines for y only.
class ChartAxes {
public:
    /// Adds them to the chart, which owns them.
    explicit ChartAxes(QChart *chart);

    void restyle(const Palette &palette);
    void setTitles(const QString &x, const QString &y);
    void setTicks(const Ticks &x, const Ticks &y);
    void setVisible(bool visible);

private:
    QCategoryAxis *m_x, *m_y;
};

} // namespace lockstep::ui
