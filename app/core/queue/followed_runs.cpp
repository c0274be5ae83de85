// SPDX-License-Identifier: MIT
#include "queue/followed_runs.h"

#include <utility>

#include <QElapsedTimer>

#include "experiment/plan.h"
#include "follow/run_follower.h"
#include "ipc/file_system.h"
#include "ipc/logging.h"
#include "launch/nodes_launcher.h"
#include "store/run_progress.h"
#include "store/run_store.h"
#include "store/status_reader.h"

namespace lockstep::core {
namespace {

constexpr int startingMs = 20; // in a turn of the event loop, so that a window stays responsive

} // namespace

FollowedRuns::FollowedRuns(QObject *parent) : QObject(parent), m_statuses(std::make_shared<StatusReader>()) {
    m_more.setSingleShot(true);
    connect(&m_more, &QTimer::timeout, this, &FollowedRuns::startMore);
}

FollowedRuns::~FollowedRuns() = default;

void FollowedRuns::clear() {
    m_followers.clear();
    m_stores.clear();
    for (Turns *turns : allTurns()) {
        turns->waiting.clear();
        turns->underWay.clear();
    }
    m_named.clear();
    m_full = false;
}

void FollowedRuns::follow(const Experiment &experiment) {
    const Result<CommandPrefix> where = prefixFor(experiment.host, experiment.remoteAgent);
    for (int i = 0; i < int(experiment.entries.size()) && where; ++i) {
        const ExperimentEntry &entry = experiment.entries[std::size_t(i)];
        const Result<CommandPrefix> prefix = prefixOfAgent0(entry.planned.config, *where);
        if (!prefix)
            continue; // the launch reports why
        if (const RunStore *known = store(i); known && known->runId().toStdString() != entry.run)
            forget(i);
        // A second attempt may give a launching run another id.
        if (entry.run.empty() || m_stores.contains(i) || entry.state == EntryState::Launching)
            continue;
        // The run was deleted meanwhile, or its record was: nothing to follow.
        const RunFolder folder = runFolder(entry.run);
        if (isOver(entry.state) && prefix->local() && !isThere(folder.config()) && !isThere(folder.origin()))
            continue;
        if (!prefix->local() && !m_named.contains(entry.run)) {
            if (m_named.size() >= mostRunsRead) {
                if (!std::exchange(m_full, true))
                    logWarning("the queue of " + experiment.id + " on " + prefix->host + " has named " +
                               std::to_string(m_named.size()) +
                               " runs: no further one is followed; to follow it anew: lockstepctl attach " +
                               experiment.id);
                continue;
            }
            m_named.insert(entry.run);
        }
        const QString id = QString::fromStdString(entry.run);
        auto &store = m_stores[i] = std::make_unique<RunStore>(id);
        auto &follower = m_followers[i] = std::make_unique<RunFollower>(store.get(), id, *prefix);
        follower->setStatuses(m_statuses);
        connect(follower.get(), &RunFollower::ended, this, [this, i] {
            for (Turns *turns : allTurns())
                turns->underWay.erase(i);
            m_more.start(0);
            Q_EMIT ended(i);
        });
        Q_EMIT added(i, store.get());
        if (isOver(entry.state))
            (prefix->local() ? m_endedHere : m_endedElsewhere).waiting.push_back(i);
        else
            (prefix->local() ? m_runningHere : m_runningElsewhere).waiting.push_back(i);
    }
    if (!m_more.isActive())
        startMore();
}

void FollowedRuns::startMore() {
    QElapsedTimer begun;
    begun.start();
    for (Turns *turns : allTurns())
        while (!turns->waiting.empty() && turns->underWay.size() < turns->most) {
            if (begun.elapsed() >= startingMs)
                return m_more.start(0);
            const int entry = turns->waiting.front();
            turns->waiting.pop_front();
            turns->underWay.insert(entry);
            m_followers.at(entry)->start();
        }
}

void FollowedRuns::forget(int entry) {
    for (Turns *turns : allTurns()) {
        std::erase(turns->waiting, entry);
        turns->underWay.erase(entry);
    }
    m_followers.erase(entry); // before its store
    m_stores.erase(entry);
}

RunStore *FollowedRuns::store(int entry) const {
    const auto found = m_stores.find(entry);
    return found == m_stores.end() ? nullptr : found->second.get();
}

std::vector<RunStore *> FollowedRuns::stores() const {
    std::vector<RunStore *> out;
    for (const auto &[entry, store] : m_stores)
        out.push_back(store.get());
    return out;
}

ExperimentClock FollowedRuns::clock() const {
    return {[this](int entry) {
                const RunStore *one = store(entry);
                return one && one->result() ? std::optional(one->result()->runTimeS) : std::nullopt;
            },
            [this](int entry) { return store(entry) ? progressOf(*store(entry)).fraction : std::nullopt; },
            [this](int entry) { return store(entry) ? progressOf(*store(entry)).leftS : std::nullopt; }};
}

Asked FollowedRuns::ask(const std::vector<int> &entries, const std::function<Asked(RunFollower &)> &request,
                        const std::string &why) {
    bool any = false;
    std::vector<std::unique_ptr<Request>> underWay;
    for (const int entry : entries)
        if (const auto follower = m_followers.find(entry); follower != m_followers.end()) {
            Asked asked = request(*follower->second);
            if (!asked)
                return asked;
            any = true;
            if (*asked)
                underWay.push_back(std::move(*asked));
        }
    if (!any)
        return fail(Error::failed("no run of this experiment is active: " + why));
    return underWay.empty() ? Asked() : std::make_unique<RequestGroup>(std::move(underWay));
}

} // namespace lockstep::core

#include "moc_followed_runs.cpp"
