// SPDX-License-Identifier: MIT
#pragma once
#include <QHash>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "app/ui/pages/live/live_card.h"

namespace lockstep::core {
enum class DeviceMetric;
struct LaneSample;
} // namespace lockstep::core

namespace lockstep::ui {
class LaneView;
class Theme;
class WatchingLine;
struct Lane;
struct RunStyle;

/// The devices of every shown run as lanes over time, and the cost of watching.
class DevicesCard : public LiveCard {
    Q_OBJECT
public:
    DevicesCard(const Theme &theme, const ShownRuns &shown, QWidget *parent);
    [[nodiscard]] LaneView *lanes() const { return m_lanes; }
    [[nodiscard]] QComboBox *metricBox() const { return m_metric; }
    [[nodiscard]] WatchingLine *watchingLine() const { return m_watching; }
    /// Wall clock of 0 s in a run's lanes; absent while it has none.
    [[nodiscard]] std::optional<std::int64_t> originUs(const QString &runId) const;
    [[nodiscard]] ChartSource *picture() const override;

protected:
    void draw(Changes what) override;

private:
    void drawLanes();
    void drawMarks();
    void addLanes(const RunStyle &style, QList<Lane> &lanes, double &full);
    void addSamples(Lane &lane, const std::deque<core::LaneSample> &history, std::int64_t originUs, double &full) const;
    [[nodiscard]] std::optional<double> idleShare(const core::RunStore &run, const std::string &device,
                                                  std::optional<std::int64_t> originUs) const;
    void addWords(Lane &lane, const core::RunStore &run, double full) const;
    [[nodiscard]] core::DeviceMetric metric() const;
    [[nodiscard]] bool whole() const; ///< the whole run, not the last minute

    const Theme &m_theme;
    QComboBox *m_metric, *m_window;
    LaneView *m_lanes;
    WatchingLine *m_watching;
    QHash<QString, std::int64_t> m_originUs;
};

} // namespace lockstep::ui
