#include "launch/experiment_runner.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <QFile>

#include "follow/control_seat.h"
#include "follow/run_follower.h"
#include "ipc/file_system.h"
#include "ipc/logging.h"
#include "launch/agent_launcher.h"
#include "launch/nodes_launcher.h"
#include "launch/slurm/slurm_experiment.h"
#include "store/run_store.h"

namespace lockstep::core {
namespace {

constexpr int pollMs = 200;
constexpr int mostAttempts = 5;
constexpr std::size_t mostInterruptions = 3; ///< a run that takes the machine down must not do so for ever
constexpr int badArguments = 2, stoppedCode = 130;

/// Whether a run was refused before its first step.
bool neverTrained(const RunStore &store) {
    return store.epochs().empty() && store.loss().points().empty();
}

} // namespace

ExperimentRunner::ExperimentRunner(QObject *parent) : QObject(parent) {
    m_poll.setInterval(pollMs);
    connect(&m_poll, &QTimer::timeout, this, &ExperimentRunner::poll);
}

ExperimentRunner::~ExperimentRunner() {
    m_follower.reset(); // before the store it feeds
}

Result<void> ExperimentRunner::own(const std::string &experimentId) {
    Result<Experiment> experiment = readExperiment(experimentId);
    if (!experiment)
        return fail(experiment.error());
    if (isSlurmExperiment(experimentId))
        return fail(Error::badArgument("the queue of " + experimentId + " is Slurm's",
                                       "follow it: lockstepctl slurm follow " + experimentId));
    Result<FileLock> lock = FileLock::acquire(experimentFolder(experimentId).lock());
    if (!lock)
        return fail(Error::failed("the queue of " + experimentId + " has an owner: " + lock.error().what,
                                  "follow it: lockstepctl attach " + experimentId));
    m_lock = std::move(*lock);
    m_folder = HeldFolder(experimentFolder(experimentId).path);
    experiment = readExperiment(experimentId); // as it is under the lock
    if (!experiment)
        return fail(experiment.error());
    m_experiment = std::move(*experiment);
    const Result<CommandPrefix> prefix = prefixFor(m_experiment.host, m_experiment.remoteAgent);
    if (!prefix)
        return fail(prefix.error());
    m_prefix = *prefix;
    for (const QueueRequest &request : takeRequests(experimentFolder(experimentId)))
        if (request.kind != QueueRequest::Kind::Stop &&
            !stopsCurrent(request, m_experiment)) // meant for an earlier owner
            (void)apply(request, m_experiment);
    m_inherited = m_experiment.current();
    return {};
}

void ExperimentRunner::start() {
    m_poll.start();
    next();
}

void ExperimentRunner::next() {
    if (m_finished || folderGone())
        return;
    m_attempts = 0;
    if (m_stopping)
        return closeQueue(EntryState::Stopped, QStringLiteral("stopped by ") + m_stoppedBy);
    if (const std::optional<int> current = m_experiment.current()) { // an earlier owner's
        const ExperimentEntry &entry = m_experiment.entries[std::size_t(*current)];
        const bool launched = entry.state == EntryState::Running || !prefixOf(entry).local() ||
                              QFile::exists(QString::fromStdString(runFolder(entry.run).config()));
        return launched ? follow(*current) : relaunch(*current);
    }
    if (const std::vector<int> queued = m_experiment.queued(); !queued.empty()) {
        if (!m_experiment.paused())
            launch(queued.front());
        return;
    }
    const auto bad = std::find_if(m_experiment.entries.begin(), m_experiment.entries.end(), [](const auto &entry) {
        return entry.state == EntryState::Failed || entry.state == EntryState::Stopped;
    });
    if (bad == m_experiment.entries.end())
        return finish(0, {});
    finish(bad->state == EntryState::Stopped ? stoppedCode : 1,
           QString::fromStdString(bad->planned.name + ": " + bad->reason));
}

/// Where the entry's agent 0 is. A host that can't be one is refused at the launch.
CommandPrefix ExperimentRunner::prefixOf(const ExperimentEntry &entry) const {
    return prefixOfAgent0(entry.planned.config, m_prefix).value_or(m_prefix);
}

void ExperimentRunner::launch(int entry) {
    // The id is on disk before the agent is: whoever takes up the queue finds the run, however early we die.
    m_experiment.entries[std::size_t(entry)].run = makeRunId();
    setState(entry, EntryState::Launching);
    m_launcher = std::make_unique<NodesLauncher>();
    connect(m_launcher.get(), &NodesLauncher::ready, this, [this, entry](const QString &run) {
        m_experiment.entries[std::size_t(entry)].run = run.toStdString();
        setState(entry, EntryState::Running);
        follow(entry);
    });
    connect(m_launcher.get(), &NodesLauncher::failed, this,
            [this, entry](const Error &error, int exitCode) { launchFailed(entry, error, exitCode); });
    m_launcher->start(m_prefix, requestFor(m_experiment, m_experiment.entries[std::size_t(entry)]));
}

void ExperimentRunner::relaunch(int entry) {
    if (m_stopping)
        return next();
    if (++m_attempts > mostAttempts) {
        setState(entry, EntryState::Failed, QStringLiteral("its agent could not be started"));
        return next();
    }
    launch(entry);
}

void ExperimentRunner::launchFailed(int entry, const Error &error, int exitCode) {
    if (exitCode == AgentLauncher::linkFailed && ++m_attempts <= mostAttempts) {
        // The link broke: the agent there may have come up or not. Following it tells.
        QTimer::singleShot(1000, this, [this, entry] { follow(entry); });
        return;
    }
    if (exitCode == badArguments || exitCode == AgentLauncher::linkFailed)
        return refused(entry, error, badArguments);
    m_experiment.entries[std::size_t(entry)].run.clear();
    setState(entry, EntryState::Failed, QString::fromStdString(error.message()));
    next();
}

void ExperimentRunner::follow(int entry) {
    const QString run = QString::fromStdString(m_experiment.entries[std::size_t(entry)].run);
    m_store = std::make_unique<RunStore>(run);
    m_follower = std::make_unique<RunFollower>(m_store.get(), run, prefixOf(m_experiment.entries[std::size_t(entry)]));
    m_follower->setOwnsQueue(true);
    connect(m_follower.get(), &RunFollower::ended, this, [this, entry] {
        QTimer::singleShot(0, this, [this, entry] { ended(entry); }); // not from inside the follower
    });
    connect(m_store.get(), &RunStore::changed, this, [this, entry](RunStore::Changes what) {
        if ((what & RunStore::Link) && m_store->link() == LinkState::Live &&
            m_experiment.entries[std::size_t(entry)].state == EntryState::Launching)
            setState(entry, EntryState::Running);
    });
    Q_EMIT runStarted(entry, m_store.get());
    m_follower->start();
    if (m_stopping)
        stop(m_stoppedBy);
    else if (m_skipping == entry)
        stopCurrent(m_skippedBy);
}

void ExperimentRunner::ended(int entry) {
    if (!m_follower)
        return;
    m_follower.release()->deleteLater();
    const LinkState link = m_store->link();
    const std::optional<RunResult> result = m_store->result();
    const QString sentence = m_store->linkSentence();
    const bool untrained = neverTrained(*m_store);
    const EntryState before = m_experiment.entries[std::size_t(entry)].state;
    if (link == LinkState::Failed && before == EntryState::Launching) {
        Q_EMIT runFinished(entry);
        m_store.reset();
        return relaunch(entry); // no such run there
    }
    if (result && result->exitCode == badArguments && untrained) {
        Q_EMIT runFinished(entry);
        m_store.reset();
        if (prefixOf(m_experiment.entries[std::size_t(entry)]).local()) { // a refusal is no run
            std::error_code ignored;
            std::filesystem::remove_all(runFolder(m_experiment.entries[std::size_t(entry)].run).path, ignored);
        }
        return refused(entry, Error{result->reason, {}, ErrorKind::BadArgument, {}}, badArguments);
    }
    if (!result && link == LinkState::AgentDied && m_inherited == entry && !m_stopping) {
        Q_EMIT runFinished(entry);
        m_store.reset();
        return interrupted(entry);
    }
    m_inherited.reset();
    if (!result)
        setState(entry, EntryState::Failed, link == LinkState::AgentDied ? QStringLiteral("agent died") : sentence);
    else if (result->state == RunState::Done)
        setState(entry, EntryState::Done);
    else
        setState(entry, result->state == RunState::Stopped ? EntryState::Stopped : EntryState::Failed,
                 QString::fromStdString(result->reason));
    if (std::exchange(m_skipping, std::nullopt) == entry &&
        m_experiment.entries[std::size_t(entry)].state != EntryState::Done)
        setState(entry, EntryState::Stopped, QStringLiteral("skipped by ") + m_skippedBy);
    Q_EMIT runFinished(entry);
    m_store.reset();
    next();
}

/// The machine went down under the run, and under its queue's owner with it: the run is made again, its torso kept.
void ExperimentRunner::interrupted(int entry) {
    m_inherited.reset();
    ExperimentEntry &one = m_experiment.entries[std::size_t(entry)];
    if (one.earlierRuns.size() >= mostInterruptions) {
        setState(entry, EntryState::Failed, QStringLiteral("interrupted %1 times").arg(one.earlierRuns.size() + 1));
        return next();
    }
    one.earlierRuns.push_back(one.run);
    one.run.clear();
    m_attempts = 0;
    launch(entry);
}

void ExperimentRunner::refused(int entry, const Error &error, int exitCode) {
    const QString sentence = QString::fromStdString(error.message());
    m_experiment.entries[std::size_t(entry)].run.clear();
    m_experiment.entries[std::size_t(entry)].state = EntryState::Failed;
    m_experiment.entries[std::size_t(entry)].reason = error.message();
    for (ExperimentEntry &other : m_experiment.entries)
        if (!isOver(other.state)) {
            other.state = EntryState::NotRun;
            other.reason = "not run: " + m_experiment.entries[std::size_t(entry)].planned.name + " was refused";
        }
    save();
    finish(exitCode, sentence);
}

void ExperimentRunner::closeQueue(EntryState state, const QString &reason) {
    for (ExperimentEntry &entry : m_experiment.entries)
        if (!isOver(entry.state)) {
            entry.state = state;
            entry.reason = reason.toStdString();
        }
    save();
    finish(stoppedCode, reason);
}

void ExperimentRunner::stop(const QString &by) {
    m_stopping = true;
    m_stoppedBy = by;
    if (m_finished)
        return;
    if (!m_follower) {
        if (!m_launcher || !m_experiment.current())
            next();
        return; // the launcher's answer leads to follow(), which stops
    }
    stopCurrent(by);
}

void ExperimentRunner::stopCurrent(const QString &by) {
    const std::optional<int> entry = m_experiment.current();
    if (!m_follower || !entry)
        return; // the launcher's answer leads to follow(), which stops
    if (const Result<void> asked = m_follower->requestStop(by); !asked) {
        logWarning(asked.error().message());
        askAgain(*entry, by); // starting or reconnecting
    }
}

void ExperimentRunner::askAgain(int entry, const QString &by) {
    QTimer::singleShot(1000, this, [this, entry, by] {
        if (m_follower && !m_finished && m_experiment.current() == entry)
            stopCurrent(by);
    });
}

void ExperimentRunner::take(const QueueRequest &request) {
    const std::optional<ControlHolder> holder = controlHolder(m_experiment.id);
    if (request.generation && holder && *request.generation < holder->generation)
        return logWarning(std::string(toString(request.kind)) + " asked by " + request.by +
                          " was refused: " + holder->title() + " holds control");
    if (request.kind == QueueRequest::Kind::Stop)
        return stop(QString::fromStdString(request.by));
    const std::optional<int> current = m_experiment.current();
    const bool stops = stopsCurrent(request, m_experiment);
    if (const Result<void> applied = apply(request, m_experiment); !applied)
        return logWarning(applied.error().message());
    save();
    if (stops) {
        m_skipping = current;
        m_skippedBy = QString::fromStdString(request.by);
        stopCurrent(m_skippedBy);
    } else if (!current) {
        next(); // resumed, queued again, or the last one skipped
    }
}

void ExperimentRunner::poll() {
    if (folderGone())
        return;
    for (const QueueRequest &request : takeRequests(experimentFolder(m_experiment.id)))
        take(request);
}

/// A queue whose folder was removed is at its end: nothing is written in its place, no further run is started. A run that
/// is under way has an agent of its own, which knows what to do.
bool ExperimentRunner::folderGone() {
    if (!m_folder.gone())
        return false;
    QString sentence = QStringLiteral("the experiment's folder %1 was removed: its queue has ended")
                           .arg(QString::fromStdString(m_folder.path()));
    if (const std::optional<int> current = m_experiment.current())
        if (const std::string &run = m_experiment.entries[std::size_t(*current)].run;
            !run.empty() && QFile::exists(QString::fromStdString(runFolder(run).path)))
            sentence +=
                QStringLiteral("; run %1 goes on by itself: lockstepctl attach %1").arg(QString::fromStdString(run));
    finish(1, sentence);
    return true;
}

void ExperimentRunner::setState(int entry, EntryState state, const QString &reason) {
    ExperimentEntry &one = m_experiment.entries[std::size_t(entry)];
    one.state = state;
    one.reason = reason.toStdString();
    save();
}

void ExperimentRunner::save() {
    if (m_folder.gone())
        return; // said by the next look
    if (const Result<void> written = writeExperiment(m_experiment); !written)
        logError("the queue's state can't be written: " + written.error().message());
    Q_EMIT experimentChanged();
}

void ExperimentRunner::discard() {
    std::error_code ignored;
    std::filesystem::remove_all(experimentFolder(m_experiment.id).path, ignored);
}

void ExperimentRunner::finish(int exitCode, const QString &sentence) {
    if (m_finished)
        return;
    m_finished = true;
    m_exitCode = exitCode;
    m_sentence = sentence;
    m_poll.stop();
    QTimer::singleShot(0, this, [this] { Q_EMIT finished(m_exitCode); });
}

} // namespace lockstep::core
