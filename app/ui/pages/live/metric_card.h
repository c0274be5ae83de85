// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/pages/live/live_card.h"
#include "models/run_curves.h"

namespace lockstep::ui {
class LineChart;
class Theme;

/// One metric of the shown runs by step or time: one of the registry (ipc/metrics.h) or one that a script
/// invented, chosen in a box. Blank while no run has a metric.
class MetricCard : public LiveCard {
    Q_OBJECT
public:
    MetricCard(const Theme &theme, const ShownRuns &shown, QWidget *parent);

    [[nodiscard]] LineChart *chart() const { return m_chart; }
    [[nodiscard]] QComboBox *metricBox() const { return m_choice; }
    [[nodiscard]] bool isBlank() const override;
    [[nodiscard]] ChartSource *picture() const override;
    void showAll() override;
    void saveChoices(QSettings &settings) const override;
    void restoreChoices(const QSettings &settings) override;

protected:
    void draw(Changes what) override;

private:
    void offer();
    [[nodiscard]] QString metric() const; ///< the name of what is shown; empty: nothing

    core::RunCurves m_curves;
    QComboBox *m_choice;
    LineChart *m_chart;
    QString m_wanted; ///< shown as soon as a run knows it
};

} // namespace lockstep::ui
