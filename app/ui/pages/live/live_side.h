// SPDX-License-Identifier: MIT
#pragma once
#include <QFrame>

#include <vector>

#include "app/ui/pages/live/curve_lines.h"

class QCheckBox;
class QComboBox;
class QSettings;
class QSlider;
class QTableView;

namespace lockstep::core {
class RunChoiceModel;
}

namespace lockstep::ui {
class Theme;

/// Live's side: how the curves are drawn (x axis, smoothing, log axis, published figures), and the list of runs, each
/// with its line, its box and its pin. A click or Space shows or hides a run, a double click shows it alone.
class LiveSide : public QFrame {
    Q_OBJECT
public:
    LiveSide(Theme &theme, core::RunChoiceModel &choice, QWidget *parent = nullptr);

    [[nodiscard]] CurveView view() const;
    // The settings of the view; which runs are hidden is not kept.
    void saveView(QSettings &settings) const;
    void restoreView(const QSettings &settings);
    void resetView();
    void setLooks(const std::vector<RunLook> &looks);
    [[nodiscard]] QComboBox *axisBox() const { return m_axis; }
    [[nodiscard]] QSlider *smoothSlider() const { return m_smooth; }
    [[nodiscard]] QCheckBox *logBox() const { return m_log; }
    [[nodiscard]] QCheckBox *publishedBox() const { return m_published; }
    [[nodiscard]] QTableView *runTable() const { return m_table; }

Q_SIGNALS:
    void axisChanged();
    void smoothingChanged();
    void logChanged(bool log);
    void publishedChanged();

private:
    void buildView();
    void buildRuns();
    [[nodiscard]] core::RunCurves::XAxis axis() const;
    [[nodiscard]] QString axisTitle() const;

    Theme &m_theme;
    core::RunChoiceModel &m_choice;
    QComboBox *m_axis;
    QSlider *m_smooth;
    QCheckBox *m_log, *m_published;
    QTableView *m_table;
    std::vector<RunLook> m_looks;
};

} // namespace lockstep::ui
