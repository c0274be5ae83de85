// SPDX-License-Identifier: MIT
#pragma once
#include <QHash>
#include <QWidget>

#include <functional>
#include <vector>

#include "app/ui/pages/live/draw_pace.h"
#include "app/ui/pages/live/shown_runs.h"
#include "store/run_store.h"

class QAction;
class QComboBox;
class QSettings;
class QShortcut;
class QSplitter;
class QToolButton;

namespace lockstep::ui {
class AnatomyCard;
class AnatomyView;
class ChartSource;
class DevicesCard;
class DurationCard;
class LaneView;
class LineChart;
class LiveCard;
class LiveCursor;
class LiveSide;
class LossCard;
class MetricCard;
class PageStack;
class PhaseBars;
class PhasesCard;
class Theme;
class VerdictLine;
class WrappedLabel;

/// Live: cards with charts of the runs (LiveCard), one crosshair through all of them (LiveCursor), the list of runs
/// beside them, and the verdict so far. The page lays the cards out and refreshes them after changes.
class LivePage : public QWidget {
    Q_OBJECT
public:
    LivePage(Theme &theme, Workspace &workspace, QWidget *parent = nullptr);

    [[nodiscard]] LineChart *lossChart() const;
    [[nodiscard]] LineChart *durationChart() const;
    [[nodiscard]] LaneView *lanes() const;
    [[nodiscard]] PhaseBars *phaseBars() const;
    [[nodiscard]] AnatomyView *anatomy() const;
    [[nodiscard]] MetricCard *metricCard() const { return m_metric; }
    [[nodiscard]] LiveSide *side() const { return m_side; }
    [[nodiscard]] WrappedLabel *watchingLabel() const;
    [[nodiscard]] WrappedLabel *verdictLabel() const;
    [[nodiscard]] QComboBox *axisBox() const;
    [[nodiscard]] QComboBox *metricBox() const; ///< of the devices
    /// All pictures of the page, for exports.
    [[nodiscard]] std::vector<ChartSource *> charts() const;
    /// Draws everything now, whether visible or not (screenshots).
    void drawNow();
    /// The same in parts, a card each, for callers that must not keep the window waiting: in their order, with pauses of any length.
    [[nodiscard]] std::vector<std::function<void()>> drawing();
    /// The page's layout: splitters, hidden cards, the view of the curves, choices of the cards, pins.
    void saveLayout(QSettings &settings) const;
    void restoreLayout(const QSettings &settings);
    void resetLayout();
    /// Shows or hides a card: "duration", "devices", "phases"; "anatomy", "stages", "nodes", "updates" and "metric" show where there is one.
    [[nodiscard]] const QHash<QString, QAction *> &pictureActions() const { return m_actions; }
    /// Moves the crosshair to a run's position at that time.
    void showTime(const QString &runId, qint64 wallUs);

Q_SIGNALS:
    void planWanted();    ///< from the empty state
    void scriptWanted();  ///< likewise
    void verdictWanted(); ///< from the verdict so far
    /// A position in a chart was clicked: the run and its time there. `insist`: on a mark.
    void timeChosen(const QString &runId, qint64 wallUs, bool insist);

protected:
    void showEvent(QShowEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;

private:
    void buildBody(QWidget *body);
    void buildTools();
    void buildCards();
    void addCard(LiveCard *card, QSplitter *row);
    void buildMenu();
    void connectSide();
    void connectRuns();
    void mark(core::RunStore::Changes what);
    void draw();
    void showCards();
    void openedAnew();
    [[nodiscard]] std::vector<std::pair<QString, LiveCard *>> optionalCards() const;

    Theme &m_theme;
    Workspace &m_workspace;
    ShownRuns m_shown;
    PageStack *m_stack;
    QSplitter *m_rows, *m_top, *m_bottom;
    LiveSide *m_side;
    LossCard *m_loss;
    DurationCard *m_duration;
    DevicesCard *m_devices;
    PhasesCard *m_phases;
    AnatomyCard *m_anatomy;
    LiveCard *m_nodes;
    LiveCard *m_stages, *m_updates;
    MetricCard *m_metric;
    std::vector<LiveCard *> m_cards; ///< all of them, as they stand on the page
    VerdictLine *m_verdict;
    LiveCursor *m_cursor;
    QShortcut *m_forgetTime; ///< clears what showTime() showed
    QToolButton *m_sideButton, *m_chartsButton;
    QHash<QString, QAction *> m_actions;
    DrawPace m_pace;
    core::RunStore::Changes m_dirty = core::RunStore::All;
    bool m_complete = false; ///< all runs were over at the last results
};

} // namespace lockstep::ui
