// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/widgets/card.h"
#include "models/plan_model.h"

class QLabel;
class QListView;
class QPushButton;

namespace lockstep::ui {
class Theme;
class TorchrunBox;

/// The planned runs: one row per run, notes, the command of the selected one, the total time, and Start, or
/// why starting is impossible.
class PlannedRunsCard : public Card {
    Q_OBJECT
public:
    explicit PlannedRunsCard(const Theme &theme, QWidget *parent = nullptr);
    void show(const core::Plan &plan, int sideBySide);
    void showNothing();  ///< there is no place to run at
    void showOutdated(); ///< the plan has mistakes: the rows are outdated and have no times or command
    void setMistakes(const QStringList &sentences);
    /// Why the last start failed; shown with the mistakes until called with an empty text.
    void setStartError(const QString &sentence);
    void setStart(const QString &words, bool enabled);

    [[nodiscard]] core::PlanModel &model() { return m_model; }
    [[nodiscard]] TorchrunBox *command() const { return m_command; }
    [[nodiscard]] QPushButton *startButton() const { return m_start; }
    [[nodiscard]] QPushButton *tryButton() const { return m_try; }
    [[nodiscard]] QString mistakes() const;

Q_SIGNALS:
    void planned(const lockstep::core::Recipe &recipe); ///< a trial of a setting of the chosen run

private:
    void showChosen();
    void trySetting();
    [[nodiscard]] const core::PlannedRun *chosen() const; ///< null: none
    void setSummary(const QString &words);
    void showMistakes();
    void restyle();

    const Theme &m_theme;
    core::PlanModel m_model;
    QStringList m_sentences;
    QString m_startError;
    QListView *m_rows;
    QLabel *m_notes, *m_mistakes, *m_summary;
    TorchrunBox *m_command;
    QPushButton *m_start, *m_try;
};

} // namespace lockstep::ui
