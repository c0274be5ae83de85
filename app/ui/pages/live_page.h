#pragma once
#include <QTimer>
#include <QWidget>

#include <vector>

#include "app/ui/pages/run_look.h"
#include "models/curve_model.h"
#include "store/run_store.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QSlider;
class QStackedWidget;

namespace lockstep::ui {
class BarChart;
class Card;
class ChartSource;
class LaneView;
class LineChart;
class PhaseBars;
class Theme;
class Workspace;

/// Live: loss, duration per epoch, device lanes and phases of all runs of the contrast in one picture each, and the
/// verdict so far. Repaints at most ten times a second, only what changed, and never spends more than a tenth of the time on it.
class LivePage : public QWidget {
    Q_OBJECT
public:
    LivePage(Theme &theme, Workspace &workspace, QWidget *parent = nullptr);

    [[nodiscard]] LineChart *lossChart() const { return m_loss; }
    [[nodiscard]] LineChart *durationChart() const { return m_duration; }
    [[nodiscard]] LaneView *lanes() const { return m_lanes; }
    [[nodiscard]] PhaseBars *phaseBars() const { return m_phases; }
    [[nodiscard]] QComboBox *axisBox() const { return m_axis; }
    /// All pictures of the page, for exports.
    [[nodiscard]] std::vector<ChartSource *> charts() const;
    /// Draws what is dirty now, whether visible or not (exports, screenshots).
    void drawNow();

Q_SIGNALS:
    void planWanted(); ///< from the empty state

protected:
    void showEvent(QShowEvent *event) override;

private:
    Card *buildLoss();
    Card *buildDuration();
    Card *buildLanes();
    Card *buildPhases();
    void mark(core::RunStore::Changes what);
    void tick();
    void draw();
    void drawLoss();
    void drawDuration();
    void drawLanes();
    void drawPhases();
    void drawVerdict();
    void openedAnew();
    [[nodiscard]] bool showPublished() const;

    Theme &m_theme;
    Workspace &m_workspace;
    QStackedWidget *m_stack;
    LineChart *m_loss, *m_duration;
    BarChart *m_medians;
    LaneView *m_lanes;
    PhaseBars *m_phases;
    QComboBox *m_axis, *m_durationView, *m_window;
    QSlider *m_smooth;
    QCheckBox *m_published;
    QLabel *m_verdict;
    Card *m_lossCard, *m_lanesCard, *m_phasesCard;
    QTimer m_timer;
    std::vector<RunLook> m_looks;
    core::RunStore::Changes m_dirty = core::RunStore::All;
    qint64 m_notBefore = 0; ///< ms of the process's clock
};

} // namespace lockstep::ui
