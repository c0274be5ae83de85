// SPDX-License-Identifier: MIT
#include "app/ui/pages/runs/runs_undo.h"

#include <algorithm>
#include <utility>

#include "app/ui/pages/runs/runs_notice.h"

namespace lockstep::ui {

using Offer = RunsNotice::Offer;

RunsUndo::RunsUndo(core::RunHistory &history, RunsNotice &notice, QObject *parent)
    : QObject(parent), m_history(history), m_notice(notice) {
    connect(&m_notice, &RunsNotice::undoWanted, this, &RunsUndo::undo);
    connect(&m_notice, &RunsNotice::redoWanted, this, &RunsUndo::redo);
    connect(&m_history, &core::RunHistory::noted, this,
            [this](const core::NotesBefore &before) { remember(step(tr("The change is undone."), before), false); });
    connect(&m_history, &core::RunHistory::reverted, this, &RunsUndo::reverted);
    connect(&m_history, &core::RunHistory::trashed, this, &RunsUndo::trashed);
    connect(&m_history, &core::RunHistory::restored, this, &RunsUndo::restored);
    connect(&m_history, &core::RunHistory::emptied, this, [this](int runs) {
        m_notice.say(runs == 1 ? tr("1 run was removed permanently.")
                               : tr("%1 runs were removed permanently.").arg(runs));
    });
    connect(&m_history, &core::RunHistory::failed, this, [this](const QString &sentence) {
        m_redoing = 0;
        m_reverts.clear();
        m_notice.say(sentence);
    });
}

RunsUndo::Step RunsUndo::step(const QString &done, const core::NotesBefore &before) {
    return {done, [this, before] { m_history.revert(before); }};
}

/// Remembers how to undo what was just done. A new action clears the steps for redo.
void RunsUndo::remember(Step step, bool again) {
    m_undo.push_back(std::move(step));
    if (again)
        m_redoing = std::max(0, m_redoing - 1);
    else
        m_redo.clear();
}

void RunsUndo::reverted(const core::NotesBefore &before) {
    const bool back = m_reverts.empty() || m_reverts.front();
    if (!m_reverts.empty())
        m_reverts.pop_front();
    if (back)
        m_redo.push_back(step(tr("The change is redone."), before));
    else
        remember(step(tr("The change is undone."), before), true);
}

void RunsUndo::trashed(const core::TrashedRuns &batch) {
    remember({{}, [this, id = batch.id] { m_history.restore(id); }}, m_redoing > 0);
    const int count = int(batch.runs.size());
    m_notice.say((count == 1 ? tr("1 run deleted.") : tr("%1 runs deleted.").arg(count)) + QLatin1Char(' ') +
                     tr("Deleted runs stay in the trash for %1 days.").arg(core::trashKept.count()),
                 Offer::Undo);
}

void RunsUndo::restored(const core::TrashedRuns &batch) {
    m_redo.push_back({{}, [this, runs = batch.runs] { m_history.trash(runs); }});
    const int count = int(batch.runs.size());
    m_notice.say(count == 1 ? tr("1 run restored.") : tr("%1 runs restored.").arg(count), Offer::Redo);
}

void RunsUndo::undo() {
    m_notice.hide();
    if (m_undo.empty()) // deleted in an earlier session
        return m_history.restore({});
    const Step last = std::move(m_undo.back());
    m_undo.pop_back();
    if (!last.done.isEmpty())
        m_reverts.push_back(true);
    last.act();
    if (!last.done.isEmpty())
        m_notice.say(last.done, Offer::Redo);
}

void RunsUndo::redo() {
    m_notice.hide();
    if (m_redo.empty())
        return m_notice.say(tr("Nothing to redo."));
    const Step last = std::move(m_redo.back());
    m_redo.pop_back();
    ++m_redoing;
    if (!last.done.isEmpty())
        m_reverts.push_back(false);
    last.act();
    if (!last.done.isEmpty())
        m_notice.say(last.done, Offer::Undo);
}

} // namespace lockstep::ui

#include "moc_runs_undo.cpp"
