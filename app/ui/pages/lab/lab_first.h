// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "app/ui/widgets/empty_state.h"

class QLabel;

namespace lockstep::ui {
class LabPlaces;
class ProgressBar;

/// Lab before the first measurement: what it would measure between the chosen devices, or what is missing, and the
/// progress of the first measurement.
class LabFirst : public EmptyState {
    Q_OBJECT
public:
    explicit LabFirst(const Theme &theme, QWidget *parent = nullptr);
    /// `offer`: the button's text if the doctor comes first; empty: the usual text.
    void offer(const LabPlaces &places, const QString &offer, bool busy);
    /// `words`: the progress of a `busy` lab; `fraction`: absent until it runs.
    void showProgress(const QString &words, bool busy, std::optional<double> fraction);
    [[nodiscard]] QPushButton *stopButton() const { return m_stop; }
    [[nodiscard]] QString progressText() const;

private:
    ProgressBar *m_bar;
    QLabel *m_progress;
    QPushButton *m_stop;
};

} // namespace lockstep::ui
