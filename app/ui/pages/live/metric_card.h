// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/pages/live/curve_lines.h"
#include "app/ui/widgets/card.h"

class QComboBox;

namespace lockstep::ui {
class Theme;

/// One metric of all runs on screen by step or time: any that the registry has (ipc/metrics.h) or a script invents, chosen in a
/// box. Knows nothing of the page; whoever shows it tells it which runs and how.
class MetricCard : public Card {
    Q_OBJECT
public:
    MetricCard(const Theme &theme, core::RunSet &runs, QWidget *parent = nullptr);

    /// Brings the choice and the picture up to date. `epochs`: how many the runs have.
    void draw(const std::vector<RunLook> &looks, const CurveView &view, double epochs);
    [[nodiscard]] bool isEmpty() const; ///< no shown run knows a metric
    [[nodiscard]] LineChart *chart() const { return m_chart; }
    [[nodiscard]] QComboBox *metricBox() const { return m_choice; }
    [[nodiscard]] QString metric() const; ///< the name of what is shown; empty: nothing
    /// Shows that one as soon as a run knows it.
    void setMetric(const QString &name);

Q_SIGNALS:
    void metricChosen(); ///< by a person: draw again

private:
    void offer(const std::vector<RunLook> &looks);
    core::RunSet &m_runs;
    core::RunCurves m_curves;
    QComboBox *m_choice;
    LineChart *m_chart;
    QString m_wanted;
};

} // namespace lockstep::ui
