// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <QObject>

#include "store/run_index.h"
#include "store/run_notes.h"
#include "store/run_trash.h"

class QThread;

namespace lockstep::core {

using RunList = std::shared_ptr<const std::vector<IndexedRun>>;
/// Run → its earlier notes.
using NotesBefore = std::vector<std::pair<std::string, RunNotes>>;
/// Run → its RunNotes::alertsSeenUs.
using AlertsSeenUs = std::vector<std::pair<std::string, std::int64_t>>;

/// The history for a window: work on many files and waiting for the disk happen on a thread of its own
/// ("lockstep-runs"); answers come as signals on this object's thread. Calls return at once and are executed in order.
class RunHistory : public QObject {
    Q_OBJECT
public:
    explicit RunHistory(QObject *parent = nullptr);
    ~RunHistory() override; ///< finishes what was asked, but cuts a reading of the runs short

    /// Reads the disk; does nothing while a refresh is under way. `listed` follows when anything changed (or after the
    /// first refresh), `refreshed` in any case.
    void refresh();
    void change(const std::vector<std::string> &runs, const NotesChange &change);
    /// Puts notes back as they were; `reverted` carries what they had become.
    void revert(const NotesBefore &before);
    /// Notes these moments as RunNotes::alertsSeenUs, unless later ones are noted already. Not undone.
    void acknowledge(const AlertsSeenUs &seen);
    void readSeen(const std::vector<std::string> &runs); ///< `seenRead` follows
    void trash(const std::vector<std::string> &runs);
    void restore(const std::string &trashId); ///< empty: what was deleted last
    void emptyTrash();

Q_SIGNALS:
    void listed(const lockstep::core::RunList &runs); ///< newest first
    void progressed(int done, int all);               ///< only while many runs are read for the first time
    void refreshed(int tookMs);
    void noted(const lockstep::core::NotesBefore &before);
    void reverted(const lockstep::core::NotesBefore &before);
    void seenRead(const lockstep::core::AlertsSeenUs &seen); ///< of runs whose alerts were acknowledged
    void trashed(const lockstep::core::TrashedRuns &runs);
    void restored(const lockstep::core::TrashedRuns &runs);
    void emptied(int runs);
    void failed(const QString &sentence);

private:
    class Worker;
    template <class Job> void ask(Job job);
    QThread *m_thread;
    Worker *m_worker; ///< lives on m_thread
    bool m_refreshing = false;
};

} // namespace lockstep::core
