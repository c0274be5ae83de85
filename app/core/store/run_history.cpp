// SPDX-License-Identifier: MIT
#include "store/run_history.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <QElapsedTimer>
#include <QThread>

namespace lockstep::core {

/// What runs on the thread. Notifies its owner by queued calls.
class RunHistory::Worker : public QObject {
public:
    explicit Worker(RunHistory *owner) : m_owner(owner) {}
    std::atomic<bool> leaving = false;

    void refresh() {
        QElapsedTimer timer;
        timer.start();
        refreshIndex(timer);
        const int tookMs = int(timer.elapsed());
        notifyOwner([tookMs](RunHistory *owner) {
            owner->m_refreshing = false;
            Q_EMIT owner->refreshed(tookMs);
        });
    }

    void change(const std::vector<std::pair<std::string, NotesChange>> &changes, bool undoable) {
        NotesBefore before;
        std::vector<std::string> runs;
        for (const auto &[run, how] : changes) {
            Result<RunNotes> was = changeRunNotes(runFolder(run), how);
            if (!was) {
                complain(was.error());
                break;
            }
            before.emplace_back(run, std::move(*was));
            runs.push_back(run);
        }
        reread(runs);
        if (!before.empty())
            notifyOwner([before, undoable](RunHistory *owner) {
                undoable ? Q_EMIT owner->noted(before) : Q_EMIT owner->reverted(before);
            });
    }

    void acknowledge(const AlertsSeenUs &seen) {
        for (const auto &[run, untilUs] : seen)
            if (const auto noted = changeRunNotes(
                    runFolder(run),
                    [untilUs](RunNotes &notes) { notes.alertsSeenUs = std::max(notes.alertsSeenUs, untilUs); });
                !noted)
                return complain(noted.error());
    }

    void readSeen(const std::vector<std::string> &runs) {
        AlertsSeenUs seen;
        for (const std::string &run : runs)
            if (const auto notes = readRunNotes(runFolder(run)); notes && notes->alertsSeenUs > 0)
                seen.emplace_back(run, notes->alertsSeenUs);
        if (!seen.empty())
            notifyOwner([seen](RunHistory *owner) { Q_EMIT owner->seenRead(seen); });
    }

    void trash(const std::vector<std::string> &runs) {
        const Result<TrashedRuns> batch = trashRuns(runs);
        if (!batch)
            return complain(batch.error());
        reread(batch->runs);
        notifyOwner([batch = *batch](RunHistory *owner) { Q_EMIT owner->trashed(batch); });
    }

    void restore(const std::string &id) {
        const std::vector<TrashedRuns> trash = id.empty() ? listTrash() : std::vector<TrashedRuns>();
        if (id.empty() && trash.empty())
            return complain(Error::failed("there is nothing to undo: the trash is empty"));
        const Result<TrashedRuns> batch = restoreTrashed(id.empty() ? trash.front().id : id);
        if (!batch)
            return complain(batch.error());
        reread(batch->runs);
        notifyOwner([batch = *batch](RunHistory *owner) { Q_EMIT owner->restored(batch); });
    }

    void emptyTrash(std::chrono::seconds age, bool say) {
        const Result<int> removed = core::emptyTrash(age);
        if (!removed)
            return complain(removed.error());
        if (say)
            notifyOwner([count = *removed](RunHistory *owner) { Q_EMIT owner->emptied(count); });
    }

private:
    static constexpr int many = 300, progressMs = 500;

    bool open() {
        if (m_index)
            return true;
        Result<RunIndex> index = RunIndex::open();
        if (!index) {
            complain(index.error());
            return false;
        }
        m_index.emplace(std::move(*index));
        return true;
    }

    void refreshIndex(const QElapsedTimer &timer) {
        if (!open())
            return;
        if (!m_listed)
            list(); // shows at once what the index already has
        qint64 progressedMs = 0;
        const Result<int> changed = m_index->refresh([&](int done, int all) {
            if (all > many && timer.elapsed() - progressedMs > progressMs) {
                if (progressedMs == 0)
                    list(); // the newest are read first
                progressedMs = timer.elapsed();
                notifyOwner([done, all](RunHistory *owner) { Q_EMIT owner->progressed(done, all); });
            }
            return !leaving;
        });
        if (!changed)
            return complain(changed.error());
        if (*changed > 0)
            list();
    }

    void list() { show(m_index->runs()); }

    void show(std::vector<IndexedRun> runs) {
        m_runs = std::make_shared<const std::vector<IndexedRun>>(std::move(runs));
        m_listed = true;
        notifyOwner([runs = m_runs](RunHistory *owner) { Q_EMIT owner->listed(runs); });
    }

    void reread(const std::vector<std::string> &runs) {
        if (runs.empty() || !open())
            return;
        if (const Result<void> read = m_index->refresh(runs); !read)
            return complain(read.error());
        if (!m_listed || int(runs.size()) > many)
            return list();
        // Do not make a star wait until thousands of rows are read again.
        std::vector<IndexedRun> now;
        now.reserve(m_runs->size() + runs.size());
        const std::set<std::string> changed(runs.begin(), runs.end());
        for (const IndexedRun &run : *m_runs)
            if (!changed.contains(run.run))
                now.push_back(run);
        for (const std::string &run : changed)
            if (std::optional<IndexedRun> row = m_index->run(run))
                now.insert(std::upper_bound(now.begin(), now.end(), *row, newerFirst), std::move(*row));
        markRepeats(now);
        show(std::move(now));
    }

    static bool newerFirst(const IndexedRun &a, const IndexedRun &b) {
        return std::tie(a.startWallUs, a.run) > std::tie(b.startWallUs, b.run);
    }

    void complain(const Error &error) {
        const QString sentence = QString::fromStdString(error.message());
        notifyOwner([sentence](RunHistory *owner) { Q_EMIT owner->failed(sentence); });
    }

    template <class Call> void notifyOwner(Call call) {
        QMetaObject::invokeMethod(
            m_owner, [owner = m_owner, call] { call(owner); }, Qt::QueuedConnection);
    }

    RunHistory *m_owner;
    std::optional<RunIndex> m_index;
    RunList m_runs;
    bool m_listed = false;
};

RunHistory::RunHistory(QObject *parent) : QObject(parent), m_thread(new QThread(this)), m_worker(new Worker(this)) {
    m_thread->setObjectName(QStringLiteral("lockstep-runs"));
    m_worker->moveToThread(m_thread);
    connect(m_thread, &QThread::finished, m_worker,
            &QObject::deleteLater); // on its own thread, to which its SQL connection belongs
    m_thread->start(QThread::LowPriority);
    ask([](Worker *worker) { worker->emptyTrash(trashKept, false); });
}

RunHistory::~RunHistory() {
    m_worker->leaving = true;
    ask([thread = m_thread](Worker *) { thread->quit(); }); // after what was asked before
    m_thread->wait();
}

template <class Job> void RunHistory::ask(Job job) {
    QMetaObject::invokeMethod(
        m_worker, [worker = m_worker, job] { job(worker); }, Qt::QueuedConnection);
}

void RunHistory::refresh() {
    if (std::exchange(m_refreshing, true))
        return;
    ask([](Worker *worker) { worker->refresh(); });
}

void RunHistory::change(const std::vector<std::string> &runs, const NotesChange &change) {
    std::vector<std::pair<std::string, NotesChange>> changes;
    for (const std::string &run : runs)
        changes.emplace_back(run, change);
    ask([changes](Worker *worker) { worker->change(changes, true); });
}

void RunHistory::revert(const NotesBefore &before) {
    std::vector<std::pair<std::string, NotesChange>> changes;
    for (const auto &[run, was] : before)
        changes.emplace_back(run, [was = was](RunNotes &notes) {
            const std::int64_t seenUs = notes.alertsSeenUs; // is no note that a person takes back
            notes = was;
            notes.alertsSeenUs = seenUs;
        });
    ask([changes](Worker *worker) { worker->change(changes, false); });
}

void RunHistory::acknowledge(const AlertsSeenUs &seen) {
    ask([seen](Worker *worker) { worker->acknowledge(seen); });
}

void RunHistory::readSeen(const std::vector<std::string> &runs) {
    ask([runs](Worker *worker) { worker->readSeen(runs); });
}

void RunHistory::trash(const std::vector<std::string> &runs) {
    ask([runs](Worker *worker) { worker->trash(runs); });
}

void RunHistory::restore(const std::string &trashId) {
    ask([trashId](Worker *worker) { worker->restore(trashId); });
}

void RunHistory::emptyTrash() {
    ask([](Worker *worker) { worker->emptyTrash(std::chrono::seconds(0), true); });
}

} // namespace lockstep::core

#include "moc_run_history.cpp"
