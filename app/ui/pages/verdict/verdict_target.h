// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

class QComboBox;
class QLineEdit;
class QLabel;
class QTableView;

namespace lockstep::core {
class TargetModel;
}

namespace lockstep::ui {
class Theme;

/// Time to a target: the chosen target, and how long each run took to reach it.
class VerdictTarget : public QWidget {
    Q_OBJECT
public:
    VerdictTarget(const Theme &theme, core::TargetModel &model, QWidget *parent = nullptr);
    /// Offers a target that all runs of the experiment reached, unless a person typed one for it.
    void refresh(const QString &experiment);
    [[nodiscard]] QComboBox *kindBox() const { return m_kind; }
    [[nodiscard]] QLineEdit *valueField() const { return m_value; }
    [[nodiscard]] QTableView *table() const { return m_table; }

private:
    void take();
    void suggest();
    core::TargetModel &m_model;
    QComboBox *m_kind;
    QLineEdit *m_value;
    QLabel *m_unit, *m_mistake;
    QTableView *m_table;
    QString m_experiment;
    bool m_typed = false, m_chosen = false; ///< the target, its kind: by a person, for this experiment
};

} // namespace lockstep::ui
