#pragma once
#include <QFrame>

class QLabel;
class QPushButton;

namespace lockstep::ui {
class ProgressBar;
class Theme;
class Workspace;

/// The strip on top: always tells what runs now, how far it is, how long it takes yet, and stops it.
class StatusStrip : public QFrame {
    Q_OBJECT
public:
    StatusStrip(Theme &theme, Workspace &workspace, QWidget *parent = nullptr);
    [[nodiscard]] QPushButton *stopButton() const { return m_stop; }
    /// A failure in words, until it is dismissed or something starts.
    void showMessage(const QString &sentence);

Q_SIGNALS:
    void showRunning(); ///< the person wants to see what runs

protected:
    void paintEvent(QPaintEvent *event) override;
    void mousePressEvent(QMouseEvent *event) override;

private:
    void refresh();

    Theme &m_theme;
    Workspace &m_workspace;
    QLabel *m_title, *m_run, *m_name, *m_epoch, *m_percent, *m_left, *m_state, *m_message;
    ProgressBar *m_bar;
    QPushButton *m_stop, *m_takeUp;
    QColor m_dot;
};

} // namespace lockstep::ui
