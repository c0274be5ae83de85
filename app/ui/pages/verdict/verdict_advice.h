// SPDX-License-Identifier: MIT
#pragma once
#include <QKeySequence>
#include <QWidget>

#include "models/judgement_model.h"

class QPushButton;
class QVBoxLayout;

namespace lockstep::ui {
class Theme;

/// The rows of one kind of a verdict's advice: what is unfair, or what bounds each run, each with buttons for the runs that would
/// show more.
class VerdictAdvice : public QWidget {
    Q_OBJECT
public:
    VerdictAdvice(const Theme &theme, core::JudgementModel &model, core::JudgementModel::Kind kind,
                  QWidget *parent = nullptr);
    /// Whether runs can be started from here; if not, the reason as a button's text.
    void setStartable(bool startable, const QString &why);
    [[nodiscard]] int count() const { return m_count; }
    [[nodiscard]] const QList<QPushButton *> &buttons() const { return m_buttons; }

Q_SIGNALS:
    void wanted(const core::SuggestedRun &run);
    void changed(); ///< rows came or went

private:
    void rebuild();
    QWidget *makeRow(int row);
    /// Ctrl+Y, then a letter, for controls; Ctrl+I, then a letter, for what to try.
    [[nodiscard]] QKeySequence nextShortcut() const;
    const Theme &m_theme;
    core::JudgementModel &m_model;
    core::JudgementModel::Kind m_kind;
    QVBoxLayout *m_layout;
    QList<QPushButton *> m_buttons;
    int m_count = 0;
    bool m_startable = true;
    QString m_why;
};

} // namespace lockstep::ui
