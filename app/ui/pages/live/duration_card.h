// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/charts/line_data.h"
#include "app/ui/pages/live/live_card.h"

namespace lockstep::ui {
class BarChart;
class LineChart;
class Theme;
struct BarData;

/// The epoch durations of every shown run: each of them, or their median.
class DurationCard : public LiveCard {
    Q_OBJECT
public:
    DurationCard(const Theme &theme, const ShownRuns &shown, QWidget *parent);
    [[nodiscard]] LineChart *chart() const { return m_chart; } ///< of each epoch
    [[nodiscard]] ChartSource *picture() const override;
    void showAll() override;

protected:
    void draw(Changes what) override;

private:
    void drawDurations();
    void drawMarks();
    [[nodiscard]] QList<LineData> durationLines() const;
    [[nodiscard]] QList<BarData> medianBars(const QList<LineData> &published) const;

    LineChart *m_chart;
    BarChart *m_medians;
};

} // namespace lockstep::ui
