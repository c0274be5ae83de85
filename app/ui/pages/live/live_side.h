// SPDX-License-Identifier: MIT
#pragma once
#include <QFrame>

#include <vector>

#include "app/ui/pages/live/curve_lines.h"

class QAbstractItemModel;
class QCheckBox;
class QComboBox;
class QModelIndex;
class QSettings;
class QSlider;
class QTableView;

namespace lockstep::core {
class RunChoiceModel;
}

namespace lockstep::ui {
class Theme;

/// Live's side: how the curves are drawn (x axis, smoothing, log axis, published figures), and the list of runs, each
/// with its line, its box and its pin; a failed one is red, with its reason and a button for its console. A click or Space
/// shows or hides a run, a double click shows it alone, and pointing at it emphasises it in all pictures.
class LiveSide : public QFrame {
    Q_OBJECT
public:
    LiveSide(Theme &theme, core::RunChoiceModel &choice, RunHighlight &highlight, QWidget *parent = nullptr);

    [[nodiscard]] CurveView view() const;
    // The settings of the view; which runs are hidden is not kept.
    void saveView(QSettings &settings) const;
    void restoreView(const QSettings &settings);
    void resetView();
    /// On a wide page, long names get more room.
    void fitTo(int pageWidth);
    void setStyles(const std::vector<RunStyle> &styles);
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
    void consoleWanted(const QString &runId);

protected:
    bool eventFilter(QObject *watched, QEvent *event) override;

private:
    void buildView();
    void buildRuns();
    void followPointer();
    void fitRows();
    void offerConsole(const QModelIndex &index, bool offered);
    [[nodiscard]] core::RunCurves::XAxis axis() const;
    [[nodiscard]] QString axisTitle() const;

    Theme &m_theme;
    core::RunChoiceModel &m_choice;
    RunHighlight &m_highlight;
    QComboBox *m_axis;
    QSlider *m_smooth;
    QCheckBox *m_log, *m_published;
    QAbstractItemModel *m_order = nullptr; ///< the choice's rows, by method
    QTableView *m_table;
    std::vector<RunStyle> m_styles;
    int m_pageWidth = 0;
};

} // namespace lockstep::ui
