// SPDX-License-Identifier: MIT
#pragma once
#include <QElapsedTimer>
#include <QHash>
#include <QTimer>
#include <QWidget>

#include <optional>
#include <vector>

#include "app/ui/pages/shared/run_look.h"
#include "models/run_curves.h"
#include "store/run_store.h"

class QComboBox;
class QAction;
class QSettings;
class QSplitter;
class QStackedWidget;
class QToolButton;

namespace lockstep::core {
struct RunMark;
}

namespace lockstep::ui {
class AnatomyView;
class BarChart;
class Card;
struct ChartMark;
class ChartSource;
class LaneView;
class LineChart;
struct LineData;
class LiveSide;
class MetricCard;
struct CurveView;
class RunNodesCard;
class PhaseBars;
class Theme;
class Workspace;
class WrappedLabel;

/// Live: loss, duration per epoch, device lanes, phases, data parallel's anatomy and one more metric of all runs of the contrast in one
/// picture each, and the verdict so far; one crosshair runs through them all. Repaints at most twenty times a second, only
/// what changed, and never spends more than a tenth of the time on it.
class LivePage : public QWidget {
    Q_OBJECT
public:
    LivePage(Theme &theme, Workspace &workspace, QWidget *parent = nullptr);

    [[nodiscard]] LineChart *lossChart() const { return m_loss; }
    [[nodiscard]] LineChart *durationChart() const { return m_duration; }
    [[nodiscard]] LaneView *lanes() const { return m_lanes; }
    [[nodiscard]] PhaseBars *phaseBars() const { return m_phases; }
    [[nodiscard]] AnatomyView *anatomy() const { return m_anatomy; }
    [[nodiscard]] RunNodesCard *nodes() const { return m_nodes; }
    [[nodiscard]] MetricCard *metricCard() const { return m_metricCard; }
    [[nodiscard]] LiveSide *side() const { return m_side; }
    [[nodiscard]] WrappedLabel *watchingLabel() const { return m_watching; }
    [[nodiscard]] WrappedLabel *verdictLabel() const { return m_verdict; }
    [[nodiscard]] QComboBox *axisBox() const;
    [[nodiscard]] QComboBox *metricBox() const { return m_metric; }
    /// All pictures of the page, for exports.
    [[nodiscard]] std::vector<ChartSource *> charts() const;
    /// Draws what is dirty now, whether visible or not (exports, screenshots).
    void drawNow();
    /// How the page is arranged: splitters, hidden pictures, axis, smoothing, choices of the cards, pins.
    void saveLayout(QSettings &settings) const;
    void restoreLayout(const QSettings &settings);
    void resetLayout();
    /// Shows or hides a picture: "duration", "devices", "phases"; "anatomy", "nodes" and "metric" show where there is one.
    [[nodiscard]] const QHash<QString, QAction *> &pictureActions() const { return m_pictureActions; }
    /// Moves the crosshair to where a run stood at that time.
    void showTime(const QString &runId, qint64 wallUs);

Q_SIGNALS:
    void planWanted();    ///< from the empty state
    void verdictWanted(); ///< from the verdict so far
    /// A place of a chart was clicked: where a run stood then. `insist`: something is marked there.
    void timeChosen(const QString &runId, qint64 wallUs, bool insist);

protected:
    void showEvent(QShowEvent *event) override;

private:
    void buildBody(QWidget *body);
    Card *buildLoss();
    Card *buildDuration();
    Card *buildLanes();
    Card *buildPhases();
    Card *buildAnatomy();
    void buildChartsMenu(Card *card);
    void connectPointers();
    void mark(core::RunStore::Changes what);
    void tick();
    void draw();
    void drawLoss();
    void drawMetric();
    void drawMarks();
    void drawLaneMarks();
    void drawDuration();
    void drawLanes();
    void tellWatching();
    void drawPhases();
    void drawAnatomy();
    void drawNodes();
    void drawVerdict();
    void sayWhyEmpty();
    void openedAnew();
    [[nodiscard]] bool showPublished() const;
    [[nodiscard]] core::RunSet &runs() const;
    [[nodiscard]] const RunLook *lookOf(const QString &runId) const;
    [[nodiscard]] CurveView curveView() const;
    [[nodiscard]] double shownEpochs() const;
    [[nodiscard]] ChartMark chartMark(const RunLook &look, const core::RunMark &mark) const;
    void addPublished(QList<LineData> &lines, bool durations) const;
    [[nodiscard]] double addLanes(const RunLook &look, QList<struct Lane> &lanes, double &full);

    // live_cursor.cpp: x below is on the loss chart's axis.
    void pointAt(std::optional<double> x);
    void pointAtEpoch(std::optional<double> epoch);
    void pointAtLane(const QString &runId, double laneS);
    [[nodiscard]] std::optional<std::int64_t> wallUsOf(const RunLook &look, double x) const;
    [[nodiscard]] std::optional<double> epochOf(double x) const;
    void choosePlace(double x, const QString &runId);

    Theme &m_theme;
    Workspace &m_workspace;
    QStackedWidget *m_stack;
    QSplitter *m_rows, *m_top, *m_bottom;
    QHash<QString, QAction *> m_pictureActions;
    QToolButton *m_sideButton;
    LiveSide *m_side;
    LineChart *m_loss, *m_duration;
    BarChart *m_medians;
    LaneView *m_lanes;
    PhaseBars *m_phases;
    AnatomyView *m_anatomy;
    RunNodesCard *m_nodes;
    MetricCard *m_metricCard;
    QComboBox *m_durationView, *m_window, *m_metric;
    WrappedLabel *m_verdict, *m_watching;
    Card *m_durationCard, *m_lanesCard, *m_phasesCard, *m_anatomyCard;
    QTimer m_timer;
    QTimer m_phasesRest; ///< runs while the phases, means that change slowly, are not to be drawn again
    bool m_phasesWait = false;
    std::vector<RunLook> m_looks;
    QHash<QString, std::int64_t> m_laneOrigin; ///< wall clock of 0 s in a run's lanes
    core::RunStore::Changes m_dirty = core::RunStore::All;
    qint64 m_notBefore = 0;       ///< ms of the process's clock
    QElapsedTimer m_watchingTold; ///< since the sentence on watching was last written
};

} // namespace lockstep::ui
