// SPDX-License-Identifier: MIT
#pragma once
#include <QTimer>
#include <QWidget>

#include <memory>

#include "models/run_curves.h"
#include "models/run_diff_model.h"
#include "models/run_set.h"

class QComboBox;
class QPushButton;
class QTableView;

namespace lockstep::core {
class RunFollower;
class RunStore;
} // namespace lockstep::core

namespace lockstep::ui {
class Card;
class LineChart;
class PhaseBars;
class Theme;

/// Two runs side by side: their loss curves overlaid, the phases of their steps, and their differences. Reads the logs in
/// slices; follows a run that is still under way.
class RunsDiff : public QWidget {
    Q_OBJECT
public:
    explicit RunsDiff(Theme &theme, QWidget *parent = nullptr);
    ~RunsDiff() override;

    void compare(const QString &a, const QString &b);
    void clear(); ///< releases both
    [[nodiscard]] bool isEmpty() const { return !m_a; }
    [[nodiscard]] core::RunDiffModel &model() { return m_model; }
    [[nodiscard]] QTableView *table() const { return m_table; }
    [[nodiscard]] LineChart *chart() const { return m_chart; }
    [[nodiscard]] PhaseBars *phases() const { return m_phases; }

Q_SIGNALS:
    void closed();

private:
    struct Side;
    void buildTools();
    void swap();
    void draw();
    void drawCurves();
    void drawPhases();
    void restyle();

    Theme &m_theme;
    core::RunSet m_set{this};
    core::RunCurves m_curves{&m_set};
    core::RunDiffModel m_model{this};
    std::unique_ptr<Side> m_a, m_b;
    Card *m_card;
    LineChart *m_chart;
    PhaseBars *m_phases;
    QComboBox *m_axis;
    QTableView *m_table;
    QPushButton *m_swap, *m_all, *m_close;
    QTimer m_timer;
};

} // namespace lockstep::ui
