// SPDX-License-Identifier: MIT
// What can be done to runs: the context menu, its keys, and undo.
#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QLineEdit>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QShortcut>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>

#include <algorithm>

#include "app/ui/pages/runs/runs_details.h"
#include "app/ui/pages/runs/runs_diff.h"
#include "app/ui/pages/runs/runs_filter_line.h"
#include "app/ui/pages/runs/runs_page.h"
#include "ipc/file_system.h"
#include "ipc/run_folder.h"
#include "models/run_list_model.h"

namespace lockstep::ui {
namespace {

std::vector<std::string> idsOf(const std::vector<const core::IndexedRun *> &runs) {
    std::vector<std::string> out;
    for (const core::IndexedRun *run : runs)
        out.push_back(run->run);
    return out;
}

} // namespace

QAction *RunsPage::addAction(const QString &words, const QKeySequence &keys, void (RunsPage::*slot)()) {
    auto *action = new QAction(words, m_table);
    action->setShortcut(keys);
    action->setShortcutContext(Qt::WidgetShortcut); // letters are for writing elsewhere
    connect(action, &QAction::triggered, this, slot);
    m_table->addAction(action);
    return action;
}

void RunsPage::addSeparator() {
    auto *line = new QAction(m_table);
    line->setSeparator(true);
    m_table->addAction(line);
}

void RunsPage::buildActions() {
    m_table->setContextMenuPolicy(Qt::ActionsContextMenu);
    addAction(tr("Open experiment"), QKeySequence(Qt::Key_Return), &RunsPage::open);
    addAction(tr("Open run alone"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O), &RunsPage::openAlone);
    addAction(tr("Compare two runs"), QKeySequence(Qt::Key_D), &RunsPage::compare);
    addAction(tr("Duplicate into Plan"), QKeySequence(Qt::Key_P), &RunsPage::duplicate);
    addSeparator();
    addAction(tr("Rename"), QKeySequence(Qt::Key_F2), &RunsPage::rename);
    addAction(tr("Star, or take the star away"), QKeySequence(Qt::Key_S), &RunsPage::star);
    addAction(tr("Write tags"), QKeySequence(Qt::Key_T), &RunsPage::writeTags);
    addAction(tr("Write a note"), QKeySequence(Qt::Key_N), &RunsPage::writeNote);
    addSeparator();
    addAction(tr("Copy run ids"), QKeySequence::Copy, &RunsPage::copyIds);
    auto *group = new QAction(tr("Group repeats"), m_table);
    group->setShortcut(QKeySequence(Qt::Key_G));
    group->setShortcutContext(Qt::WidgetShortcut);
    connect(group, &QAction::triggered, m_groupButton, &QPushButton::toggle);
    m_table->addAction(group);
    addSeparator();
    addAction(tr("Delete"), QKeySequence(Qt::Key_Delete), &RunsPage::remove);
    auto *back = addAction(tr("Undo"), QKeySequence::Undo, &RunsPage::undo);
    back->setShortcutContext(Qt::WidgetWithChildrenShortcut); // a text being written undoes its own first
    back->setToolTip(tr("Takes back the last change of a name, tag, note or star, or puts back what was deleted"));
    auto *again = addAction(tr("Redo"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z), &RunsPage::redo);
    again->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    again->setToolTip(tr("Makes again what Undo took back"));
    addAction(tr("Empty the trash…"), {}, &RunsPage::emptyTrash);
    for (const QKeySequence &keys : {QKeySequence(Qt::Key_Slash), QKeySequence(QKeySequence::Find)}) {
        auto *find = new QShortcut(keys, this);
        find->setContext(Qt::WidgetWithChildrenShortcut);
        connect(find, &QShortcut::activated, this, [this] {
            m_line->setFocus();
            m_line->selectAll();
        });
    }
}

void RunsPage::openCurrent(bool alone) {
    const QModelIndex current = m_table->currentIndex();
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

void RunsPage::open() {
    openCurrent(false);
}
void RunsPage::openAlone() {
    openCurrent(true);
}

void RunsPage::rename() {
    const QModelIndex current = m_table->currentIndex();
    if (!current.isValid())
        return;
    if (m_list.isGroup(current.row()))
        return notice(tr("A group has no name of its own: open it (Right) and rename its runs."), Offer::None);
    const QModelIndex name = current.siblingAtColumn(core::runColumn("name"));
    m_table->scrollTo(name);
    m_table->edit(name);
}

void RunsPage::star() {
    const std::vector<const core::IndexedRun *> runs = chosen();
    const bool all = std::all_of(runs.begin(), runs.end(), [](const auto *run) { return run->starred; });
    if (!runs.empty())
        m_history.change(idsOf(runs), [on = !all](core::RunNotes &notes) { notes.starred = on; });
}

void RunsPage::writeTags() {
    m_side->setCurrentWidget(m_details);
    m_details->tagsLine()->setFocus();
    m_details->tagsLine()->selectAll();
}

void RunsPage::writeNote() {
    m_side->setCurrentWidget(m_details);
    m_details->note()->setFocus();
}

void RunsPage::compare() {
    const std::vector<const core::IndexedRun *> runs = chosen();
    if (runs.size() != 2)
        return notice(tr("Choose two runs to compare: the second one with Ctrl held down."), Offer::None);
    // The earlier one is A: what came later is measured by it.
    const bool inOrder = runs[0]->startWallUs <= runs[1]->startWallUs;
    m_diff->compare(QString::fromStdString(runs[inOrder ? 0 : 1]->run),
                    QString::fromStdString(runs[inOrder ? 1 : 0]->run));
    if (m_side->currentWidget() != m_diff)
        m_sizesBefore = m_split->sizes();
    m_side->setCurrentWidget(m_diff);
    m_split->setSizes({width() / 2, width() / 2});
}

void RunsPage::duplicate() {
    const std::vector<const core::IndexedRun *> runs = chosen();
    if (runs.empty())
        return;
    const core::IndexedRun &run = *runs.front();
    const auto text = realFileSystem().readAll(runFolder(run.run).config());
    const auto record = text ? runRecordFromJson(*text) : Result<RunRecord>(fail(text.error()));
    if (!record)
        return notice(QString::fromStdString(record.error().message()), Offer::None);
    if (!record->config)
        return notice(tr("This run is somebody's own script: Plan has no settings for it."), Offer::None);
    Q_EMIT duplicateWanted(*record->config, QString::fromStdString(run.title()));
}

void RunsPage::copyIds() {
    QStringList ids;
    for (const core::IndexedRun *run : chosen())
        ids.append(QString::fromStdString(run->run));
    QGuiApplication::clipboard()->setText(ids.join(QLatin1Char('\n')));
}

void RunsPage::remove() {
    const std::vector<std::string> ids = idsOf(chosen());
    if (ids.empty())
        return;
    m_details->flush();
    if (!m_diff->isEmpty())
        Q_EMIT m_diff->closed();
    m_history.trash(ids);
}

/// Remembers how to take back what was just done. Something new ends what could be made again.
void RunsPage::takeBack(Step step, bool again) {
    m_undo.push_back(std::move(step));
    if (again)
        m_redoing = std::max(0, m_redoing - 1);
    else
        m_redo.clear();
}

void RunsPage::undo() {
    m_notice->hide();
    if (m_undo.empty()) // of an earlier day
        return m_history.restore({});
    const Step last = std::move(m_undo.back());
    m_undo.pop_back();
    if (!last.done.isEmpty())
        m_reverts.push_back(true);
    last.act();
    if (!last.done.isEmpty())
        notice(last.done, Offer::Redo);
}

void RunsPage::redo() {
    m_notice->hide();
    if (m_redo.empty())
        return notice(tr("There is nothing to make again."), Offer::None);
    const Step last = std::move(m_redo.back());
    m_redo.pop_back();
    ++m_redoing;
    if (!last.done.isEmpty())
        m_reverts.push_back(false);
    last.act();
    if (!last.done.isEmpty())
        notice(last.done, Offer::Undo);
}

void RunsPage::emptyTrash() {
    const auto answer = QMessageBox::question(this, tr("Empty the trash"),
                                              tr("Remove all deleted runs for good? This can't be undone."),
                                              QMessageBox::Yes | QMessageBox::Cancel, QMessageBox::Cancel);
    if (answer == QMessageBox::Yes)
        m_history.emptyTrash();
}

} // namespace lockstep::ui
