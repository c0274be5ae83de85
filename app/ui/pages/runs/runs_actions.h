// SPDX-License-Identifier: MIT
#pragma once
#include <QKeySequence>
#include <QObject>

#include "ipc/run_folder.h"

class QAction;

namespace lockstep::core {
class RunHistory;
class RunListModel;
} // namespace lockstep::core

namespace lockstep::ui {
class RunsList;

/// Actions on the chosen runs: the table's context menu and its keys.
class RunsActions : public QObject {
    Q_OBJECT
public:
    RunsActions(RunsList &runs, core::RunListModel &list, core::RunHistory &history, QObject *parent = nullptr);
    void open();
    void star();
    void duplicate();

Q_SIGNALS:
    void experimentWanted(const QString &id);
    void runWanted(const QString &runId); ///< the run alone
    void duplicateWanted(const lockstep::RunRecord &record, const QString &name);
    void compareWanted();
    void tagsWanted(); ///< to write them
    void noteWanted();
    void groupWanted(); ///< repeats together, or no longer
    void aboutToDelete();
    void undoWanted();
    void redoWanted();
    void refused(const QString &sentence); ///< why something can't be done

private:
    template <typename Act> QAction *add(const QString &words, const QKeySequence &keys, Act act);
    void addSeparator();
    void openCurrent(bool alone);
    void openAlone();
    void rename();
    void copyIds();
    void deleteChosen();
    void emptyTrash();

    RunsList &m_runs;
    core::RunListModel &m_list;
    core::RunHistory &m_history;
};

} // namespace lockstep::ui
