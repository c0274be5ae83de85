// SPDX-License-Identifier: MIT
#pragma once
#include <QHash>
#include <QObject>

#include <cstdint>
#include <optional>

namespace lockstep::ui {
class DevicesCard;
class LaneView;
class LineChart;
class ShownRuns;
struct RunStyle;

/// The crosshair through all of Live's charts, and the translation between a position in a chart and a time in the
/// console. Its position is an x on the loss chart's axis; the other charts show it at the same time of their runs.
class LiveCursor : public QObject {
    Q_OBJECT
public:
    struct Pictures {
        LineChart &loss, &metric; ///< on one axis
        LineChart &durations;     ///< over epochs
        DevicesCard &devices;
    };
    LiveCursor(const ShownRuns &shown, const Pictures &pictures, QObject *parent);

    void clear() { pointAt({}); }
    /// Moves it to a run's position at that time.
    void showTime(const QString &runId, qint64 wallUs);

Q_SIGNALS:
    /// A position in a chart was clicked: the run and its time there. `insist`: on a mark.
    void timeChosen(const QString &runId, qint64 wallUs, bool insist);

private:
    void connectPictures();
    void pointAt(std::optional<double> x);
    void pointAtEpoch(std::optional<double> epoch);
    void pointAtLane(const QString &runId, double laneS);
    void chooseX(double x, const QString &runId);
    void chooseEpoch(double epoch, const QString &runId);
    void chooseLane(const QString &runId, double laneS);
    [[nodiscard]] std::optional<std::int64_t> wallUsOf(const RunStyle &style, double x) const;
    [[nodiscard]] std::optional<double> epochOf(double x) const;
    [[nodiscard]] LaneView &lanes() const;

    const ShownRuns &m_shown;
    Pictures m_pictures;
};

} // namespace lockstep::ui
