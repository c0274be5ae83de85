// SPDX-License-Identifier: MIT
#pragma once
#include <QFrame>

#include "models/experiment_model.h"

class QAction;
class QHBoxLayout;
class QLabel;
class QPushButton;
class QToolButton;

namespace lockstep::ui {
class ElidedLabel;
class ExperimentStarter;
class ProgressBar;
class QueueControl;
class QueuePanel;
class StripState;
class Theme;
class Workspace;

/// The strip on top: shows what runs now, how far it is and how long it still takes, and stops it. While a request to
/// another machine is under way, or after it was refused, the strip says so in place of the details.
class StatusStrip : public QFrame {
    Q_OBJECT
public:
    StatusStrip(Theme &theme, Workspace &workspace, QWidget *parent = nullptr);
    [[nodiscard]] QPushButton *stopButton() const { return m_stop; }
    [[nodiscard]] QPushButton *pauseButton() const { return m_pause; }
    [[nodiscard]] QPushButton *queueButton() const { return m_queue; }
    [[nodiscard]] QPushButton *takeOverButton() const { return m_takeOver; }
    [[nodiscard]] QPushButton *failedButton() const { return m_failed; } ///< the badge
    [[nodiscard]] QAction *watchAction() const { return m_watch; }       ///< while another experiment runs than is open
    [[nodiscard]] QueuePanel *queuePanel() const { return m_panel; }
    /// Shows an error until it is dismissed or something starts.
    void showMessage(const QString &sentence);

Q_SIGNALS:
    void showRunning();                       ///< the person wants to see what runs
    void consoleWanted(const QString &runId); ///< of a run of the experiment on the strip

protected:
    void paintEvent(QPaintEvent *event) override;
    void mousePressEvent(QMouseEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;

private:
    void refresh();
    void showFailures();
    void buildButtons(QHBoxLayout *layout);
    void showQueue();
    void togglePause();
    [[nodiscard]] QString stopTip(const core::ExperimentModel::Strip &strip) const;

    Theme &m_theme;
    StripState &m_status;
    QueueControl &m_control;
    ExperimentStarter &m_starter;
    ElidedLabel *m_title, *m_name, *m_state;
    QLabel *m_run, *m_epoch, *m_percent, *m_left, *m_message;
    ProgressBar *m_bar;
    QAction *m_trace, *m_stacks, *m_watch;
    QToolButton *m_dismiss;
    QPushButton *m_stop, *m_resumeQueue, *m_pause, *m_queue, *m_takeOver, *m_bringBack, *m_failed;
    QueuePanel *m_panel;
    QColor m_dot;
};

} // namespace lockstep::ui
