// SPDX-License-Identifier: MIT
// run and own: their process owns an experiment's queue.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <map>
#include <signal.h>
#include <thread>

#include <nlohmann/json.hpp>
#include <QCoreApplication>

#include "analysis/compare/width_reached.h"
#include "background_owner.h"
#include "base/format.h"
#include "base/last_line.h"
#include "commands.h"
#include "event_files.h"
#include "experiment/experiment_time.h"
#include "experiment/more_rounds.h"
#include "export/export.h"
#include "ipc/file_system.h"
#include "ipc/logging.h"
#include "ipc/printable.h"
#include "loaded_runs.h"
#include "nodes/node_choice.h"
#include "output.h"
#include "prepared.h"
#include "progress_printer.h"
#include "queue/alert_command.h"
#include "queue/experiment_runner.h"
#include "queue/queue_origin.h"
#include "result_text.h"
#include "stop_signals.h"
#include "store/load_run.h"
#include "store/run_outcome.h"
#include "store/run_progress.h"

namespace lockstep::cli {
namespace {

/// From the list of nodes when the run starts; empty if the list can't be read.
std::string torchReason(const RunConfig &config) {
    const auto book = core::readNodes();
    return book ? core::torchReasonOf(config.nodes, *book) : std::string();
}

/// Training times of finished runs, each read from disk once.
core::TrainingTimeSource trainingTimes() {
    return [known = std::map<std::string, std::optional<core::Repeat>>()](const std::string &run) mutable {
        const auto [found, isNew] = known.try_emplace(run);
        core::RunStore store(QString::fromStdString(run));
        if (isNew && core::loadRun(store, runFolder(run)))
            found->second = core::trainingRepeatOf(core::outcomeOf(store));
        return found->second;
    };
}

void startCommandOnAlerts(core::ExperimentRunner &runner, const QString &command) {
    auto *feed = core::feedOfAlertCommand(command, &runner);
    QObject::connect(&runner, &core::ExperimentRunner::runStarted, feed,
                     [feed](int, core::RunStore *store) { feed->watch(store); });
    QObject::connect(&runner, &core::ExperimentRunner::runFinished, feed, &core::AlertFeed::readAll);
    QObject::connect(&runner, &core::ExperimentRunner::finished, feed,
                     [feed] { feed->raiseWaiting(); }); // this process ends
}

/// What the queue's owner needs from rooms that the queue does not know.
void equip(core::ExperimentRunner &runner) {
    runner.setTorchReason(torchReason);
    runner.setWidth([times = trainingTimes()](const core::Experiment &experiment) {
        return core::widthReached(experiment, times);
    });
    if (const QString command = core::alertCommand(); !command.isEmpty())
        startCommandOnAlerts(runner, command);
}

std::string consoleTail(const std::string &path) {
    const auto text = realFileSystem().readAll(path);
    return text && !text->empty() ? core::lastLine(*text) : "it printed nothing";
}

/// Starts `lockstepctl own ID` in a new session and waits until it owns the queue.
int ownInBackground(const std::string &id, bool json) {
    const std::string console = core::experimentFolder(id).console();
    const Result<qint64> pid = startOwner(id, {QStringLiteral("own"), QString::fromStdString(id)});
    if (!pid)
        return complain(Error::failed("the queue's process can't be started: " + pid.error().message()));
    for (int i = 0; i < 600; ++i) {
        const auto experiment = core::readExperiment(id);
        if (core::isOwned(id) || (experiment && experiment->over())) {
            print(json ? nlohmann::json{{"experiment", id}, {"pid", *pid}}.dump() + "\n"
                       : "experiment " + id + " runs in the background; follow it: lockstepctl attach " + id + "\n");
            return Done;
        }
        if (::kill(pid_t(*pid), 0) != 0)
            return complain(Error::failed("the queue's process ended at once: " + consoleTail(console)));
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return complain(Error::failed("the queue's process did not start within 30 s", "see " + console));
}

QString entryName(const core::PlannedRun &planned) {
    return QString::fromStdString(core::nameWithRepeat(planned));
}

/// The queue's owner's knowledge of its runs: its stores, and results on this machine's disk.
class OwnedRuns {
public:
    explicit OwnedRuns(const core::ExperimentRunner &runner) : m_runner(runner) {}
    std::map<int, core::RunStore *> stores; ///< of current runs

    [[nodiscard]] core::ExperimentClock clock() {
        const auto progress = [this](int entry) {
            const auto found = stores.find(entry);
            return found == stores.end() ? core::Progress{} : core::progressOf(*found->second);
        };
        return {[this](int entry) { return runTimeS(entry); },
                [progress](int entry) { return progress(entry).fraction; },
                [progress](int entry) { return progress(entry).leftS; }};
    }
    [[nodiscard]] std::optional<double> leftS() { return core::leftS(m_runner.experiment(), clock()); }
    [[nodiscard]] std::optional<double> roundS() { return core::roundS(m_runner.experiment(), clock()); }

private:
    std::optional<double> runTimeS(int entry) {
        auto &known = m_runTimesS[entry];
        if (!known && m_runner.experiment().host.empty())
            if (const auto status = readRunStatus(runFolder(m_runner.experiment().entries[std::size_t(entry)].run));
                status.result)
                known = status.result->runTimeS;
        return known;
    }
    const core::ExperimentRunner &m_runner;
    std::map<int, std::optional<double>> m_runTimesS;
};

QString leftText(const core::Experiment &experiment, std::optional<double> leftS) {
    if (leftS)
        return QStringLiteral("about ") + core::timeLeft(leftS);
    int withoutEstimate = 0, runs = 0;
    for (const core::ExperimentEntry &entry : experiment.entries)
        if (!isOver(entry.state)) {
            ++runs;
            withoutEstimate += !entry.planned.estimateS;
        }
    return core::timeUnknown(withoutEstimate, runs);
}

void printPlan(const core::Experiment &experiment, std::optional<double> leftS, ProgressPrinter &printer) {
    const auto runs = experiment.runnableCount();
    printer.line(QStringLiteral("%1: %2, %3, experiment %4")
                     .arg(QString::fromStdString(experiment.title),
                          runs == 1 ? QStringLiteral("1 run") : QStringLiteral("%1 runs").arg(runs),
                          leftText(experiment, leftS), QString::fromStdString(experiment.id)));
    const bool drawn = !std::is_sorted(experiment.order.begin(), experiment.order.end());
    if (drawn && experiment.orderSeed != 0)
        printer.line(
            QStringLiteral("Repeats alternate, in balanced rounds drawn from seed %1").arg(experiment.orderSeed));
    if (experiment.sideBySide.inTurns)
        printer.line(QStringLiteral("The %1 runs of a round take turns on the same cores, a tenth of a second each")
                         .arg(experiment.sideBySide.runs));
    else if (experiment.sideBySide.runs > 1)
        printer.line(
            QStringLiteral("Up to %1 runs go side by side, each on its own devices").arg(experiment.sideBySide.runs));
    const std::string rounds = experiment.until                  ? core::progressText(*experiment.until, {})
                               : core::hasComparison(experiment) ? core::roundsNote(core::roundsOf(experiment), {})
                                                                 : std::string();
    if (!rounds.empty())
        printer.line(QString::fromStdString(rounds));
    for (const core::ExperimentEntry &entry : experiment.entries)
        if (!entry.planned.runnable())
            printer.line(QString::fromStdString(entry.planned.name + "  " + entry.planned.notRunReason));
}

/// After the last run: the table on stdout, the files in --out.
int printResults(const core::ExperimentRunner &runner, const RunOptions &options) {
    auto loaded = loadRuns({runner.experiment().id});
    if (!loaded)
        return complain(loaded.error());
    const core::Report report = loaded->report(); // judged once for all outputs
    if (options.json) {
        nlohmann::ordered_json json = {{"experiment", runner.experiment().id}, {"exit_code", runner.exitCode()}};
        if (!options.tried.empty())
            json["matters"] = report.judgement.matters;
        json["results"] = nlohmann::ordered_json::parse(core::exportResults(report, core::ExportFormat::Json));
        print(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    } else {
        print("\n" + resultText(report.table, report.judgement));
        if (!options.tried.empty() && !report.judgement.matters.empty())
            print("\n" + report.judgement.matters + "\n");
    }
    if (options.out.empty())
        return Done;
    const auto written = core::writeAll(options.out, report);
    return written ? int(Done) : complain(written.error());
}

int ownInForeground(core::ExperimentRunner &runner, const RunOptions &options) {
    ProgressPrinter printer(options.json);
    const auto events = options.tensorBoard.empty() ? nullptr : openEventFiles(options.tensorBoard);
    OwnedRuns owned(runner);
    const auto runs = [&] { return runner.experiment().runnableCount(); }; // rounds may be added
    printer.setWholeLeft([&] { return runs() > 1 ? owned.leftS() : std::nullopt; });
    QObject::connect(&runner, &core::ExperimentRunner::widthMeasured, &printer, [&] {
        printer.line(QString::fromStdString(core::progressText(*runner.experiment().until, owned.roundS())));
    });
    QObject::connect(&runner, &core::ExperimentRunner::runStarted, &printer, [&](int entry, core::RunStore *store) {
        owned.stores[entry] = store;
        if (events)
            events->follow(store);
        const int begun = runner.experiment().overCount() + int(owned.stores.size());
        printer.begin(store, QStringLiteral("run %1 of %2").arg(begun).arg(runs()),
                      entryName(runner.experiment().entries[std::size_t(entry)].planned));
    });
    QObject::connect(&runner, &core::ExperimentRunner::runFinished, &printer, [&](int entry) {
        if (events)
            events->finish();
        printer.end(owned.stores[entry]);
        owned.stores.erase(entry);
        const core::Experiment &now = runner.experiment();
        if (const auto left = owned.leftS(); left && !now.over())
            printer.line(QStringLiteral("%1 of %2 runs over, about %3 left")
                             .arg(now.overCount())
                             .arg(runs())
                             .arg(core::timeLeft(left)));
    });
    QObject::connect(&runner, &core::ExperimentRunner::checking, &printer, [&](int entry) {
        printer.line(QStringLiteral("%1: its devices are checked before the first run over them")
                         .arg(entryName(runner.experiment().entries[std::size_t(entry)].planned)));
    });
    QObject::connect(&runner, &core::ExperimentRunner::finished, &runner,
                     [](int code) { QCoreApplication::exit(code); });
    const StopSignals signals(
        [&] {
            printer.line(QStringLiteral("stopping: current runs end after their step (again: exit at once)"));
            runner.stop(QString::fromStdString(whoAsks()));
        },
        options.outlivesTerminal ? TerminalEnd::Ends : TerminalEnd::Stops);
    printPlan(runner.experiment(), owned.leftS(), printer);
    runner.start();
    const int code = QCoreApplication::exec();
    if (code == BadArguments) {
        std::fprintf(stderr, "lockstepctl: %s\n", printable(runner.sentence().toStdString()).c_str());
        if (std::none_of(runner.experiment().entries.begin(), runner.experiment().entries.end(),
                         [](const auto &entry) { return !entry.run.empty(); }))
            runner.discard(); // nothing was started, so leave nothing behind
        return code;
    }
    const int shown = options.results ? printResults(runner, options) : int(Done);
    if (code != Done)
        std::fprintf(stderr, "lockstepctl: %s\n", printable(runner.sentence().toStdString()).c_str());
    return code != Done ? code : shown;
}

} // namespace

int runCommand(const RunOptions &options) {
    if (options.detach && !options.out.empty())
        return complain(Error::badArgument("--out and --detach are both given",
                                           "omit --out and export later: lockstepctl export", "out"));
    if (options.detach && !options.tensorBoard.empty())
        return complain(Error::badArgument("--tensorboard and --detach are both given",
                                           "omit --tensorboard, then: lockstepctl attach ID --tensorboard DIR",
                                           "tensorboard"));
    for (const std::string &folder : {options.out, options.tensorBoard})
        if (!folder.empty())
            if (const auto writable = core::checkWritableFolder(folder); !writable)
                return complain(writable.error());
    core::setAlertCommand(options.onAlert);
    if (!options.queueOn.empty())
        return queueOnCommand(options);
    std::string id = options.experiment;
    if (const auto origin = core::queueOriginOf(id))
        return resumeThere(*origin, options);
    if (id.empty()) {
        const auto experiment = prepare(options);
        if (!experiment)
            return complain(experiment.error());
        if (auto written = core::createExperiment(*experiment); !written) {
            written.error().kind = ErrorKind::BadArgument;
            return complain(written.error());
        }
        id = experiment->id;
    } else if (const auto experiment = core::readExperiment(id); !experiment) {
        return complain(experiment.error());
    } else if (experiment->over()) {
        return complain(
            Error::badArgument("experiment " + id + " is over: there is no queue to resume", "lockstepctl show " + id));
    }
    if (options.detach) {
        if (core::isOwned(id))
            return complain(core::hasOwner(id));
        return ownInBackground(id, options.json);
    }
    core::ExperimentRunner runner;
    equip(runner);
    if (const auto owned = runner.own(id); !owned)
        return complain(owned.error());
    return ownInForeground(runner, options);
}

int ownCommand(const std::string &experiment) {
    core::ExperimentRunner runner;
    equip(runner);
    if (const auto owned = runner.own(experiment); !owned)
        return complain(owned.error());
    const StopSignals signals([&] { runner.stop(QString::fromStdString(whoAsks())); });
    QObject::connect(&runner, &core::ExperimentRunner::finished, &runner,
                     [](int code) { QCoreApplication::exit(code); });
    runner.start();
    const int code = QCoreApplication::exec();
    if (code != Done)
        std::fprintf(stderr, "lockstepctl: %s\n", printable(runner.sentence().toStdString()).c_str());
    return code;
}

} // namespace lockstep::cli
