// SPDX-License-Identifier: MIT
#include "queue/experiment_follower.h"

#include <QFile>

#include "follow/run_follower.h"
#include "ipc/logging.h"
#include "queue/queue_bridge.h"
#include "store/run_store.h"

namespace lockstep::core {
namespace {

constexpr int pollMs = 500; // rename replaces the watched file, and ownership shows in no file at all

} // namespace

ExperimentFollower::ExperimentFollower(QObject *parent) : QObject(parent) {
    m_poll.setInterval(pollMs);
    connect(&m_poll, &QTimer::timeout, this, &ExperimentFollower::reread);
    connect(&m_watcher, &QFileSystemWatcher::fileChanged, this, &ExperimentFollower::reread);
    connect(&m_watcher, &QFileSystemWatcher::directoryChanged, this, &ExperimentFollower::reread);
    connect(&m_runs, &FollowedRuns::added, this, &ExperimentFollower::runAdded);
    connect(&m_runs, &FollowedRuns::ended, this, &ExperimentFollower::runEnded);
}

ExperimentFollower::~ExperimentFollower() = default;

Result<void> ExperimentFollower::open(const std::string &experimentId) {
    std::string stamp = experimentStamp(experimentId);
    const Result<Experiment> experiment = readExperiment(experimentId);
    if (!experiment)
        return fail(experiment.error());
    m_id = experimentId;
    m_stamp = std::move(stamp);
    m_runs.clear();
    m_bridge.reset();
    m_experiment = *experiment;
    m_owned = isOwned(m_id);
    if (const auto origin = queueOriginOf(m_id)) {
        bridge(*origin);
        Q_EMIT experimentChanged();
        m_runs.follow(m_experiment); // as far as they were known at the last snapshot
        return {};
    }
    watch();
    if (!m_experiment.over())
        m_poll.start();
    Q_EMIT experimentChanged();
    reread();
    return {};
}

/// The copy of a finished queue is final until somebody makes a request.
void ExperimentFollower::bridge(const QueueOrigin &origin) {
    m_bridge = std::make_unique<QueueBridge>(m_id, origin);
    connect(m_bridge.get(), &QueueBridge::seen, this, &ExperimentFollower::take);
    connect(m_bridge.get(), &QueueBridge::stateChanged, this, &ExperimentFollower::experimentChanged);
    connect(m_bridge.get(), &QueueBridge::refused, this, &ExperimentFollower::refused);
    readControl();
    if (m_experiment.over())
        return;
    m_bridge->start();
    m_poll.start(); // for changes of control
}

void ExperimentFollower::take(const QueueSnapshot &snapshot) {
    m_experiment = snapshot.experiment;
    m_owned = snapshot.owned;
    m_runs.follow(m_experiment);
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
        readControl();
        if (was != m_heldElsewhere)
            Q_EMIT experimentChanged();
        return;
    }
    const bool owned = isOwned(m_id);
    const std::string stamp = experimentStamp(m_id);
    const bool rewritten = stamp != m_stamp; // reading the file at every poll would dominate an idle window's CPU time
    if (rewritten) {
        Result<Experiment> now = readExperiment(m_id);
        if (!now)
            return folderRemoved();
        m_experiment = std::move(*now);
        m_stamp = stamp;
    }
    const bool before = m_heldElsewhere;
    readControl();
    const bool changed = owned != m_owned || rewritten || before != m_heldElsewhere;
    m_owned = owned;
    m_runs.follow(m_experiment);
    if (changed)
        Q_EMIT experimentChanged();
    if (m_experiment.over() && !owned && !m_heldElsewhere) // that its holder has ended shows in no file
        m_poll.stop();
    else if (!m_poll.isActive()) // resumed
        m_poll.start();
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

std::optional<double> ExperimentFollower::progress() const {
    return progressOf(m_experiment, m_runs.clock());
}

std::optional<double> ExperimentFollower::leftS() const {
    return core::leftS(m_experiment, m_runs.clock());
}

Asked ExperimentFollower::stop(const QString &by) {
    QueueRequest request;
    request.by = by.toStdString();
    return ask(request);
}

Asked ExperimentFollower::trace(std::int64_t steps, const QString &by) {
    const auto request = [&](RunFollower &run) { return run.requestTrace(steps, by); };
    return m_runs.ask(m_experiment.currents(), request, "there are no steps to trace");
}

Asked ExperimentFollower::stacks(const QString &by) {
    return m_runs.ask(
        m_experiment.currents(), [&](RunFollower &run) { return run.requestStacks(by); }, "no rank is anywhere");
}

void ExperimentFollower::readControl() {
    m_holder = controlHolder(m_id);
    m_heldElsewhere = m_holder && !m_holder->isMe() && m_holder->alive();
}

Result<void> ExperimentFollower::claim(const QString &by) {
    const Result<ControlHolder> sat = claimControl(m_id, by.toStdString());
    readControl();
    Q_EMIT experimentChanged();
    return sat ? Result<void>() : fail(sat.error());
}

Asked ExperimentFollower::takeOver(const QString &by) {
    Asked asked = takeOverControl(m_id, by.toStdString());
    const auto refresh = [this] {
        readControl();
        Q_EMIT experimentChanged();
    };
    if (asked && *asked)
        connect(asked->get(), &Request::finished, this, refresh);
    else
        refresh();
    return asked;
}

Asked ExperimentFollower::ask(QueueRequest request) {
    readControl();
    if (m_heldElsewhere)
        return fail(Error::failed("this window is read-only: " + m_holder->title() + " controls the experiment",
                                  "take over first"));
    if (m_bridge) {
        m_bridge->start(); // resumes following a finished queue
        return m_bridge->ask(request);
    }
    if (m_changing && !m_changing->over())
        return fail(Error::failed("the queue is being changed: a run has not answered its stop request yet",
                                  "try again when it has"));
    if (m_holder)
        request.generation = m_holder->generation;
    Asked asked = askQueue(m_id, request);
    if (asked)
        m_changing = asked->get();
    return asked;
}

} // namespace lockstep::core

#include "moc_experiment_follower.cpp"
