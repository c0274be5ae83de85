// SPDX-License-Identifier: MIT
#include "app/ui/pages/runs/runs_actions.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QMessageBox>
#include <QTableView>

#include <algorithm>

#include "app/ui/pages/runs/runs_list.h"
#include "ipc/file_system.h"
#include "ipc/run_folder.h"
#include "models/run_list_model.h"
#include "store/run_history.h"

namespace lockstep::ui {
namespace {

std::vector<std::string> idsOf(const std::vector<const core::IndexedRun *> &runs) {
    std::vector<std::string> out;
    for (const core::IndexedRun *run : runs)
        out.push_back(run->run);
    return out;
}

} // namespace

RunsActions::RunsActions(RunsList &runs, core::RunListModel &list, core::RunHistory &history, QObject *parent)
    : QObject(parent), m_runs(runs), m_list(list), m_history(history) {
    m_runs.table()->setContextMenuPolicy(Qt::ActionsContextMenu);
    add(tr("Open experiment"), QKeySequence(Qt::Key_Return), &RunsActions::open);
    add(tr("Open run alone"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O), &RunsActions::openAlone);
    add(tr("Compare two runs"), QKeySequence(Qt::Key_D), &RunsActions::compareWanted);
    add(tr("Duplicate into Plan"), QKeySequence(Qt::Key_P), &RunsActions::duplicate);
    addSeparator();
    add(tr("Rename"), QKeySequence(Qt::Key_F2), &RunsActions::rename);
    add(tr("Add or remove the star"), QKeySequence(Qt::Key_S), &RunsActions::star);
    add(tr("Write tags"), QKeySequence(Qt::Key_T), &RunsActions::tagsWanted);
    add(tr("Write a note"), QKeySequence(Qt::Key_N), &RunsActions::noteWanted);
    addSeparator();
    add(tr("Copy run ids"), QKeySequence(Qt::Key_I), &RunsActions::copyIds); // Ctrl+C copies the rows
    add(tr("Group repeats"), QKeySequence(Qt::Key_G), &RunsActions::groupWanted);
    addSeparator();
    add(tr("Delete"), QKeySequence(Qt::Key_Delete), &RunsActions::deleteChosen);
    auto *back = add(tr("Undo"), QKeySequence::Undo, &RunsActions::undoWanted);
    back->setShortcutContext(Qt::WidgetWithChildrenShortcut); // a text being written undoes its own first
    back->setToolTip(tr("Undoes the last change, or restores what was deleted"));
    auto *again = add(tr("Redo"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z), &RunsActions::redoWanted);
    again->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    again->setToolTip(tr("Repeats what Undo undid"));
    add(tr("Empty the trash…"), {}, &RunsActions::emptyTrash);
    connect(&m_runs, &RunsList::openWanted, this, &RunsActions::open);
    connect(&m_list, &core::RunListModel::renameAsked, this, [this](const QString &run, const QString &given) {
        m_history.change({run.toStdString()},
                         [text = given.toStdString()](core::RunNotes &notes) { notes.name = text; });
    });
}

template <typename Act> QAction *RunsActions::add(const QString &words, const QKeySequence &keys, Act act) {
    auto *action = new QAction(words, m_runs.table());
    action->setShortcut(keys);
    action->setShortcutContext(Qt::WidgetShortcut); // letters are for writing elsewhere
    connect(action, &QAction::triggered, this, act);
    m_runs.table()->addAction(action);
    return action;
}

void RunsActions::addSeparator() {
    auto *line = new QAction(m_runs.table());
    line->setSeparator(true);
    m_runs.table()->addAction(line);
}

void RunsActions::openCurrent(bool alone) {
    const QModelIndex current = m_runs.table()->currentIndex();
    if (!current.isValid())
        return;
    if (m_list.isGroup(current.row()) && !alone)
        return m_list.setOpen(current.row(), !current.data(core::RunListModel::OpenRole).toBool());
    const core::IndexedRun &run = m_list.runAt(current.row());
    if (alone || run.experiment.empty())
        Q_EMIT runWanted(QString::fromStdString(run.run));
    else
        Q_EMIT experimentWanted(QString::fromStdString(run.experiment));
}

void RunsActions::open() {
    openCurrent(false);
}
void RunsActions::openAlone() {
    openCurrent(true);
}

void RunsActions::rename() {
    const QModelIndex current = m_runs.table()->currentIndex();
    if (!current.isValid())
        return;
    if (m_list.isGroup(current.row()))
        return Q_EMIT refused(tr("A group has no name: open it (Right) and rename its runs."));
    const QModelIndex name = current.siblingAtColumn(core::runColumn("name"));
    m_runs.table()->scrollTo(name);
    m_runs.table()->edit(name);
}

void RunsActions::star() {
    const std::vector<const core::IndexedRun *> runs = m_runs.chosen();
    const bool all = std::all_of(runs.begin(), runs.end(), [](const auto *run) { return run->starred; });
    if (!runs.empty())
        m_history.change(idsOf(runs), [on = !all](core::RunNotes &notes) { notes.starred = on; });
}

void RunsActions::duplicate() {
    const std::vector<const core::IndexedRun *> runs = m_runs.chosen();
    if (runs.empty())
        return;
    const core::IndexedRun &run = *runs.front();
    const auto record = readRunRecord(runFolder(run.run));
    if (!record)
        return Q_EMIT refused(QString::fromStdString(record.error().message()));
    if (!record->config)
        return Q_EMIT refused(tr("This run came from a script: Plan has no settings for it."));
    Q_EMIT duplicateWanted(*record, QString::fromStdString(run.title()));
}

void RunsActions::copyIds() {
    QStringList ids;
    for (const core::IndexedRun *run : m_runs.chosen())
        ids.append(QString::fromStdString(run->run));
    QGuiApplication::clipboard()->setText(ids.join(QLatin1Char('\n')));
}

void RunsActions::deleteChosen() {
    const std::vector<std::string> ids = idsOf(m_runs.chosen());
    if (ids.empty())
        return;
    Q_EMIT aboutToDelete();
    m_history.trash(ids);
}

void RunsActions::emptyTrash() {
    const auto answer = QMessageBox::question(&m_runs, tr("Empty the trash"),
                                              tr("Remove all deleted runs permanently? This can't be undone."),
                                              QMessageBox::Yes | QMessageBox::Cancel, QMessageBox::Cancel);
    if (answer == QMessageBox::Yes)
        m_history.emptyTrash();
}

} // namespace lockstep::ui

#include "moc_runs_actions.cpp"
