// SPDX-License-Identifier: MIT
#pragma once
#include <QDialog>

#include "experiment/setting_trial.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSpinBox;

namespace lockstep::ui {

/// Does a setting matter? Makes a recipe of one run as it is and with other values of one setting, for a few hundred steps each
/// (core/experiment/setting_trial.h).
class TrialDialog : public QDialog {
    Q_OBJECT
public:
    /// `name`: the run's. `like` must have a setting that can be tried.
    TrialDialog(const RunConfig &like, const QString &name, QWidget *parent = nullptr);
    /// After accept().
    [[nodiscard]] const core::Recipe &recipe() const { return m_recipe; }

    [[nodiscard]] QComboBox *settingBox() const { return m_setting; } ///< its data are the settings' keys
    [[nodiscard]] QLineEdit *valuesField() const { return m_values; }
    [[nodiscard]] QSpinBox *stepsBox() const { return m_steps; }
    [[nodiscard]] QPushButton *planButton() const { return m_plan; }
    [[nodiscard]] QString state() const; ///< what is wrong with the values

private:
    void showSetting();
    void check();

    RunConfig m_like;
    QString m_name;
    core::Recipe m_recipe;
    QComboBox *m_setting;
    QLineEdit *m_values;
    QSpinBox *m_steps;
    QLabel *m_help, *m_state;
    QPushButton *m_plan;
};

} // namespace lockstep::ui
