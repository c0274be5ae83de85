// SPDX-License-Identifier: MIT
#include "queue/queue_run.h"

#include <algorithm>
#include <utility>

#include "follow/agent_control.h"
#include "follow/run_follower.h"
#include "ipc/file_system.h"
#include "ipc/logging.h"
#include "launch/agent_launcher.h"
#include "launch/nodes_launcher.h"
#include "launch/place_check.h"
#include "store/run_failure.h"
#include "store/run_index.h"
#include "store/run_store.h"

namespace lockstep::core {
namespace {

constexpr int mostAttempts = 5;

} // namespace

QueueRun::QueueRun(std::string experiment, QObject *parent) : QObject(parent), m_experiment(std::move(experiment)) {
    connect(&m_wait, &ReachWait::again, this, &QueueRun::launchAgain);
    m_trainsOn.setInterval(1000);
    m_trainsOn.setSingleShot(true);
    connect(&m_trainsOn, &QTimer::timeout, this, &QueueRun::followed);
}

QueueRun::~QueueRun() = default;

void QueueRun::launch(const CommandPrefix &where, const LaunchRequest &request, Care care) {
    m_where = where;
    m_request = request;
    m_care = care;
    const RunConfig config = request.record.config.value_or(RunConfig());
    if (m_check || !care.check || !wantsCheck(config) || wasChecked(config, where))
        return startLauncher();
    Q_EMIT checking();
    m_check = std::make_unique<PlaceCheck>();
    connect(m_check.get(), &PlaceCheck::ended, this, &QueueRun::checked);
    m_check->start(config, where);
}

void QueueRun::checked(const std::optional<Error> &error) {
    if (m_stopBy)
        return Q_EMIT stopped();
    if (!error || m_check->linkFailed()) // the launch tries a broken link again
        return startLauncher();
    if (error->kind == ErrorKind::BadArgument)
        return Q_EMIT refused(*error);
    Q_EMIT failed(QString::fromStdString(error->message()));
}

void QueueRun::startLauncher() {
    if (m_launcher)
        m_launcher.release()->deleteLater(); // this may run inside its signal
    m_launcher = std::make_unique<NodesLauncher>();
    connect(m_launcher.get(), &NodesLauncher::ready, this, &QueueRun::launched);
    connect(m_launcher.get(), &NodesLauncher::failed, this, &QueueRun::launchFailed);
    m_launcher->start(m_where, m_request);
}

void QueueRun::launchFailed(const Error &error, int exitCode) {
    if (exitCode == AgentLauncher::linkFailed && ++m_attempts <= mostAttempts) {
        m_lostLinks = 0;
        if (!m_care.reached(m_launcher->unreached()) &&
            !wasChecked(m_request.record.config.value_or(RunConfig()), m_where))
            m_unreached = error;
        QTimer::singleShot(1000, this, &QueueRun::mayRun);
        return;
    }
    const bool isAway = exitCode == NodesLauncher::nodeUnreachable;
    if (isAway && m_stopBy)
        return Q_EMIT stopped();
    if (isAway && waitUntilReached(error))
        return;
    if (isAway || exitCode == exitBadArguments || exitCode == AgentLauncher::linkFailed)
        return Q_EMIT refused(error);
    Q_EMIT failed(QString::fromStdString(error.message()));
}

/// A node that was reached before restarts, or its network is down. Before the first run its name may be wrong, which a person
/// should know at once.
bool QueueRun::waitUntilReached(const Error &error) {
    const bool first = m_wait.first();
    if (!m_care.reached(m_launcher->unreached()) || !m_wait.next())
        return false;
    const QString sentence =
        QString::fromStdString(error.what) + QStringLiteral("; it is tried again until ") + m_wait.until();
    if (first)
        logWarning(m_request.record.name + " waits: " + sentence.toStdString());
    Q_EMIT waits(sentence);
    return true;
}

void QueueRun::notThere() {
    if (m_stopBy)
        return Q_EMIT stopped();
    if (neverReached())
        return Q_EMIT refused(*m_unreached);
    m_unreached.reset(); // its host has answered
    if (++m_attempts > mostAttempts)
        return Q_EMIT failed(QStringLiteral("its agent could not be started"));
    Q_EMIT launchAgain();
}

bool QueueRun::neverReached() const {
    return m_unreached && m_lostLinks >= mostAttempts;
}

RunStore *QueueRun::follow(const std::string &run, const CommandPrefix &agent0) {
    const QString id = QString::fromStdString(run);
    m_trainsOn.stop();
    m_agent0 = agent0;
    m_follower.reset();
    m_store = std::make_unique<RunStore>(id);
    m_follower = std::make_unique<RunFollower>(m_store.get(), id, agent0);
    m_follower->setOwnsQueue(true);
    connect(
        m_follower.get(), &RunFollower::ended, this,
        [this] {
            if (m_follower)
                followed();
        },
        Qt::QueuedConnection); // the follower may be deleted then
    connect(m_store.get(), &RunStore::changed, this, [this](RunStore::Changes what) {
        if (!(what & RunStore::Link))
            return;
        if (m_store->lifecycle().link() == LinkState::Lost)
            return lostAgain();
        if (m_store->lifecycle().link() != LinkState::Live)
            return;
        m_unreached.reset();
        Q_EMIT live();
    });
    return m_store.get();
}

void QueueRun::startFollowing() {
    m_follower->start();
    if (m_stopBy)
        stop(*m_stopBy);
}

/// A link that has stood may come back at any time. Where none has, following it would never end.
void QueueRun::lostAgain() {
    if (!m_unreached || ++m_lostLinks != mostAttempts)
        return;
    QTimer::singleShot(0, this, [this] { // the store and its follower may be deleted then
        if (m_follower && neverReached())
            Q_EMIT ended();
    });
}

/// A run here that can't be followed may train on, and none starts on top of it.
void QueueRun::followed() {
    if (m_store->lifecycle().link() == LinkState::Failed && m_agent0.local() &&
        readRunStatus(runFolder(m_follower->runId().toStdString())).kind == RunStatus::Kind::Running)
        return m_trainsOn.start();
    Q_EMIT ended();
}

void QueueRun::forget() {
    m_trainsOn.stop();
    m_follower.reset();
    m_store.reset();
}

void QueueRun::stop(const QString &by) {
    m_stopBy = by;
    if (m_wait.cancel())
        return Q_EMIT stopped();
    if (m_check && !m_launcher)
        return m_check->stop();
    if (!m_follower)
        return;
    if (const std::optional<RunRecord> &record = m_store->record(); record && record->experiment != m_experiment)
        return Q_EMIT ended();
    const auto answered = [this, by](const Result<void> &result) {
        if (result)
            return;
        if (const std::string why = result.error().message(); m_notStopped != why)
            logWarning(m_notStopped = why);
        QTimer::singleShot(1000, this, [this, by] { stop(by); }); // it is starting, or its link is being restored
    };
    Asked asked = m_trainsOn.isActive()
                      ? askToStop(m_agent0, m_follower->runId().toStdString(), by.toStdString(), m_experiment)
                      : m_follower->requestStop(by, m_experiment);
    if (!asked)
        return answered(fail(asked.error()));
    if (!*asked)
        return;
    connect(asked->get(), &Request::finished, this, [answered, stop = asked->get()] { answered(stop->result()); });
    std::erase_if(m_stops, [](const std::unique_ptr<Request> &stop) { return stop->over(); });
    m_stops.push_back(std::move(*asked));
}

EntryEnd entryEndOf(const RunResult &result) {
    if (result.state == RunState::Done)
        return {EntryState::Done, {}};
    return {result.state == RunState::Stopped ? EntryState::Stopped : EntryState::Failed,
            QString::fromStdString(result.reason)};
}

EntryEnd entryEndOf(const RunStore &store) {
    if (const std::optional<RunResult> &result = store.result())
        return entryEndOf(*result);
    const bool died = store.lifecycle().link() == LinkState::AgentDied;
    return {EntryState::Failed, died ? QString::fromStdString(deathReason(store)) : store.lifecycle().linkSentence()};
}

void takeEndsWithoutOwner(Experiment &experiment) {
    const std::vector<int> currents = experiment.currents();
    if (currents.empty() || isOwned(experiment.id))
        return;
    for (const int current : currents) {
        ExperimentEntry &entry = experiment.entries[std::size_t(current)];
        if (entry.run.empty() || notItsRun(experiment, entry))
            continue;
        const RunStatus status = readRunStatus(runFolder(entry.run));
        if (status.kind == RunStatus::Kind::AgentDied)
            entry.reason = "its agent died";
        if (!status.result)
            continue;
        const EntryEnd end = entryEndOf(*status.result);
        entry.state = end.state;
        entry.reason = end.reason.toStdString();
    }
}

void takeEndsWithoutOwner(Experiment &experiment, const std::map<std::string, const IndexedRun *> &runs) {
    const std::vector<int> currents = experiment.currents();
    if (currents.empty() || isOwned(experiment.id))
        return;
    for (const int current : currents) {
        ExperimentEntry &entry = experiment.entries[std::size_t(current)];
        const auto run = runs.find(entry.run);
        if (run == runs.end() || run->second->experiment != experiment.id)
            continue;
        const std::optional<EntryState> state = entryStateFrom(run->second->state);
        if (!state || !isOver(*state) || !isThere(runFolder(entry.run).result())) // without a result its agent died
            continue;
        entry.state = *state;
        entry.reason = run->second->reason;
    }
}

bool refusedToTrain(const RunStore &store) {
    return store.result() && store.result()->exitCode == exitBadArguments && store.epochs().merged().empty() &&
           store.losses().all().points().empty();
}

} // namespace lockstep::core

#include "moc_queue_run.cpp"
