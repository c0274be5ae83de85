// SPDX-License-Identifier: MIT
#include "queue/slurm/slurm_experiment.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>
#include <QDir>
#include <QFile>

#include "base/last_line.h"
#include "ipc/documents.h"
#include "ipc/file_system.h"
#include "ipc/logging.h"
#include "nodes/known_places.h"
#include "queue/queue_request.h"
#include "queue/queue_run.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;
constexpr int defaultSqueuePollS = 5;

int squeuePollMs() {
    bool whole = false;
    const double seconds = qEnvironmentVariable("LOCKSTEP_SQUEUE_S").toDouble(&whole);
    return whole && seconds >= 0.1 && seconds <= 3600 ? int(seconds * 1000) : defaultSqueuePollS * 1000;
}

/// "waits, place 2, Priority: jobs of higher priority come first; expected to start 2026-…"
std::string waitReason(const SlurmJob &job) {
    std::string text = "waits";
    if (job.place)
        text += ", place " + std::to_string(*job.place);
    if (!job.reason.empty()) {
        text += ", " + job.reason;
        if (const std::string words = reasonInWords(job.reason); !words.empty())
            text += ": " + words;
    }
    if (!job.start.empty())
        text += "; expected to start " + job.start;
    return text;
}

struct Standing {
    EntryState state = EntryState::Queued;
    std::string run, reason;
};

/// The outcome of a finished run, from its folder.
Standing afterwards(const SlurmAttempt &last, bool jobGone) {
    if (last.status.result) {
        const EntryEnd end = entryEndOf(*last.status.result);
        return {end.state, last.run, end.reason.toStdString()};
    }
    if (jobGone && !last.lives)
        return {EntryState::Failed, last.run, "its Slurm job ended without a result"};
    return {EntryState::Running, last.run, ""};
}

constexpr int absentForGood = 3; ///< answers of squeue in a row that do not name a job

Error submittedAlready(std::string_view experiment, const SlurmRecord &record) {
    return Error::badArgument("experiment " + std::string(experiment) + " is already Slurm's job " + record.job,
                              "lockstepctl slurm follow " + std::string(experiment));
}

/// The job of an earlier submission that Slurm did not answer; empty: it never came in. An error where that is unknown, or the
/// job has run.
Result<std::string> takenBefore(const SlurmRecord &record, std::string_view experiment) {
    Result<std::string> job = slurmJobMarked(slurmMark(experiment));
    if (!job || !job->empty())
        return job;
    for (const std::vector<SlurmAttempt> &attempts : slurmAttempts(record, experiment))
        if (!attempts.empty())
            return fail(Error::failed("experiment " + std::string(experiment) + " was in Slurm's queue and has run",
                                      "lockstepctl show " + attempts.back().run));
    return job;
}

/// Why a job's task that has run has left no run, from the end of its log. Absent: there is no log, so it did not run.
std::optional<std::string> endInLog(std::string_view experiment, const SlurmRecord &record, std::size_t task) {
    constexpr qint64 tailBytes = 4096;
    const std::string number = record.runs.size() == 1 ? record.job : record.job + "_" + std::to_string(task);
    const std::string path = experimentFolder(experiment).path + "/slurm-" + number + ".log";
    QFile log(QString::fromStdString(path));
    if (!log.open(QIODevice::ReadOnly))
        return std::nullopt;
    log.seek(std::max<qint64>(0, log.size() - tailBytes));
    const std::string last = lastLine(log.read(tailBytes)).left(500).toStdString();
    return "its Slurm job ended before a run began: " + (last.empty() ? "it wrote nothing into " + path : last);
}

Standing standingOf(const SlurmJob *job, const std::vector<SlurmAttempt> &attempts, bool cancelled) {
    if (job && (job->waits() || attempts.empty())) // submitted, requeued, or its agents are starting
        return {EntryState::Queued, "", job->waits() ? "job " + job->id + " " + waitReason(*job) : std::string()};
    if (attempts.empty())
        return {EntryState::Stopped, "",
                cancelled ? "cancelled before it ran" : "its Slurm job left the queue before it ran"};
    const Standing after = afterwards(attempts.back(), job == nullptr);
    // While the job exists, a stopped run may be requeued: its outcome is final only when the job has left the queue.
    if (job && isOver(after.state) && after.state != EntryState::Done)
        return {EntryState::Running, after.run, ""};
    return after;
}

/// Each task runs an entry of its own, of those that a plan can have.
bool canBeTasks(std::vector<int> entries) {
    std::ranges::sort(entries);
    return entries.size() <= mostRunsPlanned && std::ranges::adjacent_find(entries) == entries.end() &&
           (entries.empty() || (entries.front() >= 0 && std::cmp_less(entries.back(), mostRunsPlanned)));
}

} // namespace

std::string toJson(const SlurmRecord &record) {
    const Json json = {{"format", 1},
                       {"job", record.job},
                       {"entries", record.entries},
                       {"runs", record.runs},
                       {"cancelled", record.cancelled},
                       {"unanswered", record.unanswered}};
    return json.dump(1) + "\n";
}

Result<SlurmRecord> slurmRecordFromJson(std::string_view text) {
    try {
        const Json json = documents::objectIn(text);
        SlurmRecord record;
        record.job = json.value("job", "");
        record.entries = json.at("entries").get<std::vector<int>>();
        record.runs = json.at("runs").get<std::vector<std::string>>();
        record.cancelled = json.value("cancelled", false);
        record.unanswered = json.value("unanswered", false);
        if (record.job.find_first_not_of("0123456789") != std::string::npos) // it becomes an argument of scancel
            return fail(Error::failed("slurm.json is damaged: its job is no number"));
        if (record.entries.size() != record.runs.size() ||
            !std::all_of(record.runs.begin(), record.runs.end(), [](const auto &run) { return isRunId(run); }))
            return fail(Error::failed("slurm.json is damaged: its runs don't match its entries"));
        if (!canBeTasks(record.entries))
            return fail(Error::failed("slurm.json is damaged: its entries are not different ones from 0 to " +
                                      std::to_string(mostRunsPlanned - 1)));
        return record;
    } catch (const std::exception &exception) {
        return fail(Error::failed(std::string("slurm.json is damaged: ") + exception.what()));
    }
}

SlurmFiles slurmFiles(std::string_view experiment) {
    const std::string folder = experimentFolder(experiment).path;
    return {folder + "/job.sbatch", folder + "/slurm.json", folder + "/slurm-%A_%a.log"};
}

bool isSlurmExperiment(std::string_view experiment) {
    return isRunId(experiment) && QFile::exists(QString::fromStdString(slurmFiles(experiment).record));
}

Result<SlurmRecord> readSlurmRecord(std::string_view experiment) {
    const auto text = realFileSystem().readAll(slurmFiles(experiment).record);
    if (!text)
        return fail(Error::badArgument(std::string(experiment.substr(0, 80)) + " was not made for Slurm",
                                       "lockstepctl slurm list shows those that were"));
    return slurmRecordFromJson(*text);
}

Result<void> writeSlurmRecord(std::string_view experiment, const SlurmRecord &record) {
    return realFileSystem().writeAtomically(slurmFiles(experiment).record, toJson(record));
}

Result<SlurmRecord> findSlurmJob(std::string_view experiment) {
    auto record = readSlurmRecord(experiment);
    if (!record || !record->unanswered)
        return record;
    const Result<std::string> taken = takenBefore(*record, experiment);
    if (!taken)
        return fail(taken.error());
    if (taken->empty())
        return record;
    record->job = *taken;
    record->unanswered = false;
    if (const auto written = writeSlurmRecord(experiment, *record); !written)
        logWarning(written.error().message()); // it is found again the next time
    return record;
}

Result<void> saveSlurmExperiment(const Experiment &experiment, const SlurmPlace &place) {
    const std::vector<SlurmTask> tasks = slurmTasks(experiment);
    const auto script = slurmScript(tasks, place);
    if (!script)
        return fail(script.error());
    SlurmRecord record;
    record.entries = experiment.queued();
    for (const SlurmTask &task : tasks)
        record.runs.push_back(task.run);
    CommandPrefix agent{{"srun"}, "slurm:", place.agent, false}; // as it names itself from within a job
    std::error_code error;
    if (const auto path = std::filesystem::canonical(place.agent, error); !error)
        agent.agent = path.string();
    if (const auto known = rememberPlace(agent); !known)
        return known;
    return createExperiment(experiment, [&]() -> Result<void> {
        if (const auto written = realFileSystem().writeAtomically(slurmFiles(experiment.id).script, *script); !written)
            return written;
        return writeSlurmRecord(experiment.id, record);
    });
}

Result<SlurmSubmission> submitSlurmExperiment(std::string_view experiment) {
    auto record = readSlurmRecord(experiment);
    if (!record)
        return fail(record.error());
    if (!record->job.empty())
        return fail(submittedAlready(experiment, *record));
    const auto lock = FileLock::acquire(experimentFolder(experiment).lock());
    if (!lock)
        return fail(lock.error());
    record = readSlurmRecord(experiment); // another process may have submitted it meanwhile
    if (!record || !record->job.empty())
        return fail(record ? submittedAlready(experiment, *record) : record.error());
    const auto script = realFileSystem().readAll(slurmFiles(experiment).script);
    if (!script)
        return fail(script.error());
    std::string log = slurmFiles(experiment).log;
    if (record->runs.size() == 1) // not an array: no task number
        log.replace(log.rfind("%A_%a"), 5, "%j");
    const bool askedBefore = std::exchange(record->unanswered, true); // until it answers: this process may end before
    if (const auto written = writeSlurmRecord(experiment, *record); !written)
        return fail(written.error()); // before there is a job that can't be written down
    Submitted job;
    if (askedBefore) {
        const Result<std::string> taken = takenBefore(*record, experiment);
        if (!taken)
            return fail(taken.error());
        job.job = *taken;
    }
    if (job.job.empty())
        job = submitToSlurm(*script, log, slurmMark(experiment));
    record->job = job.job;
    record->unanswered = job.job.empty() && job.unknown;
    SlurmSubmission out{job.job, writeSlurmRecord(experiment, *record)};
    if (job.job.empty() && !job.unknown)
        return fail(job.error);
    if (job.job.empty())
        out.recorded = fail(Error::failed(job.error.message() + "; the job may be in Slurm's queue nevertheless",
                                          "lockstepctl slurm submit " + std::string(experiment) +
                                              " finds it there, or submits it again"));
    else if (!out.recorded)
        out.recorded = fail(
            Error::failed("Slurm has it as job " + job.job + ", but " + out.recorded.error().what,
                          "make room, and end that job with scancel " + job.job + " before it is submitted again"));
    return out;
}

const ExperimentEntry *entryOf(const Experiment &experiment, const SlurmRecord &record, std::size_t task) {
    if (task >= record.entries.size() || record.entries[task] < 0)
        return nullptr;
    const auto index = std::size_t(record.entries[task]);
    return index < experiment.entries.size() ? &experiment.entries[index] : nullptr;
}

namespace {

int restartsBefore(const RunFolder &folder, int otherwise) {
    const Result<std::string> origin = realFileSystem().readAll(folder.origin(), largestShortDocument);
    return origin ? documents::valueIn(documents::objectOrNull(*origin), "restarts", otherwise) : otherwise;
}

bool agentLives(const RunFolder &folder) {
    return FileLock::isHeld(folder.lock(ownNode(folder)));
}

/// The digits that attempts share are in a folder's name, which anybody can give it.
bool belongsTo(std::string_view experiment, const RunFolder &folder) {
    const Result<RunRecord> record = readRunRecord(folder);
    return record && record->experiment == experiment;
}

} // namespace

std::vector<std::vector<SlurmAttempt>> slurmAttempts(const SlurmRecord &record, std::string_view experiment) {
    std::vector<std::vector<SlurmAttempt>> out(record.runs.size());
    std::map<std::string_view, std::size_t> tasks; // of several with the same digits the first
    for (std::size_t task = 0; task < record.runs.size(); ++task)
        tasks.try_emplace(attemptDigits(record.runs[task]), task);
    const QDir folder(QString::fromStdString(runsFolder()));
    for (const QString &name : folder.entryList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Name)) {
        const std::string run = name.toStdString();
        const auto task = tasks.find(attemptDigits(run));
        if (task == tasks.end() || !isRunId(run) || !belongsTo(experiment, runFolder(run)))
            continue;
        std::vector<SlurmAttempt> &attempts = out[task->second];
        attempts.push_back({run, readRunStatus(runFolder(run)), restartsBefore(runFolder(run), int(attempts.size())),
                            agentLives(runFolder(run))});
    }
    for (std::vector<SlurmAttempt> &attempts : out)
        std::ranges::stable_sort(attempts, {}, &SlurmAttempt::restarts);
    return out;
}

bool reconcile(Experiment &experiment, const SlurmRecord &record, const std::vector<SlurmJob> &jobs,
               const std::vector<std::vector<SlurmAttempt>> &attempts) {
    const std::vector<SlurmJob> own = jobsOf(jobs, record.job);
    bool changed = false;
    for (std::size_t task = 0; task < record.entries.size(); ++task) {
        if (!entryOf(experiment, record, task))
            continue;
        const auto found = std::find_if(own.begin(), own.end(), [&](const SlurmJob &job) {
            return record.entries.size() == 1 || job.task == int(task);
        });
        Standing now = standingOf(found == own.end() ? nullptr : &*found, attempts[task], record.cancelled);
        if (now.state == EntryState::Stopped && attempts[task].empty() && !record.cancelled)
            if (const std::optional<std::string> why = endInLog(experiment.id, record, task))
                now = {EntryState::Failed, "", *why};
        ExperimentEntry &entry = experiment.entries[std::size_t(record.entries[task])];
        const ExperimentEntry before = entry;
        entry.state = now.state;
        entry.run = now.run;
        entry.reason = now.reason;
        entry.earlierRuns.clear();
        for (const SlurmAttempt &attempt : attempts[task])
            if (attempt.run != now.run)
                entry.earlierRuns.push_back(attempt.run);
        changed = changed || before != entry;
    }
    return changed;
}

Result<void> takeLateResults(const std::string &id) {
    const auto take = [](Experiment &experiment) {
        bool any = false;
        for (ExperimentEntry &entry : experiment.entries) {
            if (entry.state != EntryState::Failed || entry.run.empty() || notItsRun(experiment, entry))
                continue;
            const RunStatus status = readRunStatus(runFolder(entry.run));
            if (!status.result || status.result->state == RunState::Failed)
                continue;
            const EntryEnd end = entryEndOf(*status.result);
            entry.state = end.state;
            entry.reason = end.reason.toStdString();
            any = true;
        }
        return any;
    };
    auto experiment = readExperiment(id);
    if (!experiment)
        return fail(experiment.error());
    if (!take(*experiment))
        return {};
    const auto lock = FileLock::acquire(experimentFolder(id).lock());
    if (!lock)
        return fail(lock.error());
    experiment = readExperiment(id); // it may have changed before we got the lock
    if (!experiment)
        return fail(experiment.error());
    return take(*experiment) ? writeExperiment(*experiment) : Result<void>();
}

std::string waitSentence(const std::string &name, const SlurmJob &job) {
    return name + ": job " + job.id + " " + waitReason(job);
}

SlurmWatch::SlurmWatch(QObject *parent) : QObject(parent) {
    connect(&m_timer, &QTimer::timeout, this, &SlurmWatch::poll);
}

Result<void> SlurmWatch::own(const std::string &experiment) {
    auto record = findSlurmJob(experiment);
    if (!record)
        return fail(record.error());
    if (record->job.empty())
        return fail(Error::badArgument("experiment " + experiment + " is not submitted yet",
                                       "lockstepctl slurm submit " + experiment));
    auto lock = FileLock::acquire(experimentFolder(experiment).lock());
    if (!lock)
        return fail(lock.error());
    auto read = readExperiment(experiment);
    if (!read)
        return fail(read.error());
    m_lock = std::move(*lock);
    m_record = std::move(*record);
    m_experiment = std::move(*read);
    return {};
}

void SlurmWatch::start() {
    m_timer.start(squeuePollMs());
    QTimer::singleShot(0, this, &SlurmWatch::poll);
}

Result<void> cancelSlurmExperiment(const std::string &experiment, SlurmRecord record, const std::string &job) {
    if (!job.empty()) {
        // The record may be another's, or of another cluster: there its number is somebody else's job.
        const Result<bool> own = isSlurmJobMarked(record.job, slurmMark(experiment));
        if (!own)
            return fail(own.error());
        if (!*own)
            return fail(Error::badArgument("squeue shows no job " + record.job + " with the comment " +
                                               slurmMark(experiment) +
                                               ", which this experiment's job has: nothing was cancelled",
                                           "if it is its job and has not ended: scancel " + job));
        if (const Result<void> cancelled = cancelSlurmJob(job); !cancelled)
            return cancelled;
    }
    record.cancelled = true;
    return writeSlurmRecord(experiment, record);
}

Result<void> askSlurmQueue(const std::string &experiment, const QueueRequest &request) {
    if (request.kind != QueueRequest::Kind::Stop)
        return fail(Error::badArgument(std::string(toString(request.kind)) +
                                           " was refused: the queue is Slurm's and is changed by Slurm's own programs",
                                       "lockstepctl slurm list"));
    const auto record = findSlurmJob(experiment);
    if (!record)
        return fail(record.error());
    return cancelSlurmExperiment(experiment, *record, record->job);
}

void SlurmWatch::takeRequests() {
    const ExperimentFolder folder = experimentFolder(m_experiment.id);
    for (const auto &[name, request] : pendingRequests(folder, &m_left)) {
        if (m_left.contains(name) && !forgetRequest(folder, name))
            continue;
        const Result<void> asked = askSlurmQueue(m_experiment.id, request);
        if (!asked && m_lastRefusal != asked.error().message()) {
            m_lastRefusal = asked.error().message();
            logWarning(request.by + ": " + m_lastRefusal);
        }
        if (const auto record = readSlurmRecord(m_experiment.id))
            m_record = *record;
        if (asked || request.kind != QueueRequest::Kind::Stop) // else it is asked again at the next look
            if (!forgetRequest(folder, name))
                m_left.insert(name);
    }
}

void SlurmWatch::poll() {
    if (!QFile::exists(
            QString::fromStdString(experimentFolder(m_experiment.id).json()))) { // removed: nothing left to update
        m_timer.stop();
        Q_EMIT finished();
        return;
    }
    takeRequests();
    const auto answer = slurmJobs(m_record.job); // its own alone: not all of a user's are taken
    if (!answer) {
        if (m_lastError != answer.error().message())
            logWarning(m_lastError = answer.error().message());
        return; // Slurm's controller may be restarting: wait for the next poll
    }
    m_lastError.clear();
    const std::vector<SlurmJob> &jobs = answer->jobs;
    // One answer without the job may be a controller's that has just started; what it would say of the runs is for good.
    const auto attempts = slurmAttempts(m_record, m_experiment.id);
    const bool allEnded = std::ranges::all_of(
        attempts, [](const auto &of) { return !of.empty() && of.back().status.result.has_value(); });
    m_absent = jobsOf(jobs, m_record.job).empty() ? m_absent + 1 : 0;
    if (m_absent > 0 && m_absent < absentForGood && !allEnded)
        return;
    // A run that ended after squeue's answer is seen by the next poll.
    if (reconcile(m_experiment, m_record, jobs, attempts)) {
        if (const auto written = writeExperiment(m_experiment); !written)
            logWarning("the experiment's state can't be written: " + written.error().message());
        Q_EMIT changed();
    }
    if (m_experiment.over() && jobsOf(jobs, m_record.job).empty()) {
        m_timer.stop();
        Q_EMIT finished();
    }
}

} // namespace lockstep::core

#include "moc_slurm_experiment.cpp"
