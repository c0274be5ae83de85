// SPDX-License-Identifier: MIT
// slurm script, submit, list, cancel, follow.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include <nlohmann/json.hpp>
#include <QCoreApplication>
#include <QTimer>

#include "background_owner.h"
#include "commands.h"
#include "export/export.h"
#include "ipc/logging.h"
#include "job_commands.h"
#include "job_runs.h"
#include "loaded_runs.h"
#include "output.h"
#include "queue/alert_command.h"
#include "queue/followed_runs.h"
#include "queue/slurm/slurm_experiment.h"
#include "stop_signals.h"

namespace lockstep::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Starts `lockstepctl slurm own ID` in a new session, which records the jobs' states.
int ownInBackground(const std::string &id) {
    if (core::isOwned(id))
        return Done;
    const Result<qint64> owner =
        startOwner(id, {QStringLiteral("slurm"), QStringLiteral("own"), QString::fromStdString(id)});
    if (!owner)
        return complain(Error::failed("the jobs can't be watched: " + owner.error().message(),
                                      "they run anyway; try: lockstepctl slurm follow " + id));
    for (int i = 0; i < 200; ++i) { // until it owns the experiment, or has found it to be over
        const auto experiment = core::readExperiment(id);
        if (core::isOwned(id) || (experiment && experiment->over()))
            break;
        std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    return Done;
}

Result<core::SlurmRecord> submitted(const std::string &id) {
    auto record = core::findSlurmJob(id);
    if (record && record->job.empty())
        return fail(Error::badArgument("experiment " + id + " is not submitted yet", "lockstepctl slurm submit " + id));
    return record;
}

constexpr std::chrono::seconds lastAlertsLimit{20}; ///< for what a run that is over still has to say

/// Starts the person's command for alerts of the runs of an experiment in Slurm.
class AlertedRuns {
public:
    AlertedRuns(core::SlurmWatch &watch, const QString &command) {
        auto *feed = core::feedOfAlertCommand(command, &m_runs);
        QObject::connect(&m_runs, &core::FollowedRuns::added, feed, [this, feed](int entry, core::RunStore *store) {
            m_open.insert(entry);
            feed->watch(store);
        });
        QObject::connect(&m_runs, &core::FollowedRuns::ended, feed, [this, feed](int entry) {
            feed->readAll();
            m_open.erase(entry);
            if (m_exits && m_open.empty())
                QCoreApplication::exit(Done);
        });
        const auto follow = [this, &watch] { m_runs.follow(watch.experiment()); };
        QObject::connect(&watch, &core::SlurmWatch::changed, &m_runs, follow);
        follow();
    }
    /// Exits once the runs that are over have said all.
    void exitWhenRead() {
        m_exits = true;
        QTimer::singleShot(m_open.empty() ? std::chrono::seconds(0) : lastAlertsLimit,
                           [] { QCoreApplication::exit(Done); });
    }

private:
    core::FollowedRuns m_runs;
    std::set<int> m_open; ///< entries whose runs are followed
    bool m_exits = false;
};

/// Prints why an entry waits whenever that changes, while others of the array may run.
class WaitPrinter : public QObject {
public:
    WaitPrinter(std::string id, core::SlurmRecord record) : m_id(std::move(id)), m_record(std::move(record)) {
        connect(&m_timer, &QTimer::timeout, this, &WaitPrinter::poll);
        m_timer.start(2000);
        QTimer::singleShot(0, this, &WaitPrinter::poll);
    }

private:
    void poll() {
        const auto experiment = core::readExperiment(m_id);
        const auto jobs = core::slurmJobs(m_record.job);
        if (!experiment || !jobs)
            return;
        for (const core::SlurmJob &job : core::jobsOf(jobs->jobs, m_record.job)) {
            const std::size_t task = std::size_t(job.task.value_or(0));
            const core::ExperimentEntry *entry = core::entryOf(*experiment, m_record, task);
            if (!job.waits() || !entry)
                continue;
            const std::string sentence = core::waitSentence(core::nameWithRepeat(entry->planned), job);
            if (m_printed[task] != sentence)
                print((m_printed[task] = sentence) + "\n");
        }
    }
    std::string m_id;
    core::SlurmRecord m_record;
    std::map<std::size_t, std::string> m_printed;
    QTimer m_timer;
};

Json toJson(const core::SlurmJob &job) {
    Json json = {
        {"job", job.id}, {"state", job.state}, {"reason", job.reason}, {"node", job.node}, {"start", job.start}};
    json["place"] = job.place ? Json(*job.place) : Json(nullptr);
    return json;
}

/// Finds the experiment by its id or by Slurm's job number.
Result<std::string> experimentOf(const std::string &id) {
    if (core::isSlurmExperiment(id))
        return id;
    for (const std::string &experiment : core::listExperiments())
        if (const auto record = core::readSlurmRecord(experiment);
            record && !record->job.empty() && (record->job == id || id.starts_with(record->job + "_")))
            return experiment;
    return fail(Error::badArgument("\"" + id.substr(0, 80) + "\" is neither an experiment in Slurm nor one of its jobs",
                                   "lockstepctl slurm list shows them"));
}

} // namespace

int slurmScriptCommand(const SlurmCommandOptions &options) {
    const auto experiment = jobExperiment(options.runs);
    if (!experiment)
        return complain(experiment.error());
    const core::SlurmPlace place = slurmPlaceOf(options.slurm, options.runs.nodes);
    if (options.save) {
        if (const auto saved = core::saveSlurmExperiment(*experiment, place); !saved)
            return complain(saved.error());
        print(core::slurmFiles(experiment->id).script + "\n");
        std::fprintf(stderr, "edit it if needed, then: lockstepctl slurm submit %s\n", experiment->id.c_str());
        return Done;
    }
    const auto script = core::slurmScript(core::slurmTasks(*experiment), place);
    if (!script)
        return complain(script.error());
    if (options.out == "-") {
        print(*script);
        return Done;
    }
    const auto written = core::writeExport(options.out, *script);
    return written ? int(Done) : complain(written.error());
}

int slurmSubmitCommand(const SlurmCommandOptions &options) {
    std::string id = options.runs.what;
    const auto known = core::readSlurmRecord(id);
    const bool saved = isRunId(id) && known.has_value();
    if (!saved) {
        const auto experiment = jobExperiment(options.runs);
        if (!experiment)
            return complain(experiment.error());
        id = experiment->id;
        if (const auto made = core::saveSlurmExperiment(*experiment, slurmPlaceOf(options.slurm, options.runs.nodes));
            !made)
            return complain(made.error());
    }
    const auto job = core::submitSlurmExperiment(id);
    if (!job) {
        if (!saved) { // nothing was started, so leave nothing behind
            std::error_code ignored;
            std::filesystem::remove_all(core::experimentFolder(id).path, ignored);
        }
        return complain(job.error());
    }
    if (!job->recorded)
        return complain(job->recorded.error());
    core::setAlertCommand(options.onAlert);
    const int owned = ownInBackground(id);
    print(options.json ? Json{{"experiment", id}, {"job", job->job}}.dump() + "\n"
                       : "experiment " + id + " is Slurm's job " + job->job + "; follow it: lockstepctl slurm follow " +
                             id + "\n");
    return owned;
}

int slurmListCommand(bool json) {
    const auto jobs = core::slurmJobs();
    if (!jobs)
        return complain(jobs.error());
    if (jobs->more)
        std::fprintf(stderr, "%s\n", jobs->leftOut().c_str());
    std::vector<std::vector<std::string>> rows = {
        {"Experiment", "Run", "Job", "State", "Place", "Node", "Start", "Reason"}};
    Json list = Json::array();
    core::ExperimentReader reader;
    for (const std::string &id : core::listExperiments()) {
        const auto record = core::readSlurmRecord(id);
        const auto experiment = reader.read(id);
        if (!record || !experiment)
            continue;
        const auto own = core::jobsOf(jobs->jobs, record->job);
        Json runs = Json::array();
        for (std::size_t task = 0; task < record->entries.size(); ++task) {
            const core::ExperimentEntry *found = core::entryOf(*experiment, *record, task);
            if (!found)
                continue;
            const core::ExperimentEntry &entry = *found;
            const auto job = std::find_if(own.begin(), own.end(), [&](const core::SlurmJob &one) {
                return record->entries.size() == 1 || one.task == int(task);
            });
            Json one = {
                {"run", entry.run}, {"name", entry.planned.name}, {"entry_state", std::string(toString(entry.state))}};
            one["slurm"] = job == own.end() ? Json(nullptr) : toJson(*job);
            runs.push_back(std::move(one));
            const auto or_ = [](const std::string &text) { return text.empty() ? std::string("-") : text; };
            if (job == own.end())
                rows.push_back({id, entry.planned.name, or_(record->job), std::string(toString(entry.state)), "-", "-",
                                "-", or_(entry.reason)});
            else
                rows.push_back({id, entry.planned.name, job->id, job->state,
                                job->place ? std::to_string(*job->place) : "-", or_(job->node), or_(job->start),
                                or_(job->reason)});
        }
        list.push_back({{"experiment", id}, {"job", record->job}, {"runs", std::move(runs)}});
    }
    print(json              ? list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
          : rows.size() > 1 ? aligned(rows)
                            : std::string("nothing was submitted to Slurm yet\n"));
    return Done;
}

int slurmCancelCommand(const std::string &id) {
    const auto experiment = experimentOf(id);
    if (!experiment)
        return complain(experiment.error());
    const auto record = submitted(*experiment);
    if (!record)
        return complain(record.error());
    const std::string job = isRunId(id) ? record->job : id;
    if (const auto cancelled = core::cancelSlurmExperiment(*experiment, *record, job); !cancelled)
        return complain(cancelled.error());
    print("job " + job + " is cancelled: its ranks write a checkpoint and end\n");
    return Done;
}

int slurmFollowCommand(const std::string &id) {
    const auto experiment = experimentOf(id);
    if (!experiment)
        return complain(experiment.error());
    const auto record = submitted(*experiment);
    if (!record)
        return complain(record.error());
    const auto read = core::readExperiment(*experiment);
    if (read && read->over() && !core::isOwned(*experiment))
        if (const auto taken = core::takeLateResults(*experiment); !taken)
            logWarning(taken.error().message());
    if (read && !read->over())
        if (const int owned = ownInBackground(*experiment); owned != Done)
            return owned;
    const WaitPrinter waits(*experiment, *record);
    return attachCommand({*experiment, {}});
}

int slurmOwnCommand(const std::string &id) {
    core::SlurmWatch watch;
    if (const auto owned = watch.own(id); !owned)
        return complain(owned.error());
    std::optional<AlertedRuns> alerted;
    if (const QString command = core::alertCommand(); !command.isEmpty())
        alerted.emplace(watch, command);
    QObject::connect(&watch, &core::SlurmWatch::finished, &watch, [&] {
        if (alerted)
            alerted->exitWhenRead();
        else
            QCoreApplication::exit(Done);
    });
    const StopSignals signals([] { QCoreApplication::exit(Stopped); }); // the jobs continue by themselves
    watch.start();
    return QCoreApplication::exec();
}

} // namespace lockstep::cli
