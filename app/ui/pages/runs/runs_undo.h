// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>

#include <deque>
#include <functional>
#include <vector>

#include "store/run_history.h"

namespace lockstep::ui {
class RunsNotice;

/// Undoes and redoes actions on runs, and shows the outcome in the notice. Learns the actions
/// from RunHistory.
class RunsUndo : public QObject {
    Q_OBJECT
public:
    RunsUndo(core::RunHistory &history, RunsNotice &notice, QObject *parent = nullptr);
    void undo();
    void redo();

private:
    /// Something that can be undone, or redone; RunHistory reports the outcome.
    struct Step {
        QString done; ///< said when it is done; empty: RunHistory says so itself
        std::function<void()> act;
    };
    void remember(Step step, bool again);
    void reverted(const core::NotesBefore &before);
    void trashed(const core::TrashedRuns &batch);
    void restored(const core::TrashedRuns &batch);
    [[nodiscard]] Step step(const QString &done, const core::NotesBefore &before);

    core::RunHistory &m_history;
    RunsNotice &m_notice;
    std::vector<Step> m_undo, m_redo;
    int m_redoing = 0;          ///< steps being redone and not reported yet: they leave the rest of m_redo as it is
    std::deque<bool> m_reverts; ///< pending changes of notes: true for an undo, false for a redo
};

} // namespace lockstep::ui
