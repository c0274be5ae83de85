// SPDX-License-Identifier: MIT
#include "queue/experiment_runner.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include <QFile>

#include "experiment/more_rounds.h"
#include "ipc/file_system.h"
#include "ipc/logging.h"
#include "queue/control_seat.h"
#include "queue/taking_turns.h"
#include "store/run_store.h"

namespace lockstep::core {
namespace {

constexpr int queuePollMs = 200;
constexpr int mostInterruptions = 3; ///< a run that takes the machine down is not repeated for ever

QString stoppedWords(const QString &by) {
    return QStringLiteral("stopped by ") + by;
}

QString skippedWords(const QString &by) {
    return QStringLiteral("skipped by ") + by;
}

} // namespace

ExperimentRunner::ExperimentRunner(QObject *parent) : QObject(parent) {
    m_poll.setInterval(queuePollMs);
    connect(&m_poll, &QTimer::timeout, this, &ExperimentRunner::poll);
}

ExperimentRunner::~ExperimentRunner() = default;

Result<void> ExperimentRunner::own(const std::string &experimentId) {
    Result<OwnedExperiment> owned = OwnedExperiment::own(experimentId);
    if (!owned)
        return fail(owned.error());
    m_queue = std::move(*owned);
    return {};
}

ExperimentRunner::UnderWay &ExperimentRunner::underWay(int entry) {
    UnderWay &one = m_underWay[entry];
    if (one.run)
        return one;
    one.run = new QueueRun(experiment().id, this);
    connect(one.run, &QueueRun::checking, this, [this, entry] { Q_EMIT checking(entry); });
    connect(one.run, &QueueRun::launched, this, [this, entry](const QString &id) {
        at(entry).run = id.toStdString();
        setState(entry, EntryState::Running);
        follow(entry);
    });
    connect(one.run, &QueueRun::mayRun, this, [this, entry] { follow(entry); });
    connect(one.run, &QueueRun::waits, this,
            [this, entry](const QString &sentence) { setState(entry, EntryState::Launching, sentence); });
    connect(one.run, &QueueRun::launchAgain, this, [this, entry] { launch(entry); });
    connect(one.run, &QueueRun::stopped, this, [this, entry] {
        const UnderWay &asked = underWay(entry);
        neverRan(entry, EntryState::Stopped,
                 asked.stoppedBy ? stoppedWords(*asked.stoppedBy) : skippedWords(*asked.skippedBy));
    });
    connect(one.run, &QueueRun::refused, this, [this, entry](const Error &error) { refused(entry, error); });
    connect(one.run, &QueueRun::failed, this,
            [this, entry](const QString &reason) { neverRan(entry, EntryState::Failed, reason); });
    connect(one.run, &QueueRun::live, this, [this, entry] {
        underWay(entry).inherited = false; // the machine has not gone down
        if (at(entry).state == EntryState::Launching)
            setState(entry, EntryState::Running);
    });
    connect(one.run, &QueueRun::ended, this, [this, entry] { ended(entry); });
    return one;
}

void ExperimentRunner::start() {
    m_poll.start();
    std::vector<int> inherited = experiment().currents();
    std::erase_if(inherited, [this](int entry) { return leftAlone(entry); });
    for (const int entry : inherited) // all of them before the first can end and make room
        underWay(entry).inherited = true;
    for (const int entry : inherited)
        resume(entry);
    takeRequests(); // a stop that the earlier owner did not take comes before any further run
    next();
}

/// A run of an earlier owner: its agent started, or never did.
void ExperimentRunner::resume(int entry) {
    const bool launched = at(entry).state == EntryState::Running || !m_queue->prefixOf(entry).local() ||
                          QFile::exists(QString::fromStdString(runFolder(at(entry).run).config()));
    if (launched)
        follow(entry);
    else
        launch(entry, at(entry).run);
}

void ExperimentRunner::next() {
    if (m_finished || folderGone())
        return;
    if (!experiment().queued().empty()) { // a stop or a refusal leaves nothing queued, so this was queued since
        m_stoppedBy.reset();
        m_refused.reset();
    }
    leaveTurns();
    while (!m_unsaved && !experiment().paused() && startNext()) {
    }
    if (!m_underWay.empty())
        return;
    if (!experiment().queued().empty())
        return; // paused, or the disk does not take the queue's state
    if (m_refused)
        return finish(exitBadArguments, *m_refused);
    if (m_stoppedBy)
        return finish(exitStopped, stoppedWords(*m_stoppedBy));
    if (experiment().awaitsRounds() && m_width) {
        if (experiment().paused())
            return;
        addRoundsForWidth();
        if (!experiment().queued().empty())
            return next();
    }
    takeRequests(); // the last ones may bring further runs, which next() then starts
    if (m_taking || m_finished || !m_underWay.empty() || !experiment().queued().empty())
        return;
    const std::vector<ExperimentEntry> &entries = experiment().entries;
    const auto bad = std::find_if(entries.begin(), entries.end(), [](const auto &entry) {
        return entry.state == EntryState::Failed || entry.state == EntryState::Stopped;
    });
    if (bad == entries.end())
        return finish(0, {});
    finish(bad->state == EntryState::Stopped ? exitStopped : exitFailed,
           QString::fromStdString(bad->planned.name + ": " + bad->reason));
}

/// A round is over: adds the next ones, or settles the goal.
void ExperimentRunner::addRoundsForWidth() {
    Experiment &queue = m_queue->experiment();
    queue.until->reached = m_width(queue);
    const int rounds = roundsToAdd(queue.until->goal, *queue.until->reached);
    queue.until->settled = rounds == 0 || !addRounds(queue, rounds);
    save();
    Q_EMIT widthMeasured();
}

/// What waits for its turn doesn't run if the runs can't take turns.
void ExperimentRunner::leaveTurns() {
    if (const std::string why = whyNotInTurns(experiment()); !why.empty())
        for (const int waiting : experiment().queued())
            setState(waiting, EntryState::NotRun, QString::fromStdString(why));
}

/// Launches the first waiting run, if there is room for it.
bool ExperimentRunner::startNext() {
    const std::vector<int> queued = experiment().queued();
    if (queued.empty() || int(m_underWay.size()) >= experiment().sideBySide.runs)
        return false;
    ExperimentEntry &entry = at(queued.front());
    std::vector<RunToPlace> others;
    for (const auto &[other, run] : m_underWay)
        if (experiment().sideBySide.inTurns && at(other).planned.repeat != entry.planned.repeat)
            return false; // those of one round meet each other only
    for (const auto &[other, run] : m_underWay)
        others.emplace_back(at(other).config(), at(other).alone);
    const std::optional<RunConfig> place =
        placeBeside({entry.planned.config, entry.alone}, others, experiment().sideBySide);
    if (!place)
        return false;
    entry.placed = *place == entry.planned.config ? std::nullopt : place;
    return launch(queued.front());
}

/// False: the entry waits again, since the disk does not take the queue's state. A run that an earlier owner launched keeps its id: its
/// agent may be just about to start, and of two agents of one id the second ends.
bool ExperimentRunner::launch(int entry, const std::string &id) {
    // The id is on disk before the agent starts: if this process dies, a resumed queue still finds the run.
    at(entry).run = id.empty() ? makeRunId() : id;
    QueueRun &run = *underWay(entry).run;
    setState(entry, EntryState::Launching, QString::fromStdString(at(entry).reason)); // what it waits for
    if (m_unsaved) {
        at(entry).run.clear();
        at(entry).state = EntryState::Queued;
        drop(entry);
        return false;
    }
    LaunchRequest request = requestFor(experiment(), at(entry));
    if (m_torchReason)
        request.record.torchReason = m_torchReason(at(entry).config());
    run.launch(m_queue->prefix(), request,
               {experiment().check, [this](const std::string &host) { return reachedBefore(host); }});
    return true;
}

/// The queue's own machine was asked for its facts before there was an experiment.
bool ExperimentRunner::reachedBefore(const std::string &host) const {
    return host == m_queue->prefix().host ||
           std::ranges::any_of(experiment().entries, [&host](const ExperimentEntry &entry) {
               const bool ran =
                   !entry.earlierRuns.empty() || (!entry.run.empty() && entry.state != EntryState::Launching);
               return ran && std::ranges::any_of(entry.config().nodes,
                                                 [&host](const NodePlace &node) { return node.host == host; });
           });
}

void ExperimentRunner::follow(int entry) {
    QueueRun &run = *underWay(entry).run;
    Q_EMIT runStarted(entry, run.follow(at(entry).run, m_queue->prefixOf(entry)));
    run.startFollowing();
}

void ExperimentRunner::ended(int entry) {
    UnderWay &one = underWay(entry);
    const RunStore &store = *one.run->store();
    const LinkState link = store.lifecycle().link();
    const std::optional<RunResult> result = store.result();
    // A script may end with the same exit code after any work.
    const bool refusal = at(entry).planned.command.empty() && refusedToTrain(store);
    EntryEnd end = entryEndOf(store);
    const auto forget = [&] {
        Q_EMIT runFinished(entry);
        one.run->forget();
    };
    if (leftAlone(entry)) // its record came from another machine
        return next();
    const bool neverReached = one.run->neverReached();
    if ((neverReached || link == LinkState::Failed) && at(entry).state == EntryState::Launching) {
        forget();
        if (const RunFolder copy = runFolder(at(entry).run); neverReached && !isThere(copy.config())) {
            std::error_code ignored;
            std::filesystem::remove_all(copy.path, ignored);
        }
        return one.run->notThere();
    }
    if (refusal) {
        forget();
        // A refused run does not count as a run. Removed is only what says that it is this experiment's.
        if (m_queue->prefixOf(entry).local() && readRunRecord(runFolder(at(entry).run))) {
            std::error_code ignored;
            std::filesystem::remove_all(runFolder(at(entry).run).path, ignored);
        }
        return refused(entry, Error{result->reason, {}, ErrorKind::BadArgument, {}});
    }
    // Its queue is here, so a host of another name is this one before it was renamed, as a container's is when it is made anew.
    const bool agentDied = link == LinkState::AgentDied || link == LinkState::Unknown;
    if (!result && agentDied && one.inherited && !one.stoppedBy && !one.skippedBy) {
        forget();
        return interrupted(entry);
    }
    if (one.skippedBy && end.state != EntryState::Done)
        end = {EntryState::Stopped, skippedWords(*one.skippedBy)};
    setState(entry, end.state, end.reason);
    Q_EMIT runFinished(entry);
    drop(entry);
    next();
}

/// True: the entry has failed, since its run is none of the experiment's, and nothing is done to that one.
bool ExperimentRunner::leftAlone(int entry) {
    const std::optional<std::string> why = notItsRun(experiment(), at(entry));
    if (!why)
        return false;
    m_namedOthers = true;
    if (const auto found = m_underWay.find(entry); found != m_underWay.end() && found->second.run->store())
        Q_EMIT runFinished(entry);
    drop(entry);
    at(entry).run.clear();
    setState(entry, EntryState::Failed, QString::fromStdString(*why));
    return true;
}

void ExperimentRunner::neverRan(int entry, EntryState state, const QString &reason) {
    at(entry).run.clear();
    over(entry, state, reason);
}

/// Whether or not the run was followed.
void ExperimentRunner::over(int entry, EntryState state, const QString &reason) {
    drop(entry);
    setState(entry, state, reason);
    next();
}

void ExperimentRunner::drop(int entry) {
    const auto found = m_underWay.find(entry);
    if (found == m_underWay.end())
        return;
    found->second.run->disconnect(this);
    found->second.run->deleteLater(); // this may run inside its signal
    m_underWay.erase(found);
}

/// The machine went down during the run, and with it the queue's owner: the run is repeated, its partial folder kept.
void ExperimentRunner::interrupted(int entry) {
    ExperimentEntry &one = at(entry);
    if (one.interruptions >= mostInterruptions)
        return over(entry, EntryState::Failed, QStringLiteral("interrupted %1 times").arg(one.interruptions + 1));
    ++one.interruptions;
    one.earlierRuns.push_back(one.run);
    one.run.clear();
    drop(entry); // it is launched as if for the first time
    launch(entry);
}

/// Ends the queue, since a refusal would repeat for the other runs or needs fixing first. Runs that have started end by themselves, and
/// what is queued again meanwhile runs.
void ExperimentRunner::refused(int entry, const Error &error) {
    if (underWay(entry).inherited && m_queue->prefixOf(entry).local() && isThere(runFolder(at(entry).run).lock(0)))
        return follow(entry); // the agent that the earlier owner started was only slow
    if (!m_refused)
        m_refused = QString::fromStdString(error.message());
    for (ExperimentEntry &other : m_queue->experiment().entries)
        if (other.state == EntryState::Queued) {
            other.state = EntryState::Stopped; // unlike what can't run here, it can be queued again
            other.reason = "not started: " + at(entry).planned.name + " was refused";
        }
    neverRan(entry, EntryState::Failed, QString::fromStdString(error.message()));
}

void ExperimentRunner::stop(const QString &by) {
    if (m_finished)
        return;
    m_stoppedBy = by;
    QueueRequest whole;
    whole.by = by.toStdString();
    (void)apply(whole,
                m_queue->experiment()); // at once: what is queued from now on runs. A request was carried out already
    save();
    std::map<int, UnderWay> asked = m_underWay; // an answer may come at once and end a run
    std::erase_if(asked, [this](const auto &one) { return leftAlone(one.first); });
    if (m_underWay.empty())
        return next();
    for (auto &[entry, one] : m_underWay)
        one.stoppedBy = by;
    for (const auto &[entry, one] : asked)
        one.run->stop(by);
}

/// False: the queue can't be written, so the request waits, and those behind it.
bool ExperimentRunner::take(const PendingRequest &pending) {
    const QueueRequest &request = pending.request;
    const std::optional<ControlHolder> holder = controlHolder(experiment().id);
    if (request.generation && holder && *request.generation < holder->generation) {
        logWarning(std::string(toString(request.kind)) + " by " + request.by + " was refused: " + holder->title() +
                   " holds control");
        m_queue->forget(pending);
        return true;
    }
    if (request.kind == QueueRequest::Kind::Stop) {
        if (const Result<void> written = m_queue->carryOut(pending); !written) {
            reportUnsaved(written.error());
            m_queue->forget(pending); // it ends this queue whether or not that can be written
        }
        Q_EMIT experimentChanged();
        stop(QString::fromStdString(request.by));
        return true;
    }
    std::vector<int> stopped = stopsCurrents(request, experiment());
    if (const Result<void> written = m_queue->carryOut(pending); !written) {
        reportUnsaved(written.error());
        return false;
    }
    Q_EMIT experimentChanged();
    std::erase_if(stopped, [this](int entry) { return leftAlone(entry); });
    for (const int entry : stopped) {
        const QString by = QString::fromStdString(request.by);
        underWay(entry).skippedBy = by;
        underWay(entry).run->stop(by);
    }
    if (stopped.empty())
        next(); // resumed, queued again, or the last one skipped
    return true;
}

void ExperimentRunner::poll() {
    if (folderGone())
        return;
    if (m_unsaved && save())
        next();
    if (m_finished)
        return;
    takeRequests();
    if (m_underWay.empty())
        next(); // which takeRequests() left to its caller
}

/// Looks again after each: carrying one out may have carried out others. Within it, next() starts runs but ends nothing and does not
/// come back here, so that no number of requests is too deep; afterwards it is called again.
void ExperimentRunner::takeRequests() {
    if (std::exchange(m_taking, true))
        return;
    std::set<std::string> taken;
    while (!m_finished) {
        const std::vector<PendingRequest> pending = m_queue->requests();
        const auto next =
            std::ranges::find_if(pending, [&](const PendingRequest &one) { return taken.insert(one.name).second; });
        if (next == pending.end() || !take(*next))
            break;
    }
    m_taking = false;
}

/// A queue whose folder was removed has ended: the folder is not recreated and no further run starts. A run that
/// is under way has its own agent and continues.
bool ExperimentRunner::folderGone() {
    if (!m_queue->gone())
        return false;
    finish(exitFailed, QString::fromStdString(m_queue->goneSentence()));
    return true;
}

void ExperimentRunner::setState(int entry, EntryState state, const QString &reason) {
    ExperimentEntry &one = at(entry);
    one.state = state;
    one.reason = reason.toStdString();
    save();
}

/// Tried again by poll() until it succeeds. For a folder that is gone, poll() ends the queue.
bool ExperimentRunner::save() {
    if (m_queue->gone())
        return true;
    const Result<void> written = m_queue->save();
    if (!written)
        reportUnsaved(written.error());
    else if (std::exchange(m_unsaved, false))
        logInfo("the queue's state is written again");
    Q_EMIT experimentChanged();
    return !m_unsaved;
}

void ExperimentRunner::reportUnsaved(const Error &why) {
    if (!std::exchange(m_unsaved, true))
        logError("the queue's state can't be written, and no further run starts until it can: " + why.message());
}

void ExperimentRunner::discard() {
    if (!m_namedOthers)
        m_queue->remove();
}

void ExperimentRunner::finish(int exitCode, const QString &sentence) {
    if (m_finished)
        return;
    m_finished = true;
    m_exitCode = exitCode;
    m_sentence = sentence;
    m_poll.stop();
    if (m_unsaved && !save() && m_exitCode == 0) {
        m_exitCode = exitFailed;
        m_sentence = QStringLiteral("all runs are done, but the queue's state could not be written");
    }
    if (!goesOn())
        QTimer::singleShot(0, this, [this] { Q_EMIT finished(m_exitCode); });
}

/// Gives the queue up. A request of the last moment found it owned still: then it is taken up again.
bool ExperimentRunner::goesOn() {
    m_queue->giveUp();
    if (m_unsaved || m_queue->gone() || m_queue->requests().empty())
        return false; // what is on the disk may be an earlier state, in which runs wait that are over
    Result<OwnedExperiment> again = OwnedExperiment::own(experiment().id);
    if (!again)
        return false; // by another owner, who carries it out
    *m_queue = std::move(*again);
    if (experiment().over()) {
        m_queue->giveUp();
        return false;
    }
    m_finished = false;
    m_poll.start();
    QTimer::singleShot(0, this, &ExperimentRunner::next);
    return true;
}

} // namespace lockstep::core

#include "moc_experiment_runner.cpp"
