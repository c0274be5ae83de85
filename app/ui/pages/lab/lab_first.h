// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "app/ui/widgets/empty_state.h"

class QLabel;

namespace lockstep::ui {
class LabPlaces;
class ProgressBar;

/// What Lab shows where nothing was measured yet: what it would measure between the chosen devices, or what lacks, and how
/// far the first measurement is.
class LabFirst : public EmptyState {
    Q_OBJECT
public:
    explicit LabFirst(const Theme &theme, QWidget *parent = nullptr);
    /// `offer`: the button's words where the doctor has a say; empty: the usual ones.
    void offer(const LabPlaces &places, const QString &offer, bool busy);
    /// `words` of a lab that is `busy`; `fraction`: absent until it runs.
    void showProgress(const QString &words, bool busy, std::optional<double> fraction);
    [[nodiscard]] QPushButton *stopButton() const { return m_stop; }
    [[nodiscard]] QString progressText() const;

private:
    ProgressBar *m_bar;
    QLabel *m_progress;
    QPushButton *m_stop;
};

} // namespace lockstep::ui
