#include "follow/experiment_follower.h"

#include <QFile>

#include "follow/queue_bridge.h"
#include "follow/run_follower.h"
#include "ipc/logging.h"
#include "launch/nodes_launcher.h"
#include "store/run_store.h"

namespace lockstep::core {
namespace {

constexpr std::size_t mostAtOnce = 4; ///< sshd takes ten at once that have not logged in yet
constexpr int pollMs = 500;           // rename replaces the watched file, and ownership shows in no file at all

} // namespace

ExperimentFollower::ExperimentFollower(QObject *parent) : QObject(parent) {
    m_poll.setInterval(pollMs);
    connect(&m_poll, &QTimer::timeout, this, &ExperimentFollower::reread);
    connect(&m_watcher, &QFileSystemWatcher::fileChanged, this, &ExperimentFollower::reread);
    connect(&m_watcher, &QFileSystemWatcher::directoryChanged, this, &ExperimentFollower::reread);
}

ExperimentFollower::~ExperimentFollower() {
    m_followers.clear(); // before the stores they feed
}

Result<void> ExperimentFollower::open(const std::string &experimentId) {
    const Result<Experiment> experiment = readExperiment(experimentId);
    if (!experiment)
        return fail(experiment.error());
    m_id = experimentId;
    m_stamp.clear();
    m_followers.clear();
    m_stores.clear();
    m_bridge.reset();
    m_toFetch.clear();
    m_fetching.clear();
    m_experiment = *experiment;
    m_owned = isOwned(m_id);
    if (const auto origin = queueOriginOf(m_id)) {
        bridge(*origin);
        Q_EMIT experimentChanged();
        followRuns(); // as far as they were known when it was looked at last
        return {};
    }
    watch();
    if (!m_experiment.over())
        m_poll.start();
    Q_EMIT experimentChanged();
    reread();
    return {};
}

/// A copy that is over says all there is, until something is asked of it.
void ExperimentFollower::bridge(const QueueOrigin &origin) {
    m_bridge = std::make_unique<QueueBridge>(m_id, origin);
    connect(m_bridge.get(), &QueueBridge::seen, this, &ExperimentFollower::take);
    connect(m_bridge.get(), &QueueBridge::stateChanged, this, &ExperimentFollower::experimentChanged);
    connect(m_bridge.get(), &QueueBridge::refused, this, &ExperimentFollower::refused);
    lookAtSeat();
    if (m_experiment.over())
        return;
    m_bridge->start();
    m_poll.start(); // for the seat
}

void ExperimentFollower::take(const QueueSight &sight) {
    m_experiment = sight.experiment;
    m_owned = sight.owned;
    followRuns();
    Q_EMIT experimentChanged();
}

QString ExperimentFollower::queueHost() const {
    return m_bridge ? QString::fromStdString(m_bridge->origin().prefix.host) : QString();
}

bool ExperimentFollower::linkFailed() const {
    return m_bridge && m_bridge->state() == QueueBridge::State::Failed;
}

QString ExperimentFollower::unknownWhy() const {
    return m_bridge ? m_bridge->sentence() : QString();
}

void ExperimentFollower::watch() {
    const ExperimentFolder folder = experimentFolder(m_id);
    if (!m_watcher.directories().isEmpty())
        m_watcher.removePaths(m_watcher.directories());
    m_watcher.addPath(QString::fromStdString(folder.path));
}

void ExperimentFollower::reread() {
    if (m_bridge) {
        const bool was = m_heldElsewhere;
        lookAtSeat();
        if (was != m_heldElsewhere)
            Q_EMIT experimentChanged();
        return;
    }
    const bool owned = isOwned(m_id);
    const std::string stamp = experimentStamp(m_id);
    const bool rewritten = stamp != m_stamp; // reading it at every poll would cost an idle window more than all else
    if (rewritten) {
        Result<Experiment> now = readExperiment(m_id);
        if (!now)
            return folderRemoved();
        m_experiment = std::move(*now);
        m_stamp = stamp;
    }
    const bool before = m_heldElsewhere;
    lookAtSeat();
    const bool changed = owned != m_owned || rewritten || before != m_heldElsewhere;
    m_owned = owned;
    followRuns();
    if (changed)
        Q_EMIT experimentChanged();
    if (m_experiment.over() && !owned)
        m_poll.stop();
    else if (!m_poll.isActive()) // taken up again
        m_poll.start();
}

/// Those that have begun, each once.
void ExperimentFollower::followRuns() {
    const Result<CommandPrefix> where = prefixFor(m_experiment.host, m_experiment.remoteAgent);
    for (int i = 0; i < int(m_experiment.entries.size()) && where; ++i) {
        const ExperimentEntry &entry = m_experiment.entries[std::size_t(i)];
        const Result<CommandPrefix> prefix = prefixOfAgent0(entry.planned.config, *where);
        if (!prefix)
            continue; // its launch says why
        if (const auto known = m_stores.find(i);
            known != m_stores.end() && known->second->runId().toStdString() != entry.run)
            forget(i);
        // A run that is still launching may be given another id by a second attempt.
        if (entry.run.empty() || m_stores.contains(i) || entry.state == EntryState::Launching)
            continue;
        // A run that was deleted since has nothing to follow.
        if (isOver(entry.state) && prefix->local() && !QFile::exists(QString::fromStdString(runFolder(entry.run).path)))
            continue;
        auto &store = m_stores[i] = std::make_unique<RunStore>(QString::fromStdString(entry.run));
        auto &follower = m_followers[i] =
            std::make_unique<RunFollower>(store.get(), QString::fromStdString(entry.run), *prefix);
        connect(follower.get(), &RunFollower::ended, this, [this, i] {
            m_fetching.erase(i);
            fetchMore();
            Q_EMIT runEnded(i);
        });
        Q_EMIT runAdded(i, store.get());
        if (isOver(entry.state) && !prefix->local())
            m_toFetch.push_back(i);
        else
            follower->start();
    }
    fetchMore();
}

/// Of runs that ended while nobody looked a few at a time.
void ExperimentFollower::fetchMore() {
    while (!m_toFetch.empty() && m_fetching.size() < mostAtOnce) {
        const int entry = m_toFetch.front();
        m_toFetch.pop_front();
        m_fetching.insert(entry);
        m_followers.at(entry)->start();
    }
}

/// Queued again: its earlier run is history, and no longer this entry's.
void ExperimentFollower::forget(int entry) {
    std::erase(m_toFetch, entry);
    m_fetching.erase(entry);
    m_followers.erase(entry); // before the store it feeds
    m_stores.erase(entry);
}

/// What is known stays; what was still to come will not.
void ExperimentFollower::folderRemoved() {
    if (QFile::exists(QString::fromStdString(experimentFolder(m_id).json())) || m_experiment.over())
        return;
    m_owned = false;
    for (ExperimentEntry &entry : m_experiment.entries) {
        const bool goesOn = !entry.run.empty() && QFile::exists(QString::fromStdString(runFolder(entry.run).path));
        if (isOver(entry.state) || goesOn)
            continue;
        entry.state = entry.run.empty() ? EntryState::NotRun : EntryState::Failed;
        entry.reason = "the experiment's folder was removed";
    }
    Q_EMIT experimentChanged();
}

RunStore *ExperimentFollower::store(int entry) const {
    const auto found = m_stores.find(entry);
    return found == m_stores.end() ? nullptr : found->second.get();
}

std::vector<RunStore *> ExperimentFollower::stores() const {
    std::vector<RunStore *> out;
    for (const auto &[entry, store] : m_stores)
        out.push_back(store.get());
    return out;
}

std::vector<RunStore *> ExperimentFollower::currents() const {
    std::vector<RunStore *> out;
    for (const int entry : m_experiment.currents())
        if (RunStore *one = store(entry))
            out.push_back(one);
    return out;
}

RunStore *ExperimentFollower::current() const {
    const std::vector<RunStore *> all = currents();
    return all.empty() ? nullptr : all.front();
}

ExperimentClock ExperimentFollower::clock() const {
    return {[this](int entry) {
                const RunStore *one = store(entry);
                return one && one->result() ? std::optional(one->result()->runTimeS) : std::nullopt;
            },
            [this](int entry) { return store(entry) ? store(entry)->progress().fraction : std::nullopt; },
            [this](int entry) { return store(entry) ? store(entry)->progress().leftS : std::nullopt; }};
}

std::optional<double> ExperimentFollower::progress() const {
    return progressOf(m_experiment, clock());
}

std::optional<double> ExperimentFollower::leftS() const {
    return core::leftS(m_experiment, clock());
}

Result<void> ExperimentFollower::stop(const QString &by) {
    QueueRequest request;
    request.by = by.toStdString();
    return ask(request);
}

Result<void> ExperimentFollower::trace(std::int64_t steps, const QString &by) {
    Result<void> asked = fail(Error::failed("no run of this experiment goes on: no steps follow that could be traced"));
    for (const int now : m_experiment.currents())
        if (const auto follower = m_followers.find(now); follower != m_followers.end())
            if (asked = follower->second->requestTrace(steps, by); !asked)
                return asked;
    return asked;
}

void ExperimentFollower::lookAtSeat() {
    m_holder = controlHolder(m_id);
    m_heldElsewhere = m_holder && !m_holder->isMe() && m_holder->alive();
}

Result<void> ExperimentFollower::control(const QString &by, bool takeOver) {
    const auto sat = takeOver ? takeOverControl(m_id, by.toStdString()) : claimControl(m_id, by.toStdString());
    lookAtSeat();
    Q_EMIT experimentChanged();
    return sat ? Result<void>() : fail(sat.error());
}

Result<void> ExperimentFollower::ask(QueueRequest request) {
    lookAtSeat();
    if (m_heldElsewhere)
        return fail(Error::failed("this window is read-only: " + m_holder->title() + " controls the experiment",
                                  "take over first"));
    if (m_bridge) {
        m_bridge->start(); // of one that was over
        return m_bridge->ask(request);
    }
    if (m_holder)
        request.generation = m_holder->generation;
    return requestQueue(m_id, request);
}

} // namespace lockstep::core
