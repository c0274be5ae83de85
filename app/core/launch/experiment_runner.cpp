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
#include "launch/place_check.h"
#include "launch/queue_origin.h"
#include "launch/slurm/slurm_experiment.h"
#include "store/run_store.h"

namespace lockstep::core {
namespace {

constexpr int queuePollMs = 200;
constexpr int mostAttempts = 5;
constexpr std::size_t mostInterruptions = 3; ///< a run that takes the machine down must not do so for ever

/// Whether a run was refused before its first step.
bool neverTrained(const RunStore &store) {
    return store.epochs().empty() && store.loss().points().empty();
}

} // namespace

ExperimentRunner::ExperimentRunner(QObject *parent) : QObject(parent) {
    m_poll.setInterval(queuePollMs);
    connect(&m_poll, &QTimer::timeout, this, &ExperimentRunner::poll);
}

ExperimentRunner::~ExperimentRunner() = default;

ExperimentRunner::UnderWay::UnderWay() = default;
ExperimentRunner::UnderWay::~UnderWay() {
    follower.reset(); // before the store it feeds
}

Result<void> ExperimentRunner::own(const std::string &experimentId) {
    Result<Experiment> experiment = readExperiment(experimentId);
    if (!experiment)
        return fail(experiment.error());
    if (isSlurmExperiment(experimentId))
        return fail(Error::badArgument("the queue of " + experimentId + " is Slurm's",
                                       "follow it: lockstepctl slurm follow " + experimentId));
    if (const auto origin = queueOriginOf(experimentId))
        return fail(Error::badArgument("the queue of " + experimentId + " lives on " + origin->prefix.host,
                                       "follow it: lockstepctl attach " + experimentId));
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
            stopsCurrents(request, m_experiment).empty()) // meant for an earlier owner
            (void)apply(request, m_experiment);
    return {};
}

void ExperimentRunner::start() {
    m_poll.start();
    const std::vector<int> inherited = m_experiment.currents();
    for (const int entry : inherited) // all, before the first of them can end and make room
        m_underWay[entry].inherited = true;
    for (const int entry : inherited)
        takeUp(entry);
    next();
}

/// A run of an earlier owner's: its agent came up, or never did.
void ExperimentRunner::takeUp(int entry) {
    const bool launched = at(entry).state == EntryState::Running || !prefixOf(at(entry)).local() ||
                          QFile::exists(QString::fromStdString(runFolder(at(entry).run).config()));
    return launched ? follow(entry) : relaunch(entry);
}

void ExperimentRunner::next() {
    if (m_finished || folderGone())
        return;
    while (!m_stopping && !m_refused && !m_experiment.paused() && startNext()) {
    }
    if (!m_underWay.empty())
        return;
    if (m_refused)
        return finish(m_refused->first, m_refused->second);
    if (m_stopping)
        return closeQueue(EntryState::Stopped, QStringLiteral("stopped by ") + m_stoppedBy);
    if (!m_experiment.queued().empty())
        return; // paused
    const auto bad = std::find_if(m_experiment.entries.begin(), m_experiment.entries.end(), [](const auto &entry) {
        return entry.state == EntryState::Failed || entry.state == EntryState::Stopped;
    });
    if (bad == m_experiment.entries.end())
        return finish(0, {});
    finish(bad->state == EntryState::Stopped ? exitStopped : exitFailed,
           QString::fromStdString(bad->planned.name + ": " + bad->reason));
}

/// Where the entry's agent 0 is. A host that can't be one is refused at the launch.
CommandPrefix ExperimentRunner::prefixOf(const ExperimentEntry &entry) const {
    return prefixOfAgent0(entry.planned.config, m_prefix).value_or(m_prefix);
}

/// Launches the first that waits, if there is room for it.
bool ExperimentRunner::startNext() {
    const std::vector<int> queued = m_experiment.queued();
    if (queued.empty() || int(m_underWay.size()) >= m_experiment.sideBySide.runs)
        return false;
    ExperimentEntry &entry = at(queued.front());
    std::vector<RunToPlace> others;
    for (const auto &[other, run] : m_underWay)
        others.emplace_back(at(other).config(), at(other).alone);
    const std::optional<RunConfig> place =
        placeBeside({entry.planned.config, entry.alone}, others, m_experiment.sideBySide);
    if (!place)
        return false;
    entry.placed = *place == entry.planned.config ? std::nullopt : place;
    launch(queued.front());
    return true;
}

void ExperimentRunner::launch(int entry) {
    // The id is on disk before the agent is: whoever takes up the queue finds the run, however early we die.
    at(entry).run = makeRunId();
    UnderWay &run = m_underWay[entry];
    setState(entry, EntryState::Launching);
    if (m_experiment.check && wantsCheck(at(entry).config()) && !wasChecked(at(entry).config(), m_prefix) && !run.check)
        return check(entry);
    if (run.launcher)
        run.launcher.release()->deleteLater(); // this may be its own signal
    run.launcher = std::make_unique<NodesLauncher>();
    connect(run.launcher.get(), &NodesLauncher::ready, this, [this, entry](const QString &id) {
        at(entry).run = id.toStdString();
        setState(entry, EntryState::Running);
        follow(entry);
    });
    connect(run.launcher.get(), &NodesLauncher::failed, this,
            [this, entry](const Error &error, int exitCode) { launchFailed(entry, error, exitCode); });
    LaunchRequest request = requestFor(m_experiment, at(entry));
    if (m_torchReason)
        request.record.torchReason = m_torchReason(at(entry).config());
    run.launcher->start(m_prefix, request);
}

void ExperimentRunner::check(int entry) {
    auto &check = m_underWay[entry].check = std::make_unique<PlaceCheck>();
    connect(check.get(), &PlaceCheck::ended, this,
            [this, entry](const std::optional<Error> &error) { checked(entry, error); });
    Q_EMIT checking(entry);
    check->start(at(entry).config(), m_prefix);
}

void ExperimentRunner::checked(int entry, const std::optional<Error> &error) {
    if (m_stopping)
        return over(entry, EntryState::Stopped, QStringLiteral("stopped by ") + m_stoppedBy);
    if (m_underWay[entry].skipping)
        return over(entry, EntryState::Stopped, QStringLiteral("skipped by ") + m_skippedBy);
    if (!error || m_underWay[entry].check->linkFailed()) // the launch tries a broken link again
        return launch(entry);
    if (error->kind == ErrorKind::BadArgument)
        return refused(entry, *error, exitBadArguments);
    at(entry).run.clear();
    over(entry, EntryState::Failed, QString::fromStdString(error->message()));
}

void ExperimentRunner::relaunch(int entry) {
    if (m_stopping)
        return over(entry, EntryState::Stopped, QStringLiteral("stopped by ") + m_stoppedBy);
    if (++m_underWay[entry].attempts > mostAttempts)
        return over(entry, EntryState::Failed, QStringLiteral("its agent could not be started"));
    launch(entry);
}

void ExperimentRunner::launchFailed(int entry, const Error &error, int exitCode) {
    if (exitCode == AgentLauncher::linkFailed && ++m_underWay[entry].attempts <= mostAttempts) {
        // The link broke: the agent there may have come up or not. Following it tells.
        QTimer::singleShot(1000, this, [this, entry] { follow(entry); });
        return;
    }
    if (exitCode == exitBadArguments || exitCode == AgentLauncher::linkFailed)
        return refused(entry, error, exitBadArguments);
    at(entry).run.clear();
    over(entry, EntryState::Failed, QString::fromStdString(error.message()));
}

void ExperimentRunner::follow(int entry) {
    const QString id = QString::fromStdString(at(entry).run);
    UnderWay &run = m_underWay[entry];
    run.store = std::make_unique<RunStore>(id);
    run.follower = std::make_unique<RunFollower>(run.store.get(), id, prefixOf(at(entry)));
    run.follower->setOwnsQueue(true);
    connect(run.follower.get(), &RunFollower::ended, this, [this, entry] {
        QTimer::singleShot(0, this, [this, entry] { ended(entry); }); // not from inside the follower
    });
    connect(run.store.get(), &RunStore::changed, this, [this, entry, store = run.store.get()](RunStore::Changes what) {
        if ((what & RunStore::Link) && store->link() == LinkState::Live && at(entry).state == EntryState::Launching)
            setState(entry, EntryState::Running);
    });
    Q_EMIT runStarted(entry, run.store.get());
    run.follower->start();
    if (m_stopping)
        stopRun(entry, m_stoppedBy);
    else if (run.skipping)
        stopRun(entry, m_skippedBy);
}

void ExperimentRunner::ended(int entry) {
    const auto found = m_underWay.find(entry);
    if (found == m_underWay.end() || !found->second.follower)
        return;
    UnderWay &run = found->second;
    run.follower.release()->deleteLater();
    const LinkState link = run.store->link();
    const std::optional<RunResult> result = run.store->result();
    const QString sentence = run.store->linkSentence();
    const bool untrained = neverTrained(*run.store);
    if (link == LinkState::Failed && at(entry).state == EntryState::Launching) {
        Q_EMIT runFinished(entry);
        run.store.reset();
        return relaunch(entry); // no such run there
    }
    if (result && result->exitCode == exitBadArguments && untrained) {
        Q_EMIT runFinished(entry);
        run.store.reset();
        if (prefixOf(at(entry)).local()) { // a refusal is no run
            std::error_code ignored;
            std::filesystem::remove_all(runFolder(at(entry).run).path, ignored);
        }
        return refused(entry, Error{result->reason, {}, ErrorKind::BadArgument, {}}, exitBadArguments);
    }
    if (!result && link == LinkState::AgentDied && run.inherited && !m_stopping) {
        Q_EMIT runFinished(entry);
        run.store.reset();
        return interrupted(entry);
    }
    EntryState state = EntryState::Failed;
    QString reason = link == LinkState::AgentDied ? QStringLiteral("agent died") : sentence;
    if (result) {
        state = result->state == RunState::Done      ? EntryState::Done
                : result->state == RunState::Stopped ? EntryState::Stopped
                                                     : EntryState::Failed;
        reason = state == EntryState::Done ? QString() : QString::fromStdString(result->reason);
    }
    if (run.skipping && state != EntryState::Done) {
        state = EntryState::Stopped;
        reason = QStringLiteral("skipped by ") + m_skippedBy;
    }
    setState(entry, state, reason);
    Q_EMIT runFinished(entry);
    m_underWay.erase(entry);
    next();
}

/// Before anything of it was followed, or after.
void ExperimentRunner::over(int entry, EntryState state, const QString &reason) {
    if (const auto found = m_underWay.find(entry); found != m_underWay.end()) {
        if (found->second.launcher)
            found->second.launcher.release()->deleteLater(); // this may be its own signal
        if (found->second.check)
            found->second.check.release()->deleteLater(); // likewise
        m_underWay.erase(found);
    }
    setState(entry, state, reason);
    next();
}

/// The machine went down under the run, and under its queue's owner with it: the run is made again, its torso kept.
void ExperimentRunner::interrupted(int entry) {
    m_underWay[entry].inherited = false;
    ExperimentEntry &one = at(entry);
    if (one.earlierRuns.size() >= mostInterruptions)
        return over(entry, EntryState::Failed, QStringLiteral("interrupted %1 times").arg(one.earlierRuns.size() + 1));
    one.earlierRuns.push_back(one.run);
    one.run.clear();
    m_underWay[entry].attempts = 0;
    launch(entry);
}

/// What one is refused for would be so of the others, or is a mistake to be mended first. Runs that go on end by themselves.
void ExperimentRunner::refused(int entry, const Error &error, int exitCode) {
    if (!m_refused)
        m_refused.emplace(exitCode, QString::fromStdString(error.message()));
    at(entry).run.clear();
    for (ExperimentEntry &other : m_experiment.entries)
        if (other.state == EntryState::Queued) {
            other.state = EntryState::NotRun;
            other.reason = "not run: " + at(entry).planned.name + " was refused";
        }
    over(entry, EntryState::Failed, QString::fromStdString(error.message()));
}

void ExperimentRunner::closeQueue(EntryState state, const QString &reason) {
    for (ExperimentEntry &entry : m_experiment.entries)
        if (!isOver(entry.state)) {
            entry.state = state;
            entry.reason = reason.toStdString();
        }
    save();
    finish(exitStopped, reason);
}

void ExperimentRunner::stop(const QString &by) {
    m_stopping = true;
    m_stoppedBy = by;
    if (m_finished)
        return;
    if (m_underWay.empty())
        return next();
    for (const auto &[entry, run] : m_underWay)
        stopRun(entry, by);
}

void ExperimentRunner::stopRun(int entry, const QString &by) {
    const auto found = m_underWay.find(entry);
    if (found != m_underWay.end() && found->second.check && !found->second.launcher)
        return found->second.check->stop(); // checked() follows
    if (m_finished || found == m_underWay.end() || !found->second.follower)
        return; // the launcher's answer leads to follow(), which stops
    if (const Result<void> asked = found->second.follower->requestStop(by); !asked) {
        logWarning(asked.error().message());
        QTimer::singleShot(1000, this, [this, entry, by] { stopRun(entry, by); }); // starting or reconnecting
    }
}

void ExperimentRunner::take(const QueueRequest &request) {
    const std::optional<ControlHolder> holder = controlHolder(m_experiment.id);
    if (request.generation && holder && *request.generation < holder->generation)
        return logWarning(std::string(toString(request.kind)) + " asked by " + request.by +
                          " was refused: " + holder->title() + " holds control");
    if (request.kind == QueueRequest::Kind::Stop)
        return stop(QString::fromStdString(request.by));
    const std::vector<int> stopped = stopsCurrents(request, m_experiment);
    if (const Result<void> applied = apply(request, m_experiment); !applied)
        return logWarning(applied.error().message());
    save();
    for (const int entry : stopped) {
        m_underWay[entry].skipping = true;
        m_skippedBy = QString::fromStdString(request.by);
        stopRun(entry, m_skippedBy);
    }
    if (stopped.empty())
        next(); // resumed, queued again, or the last one skipped
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
    for (const int current : m_experiment.currents())
        if (const std::string &run = at(current).run;
            !run.empty() && QFile::exists(QString::fromStdString(runFolder(run).path)))
            sentence +=
                QStringLiteral("; run %1 goes on by itself: lockstepctl attach %1").arg(QString::fromStdString(run));
    finish(1, sentence);
    return true;
}

void ExperimentRunner::setState(int entry, EntryState state, const QString &reason) {
    ExperimentEntry &one = at(entry);
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
