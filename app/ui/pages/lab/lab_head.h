// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "app/ui/widgets/card.h"
#include "lab/lab_record.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QPushButton;

namespace lockstep::ui {
class ProgressBar;
class Theme;

/// The shown lab: its devices, how it was measured, the number of ranks; a button to measure again, and its progress.
class LabHead : public Card {
    Q_OBJECT
public:
    explicit LabHead(const Theme &theme, QWidget *parent = nullptr);
    void show(const core::LabRecord &lab);
    /// `words`: the progress of a `busy` lab; `fraction`: absent until it runs.
    void showProgress(const QString &words, bool busy, std::optional<double> fraction);
    void offer(const QString &words, bool enabled); ///< to measure again
    [[nodiscard]] int ranks() const;                ///< as chosen
    [[nodiscard]] bool quick() const;
    [[nodiscard]] QPushButton *measureButton() const { return m_measure; }
    [[nodiscard]] QPushButton *stopButton() const { return m_stop; }
    [[nodiscard]] QString progressText() const;

Q_SIGNALS:
    void ranksChosen();

private:
    QComboBox *m_ranks;
    QCheckBox *m_quick;
    QPushButton *m_measure, *m_stop;
    QLabel *m_about, *m_progressText;
    ProgressBar *m_progress;
};

} // namespace lockstep::ui
