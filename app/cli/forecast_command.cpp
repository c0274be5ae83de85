// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>
#include <QCoreApplication>

#include "base/format.h"
#include "base/machine_facts.h"
#include "base/other_load.h"
#include "commands.h"
#include "experiment/plan.h"
#include "experiment/recipe.h"
#include "ipc/clock.h"
#include "ipc/file_system.h"
#include "ipc/printable.h"
#include "ipc/run_folder.h"
#include "ipc/run_title.h"
#include "lab/forecast_grades.h"
#include "lab/lab_report.h"
#include "lab/probe_job.h"
#include "output.h"
#include "stop_signals.h"
#include "store/run_index.h"
#include "subject.h"

namespace lockstep::cli {
namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

std::string interval(const core::Interval &value, QString (*format)(std::optional<double>)) {
    return text(format(value.value)) + " (" + text(format(value.low)) + " to " + text(format(value.high)) + ")";
}

/// Those of the subject, and DDP and a server on all their numbers of devices and on what is here; with --devices, all of these ways on
/// those numbers.
Result<std::set<core::ForecastRun>> runsFor(const ForecastOptions &options, const Subject &subject, int here) {
    std::vector<int> devices;
    std::set<core::ForecastWay> ways = {{Method::Ddp}, {Method::PsSync}};
    if (!options.devices.empty()) {
        for (const core::ForecastRun &run : subject.runs)
            ways.insert(run.way);
        for (const QString &word : QString::fromStdString(options.devices).split(u',', Qt::SkipEmptyParts)) {
            bool whole = false;
            devices.push_back(word.toInt(&whole));
            if (!whole || devices.back() < 1 || devices.back() > core::mostForecastDevices)
                return fail(Error::badArgument("\"" + word.left(40).toStdString() + "\" is not a number of devices",
                                               "write 2,4,8", "--devices"));
        }
    } else {
        for (const core::ForecastRun &run : subject.runs)
            devices.push_back(run.devices);
        for (int n = 2; n <= here; n *= 2)
            devices.push_back(n);
    }
    std::set<core::ForecastRun> runs = core::runsOf(ways, devices);
    if (options.devices.empty())
        runs.insert(subject.runs.begin(), subject.runs.end());
    if (runs.empty() && !options.devices.empty())
        return fail(Error::badArgument("a forecast is of two devices or more against one, and --devices asks for " +
                                           options.devices.substr(0, 40),
                                       "write --devices 2", "--devices"));
    if (runs.empty())
        return fail(Error::badArgument("this machine has only one device",
                                       "give more with --devices; rows that need them read \"can't tell\""));
    return runs;
}

Json outcomeJson(const core::ForecastOutcome &outcome) {
    Json json = {{"runs", outcome.runs},
                 {"runs_before", outcome.runsBefore},
                 {"runs_disturbed", outcome.disturbed},
                 {"measured_step_s", outcome.measuredStepS ? Json(*outcome.measuredStepS) : Json()}};
    if (outcome.grade) {
        json["error"] = outcome.grade->error;
        json["within_interval"] = outcome.grade->within;
    }
    return json;
}

std::string disturbedRuns(const std::vector<core::ForecastOutcome> &outcomes) {
    int disturbed = 0;
    for (const core::ForecastOutcome &outcome : outcomes)
        disturbed += outcome.disturbed;
    if (disturbed == 0)
        return {};
    return (disturbed == 1 ? "1 run since the forecast was disturbed and does"
                           : std::to_string(disturbed) + " runs since the forecast were disturbed and do") +
           std::string(" not grade it.\n");
}

std::string olderRuns(const std::vector<core::ForecastOutcome> &outcomes) {
    int before = 0;
    for (const core::ForecastOutcome &outcome : outcomes)
        before += outcome.runsBefore;
    if (before == 0)
        return {};
    return before == 1 ? "1 run of this work is older than the forecast and is not compared with it.\n"
                       : std::to_string(before) +
                             " runs of this work are older than the forecast and are not compared with it.\n";
}

std::string forecastText(const core::ForecastRecord &record) {
    const core::Forecast &forecast = record.forecast;
    std::string out = "Forecast " + record.id + " for " + record.title + ", " +
                      text(core::wallTime(record.startWallUs)) + ", by lab " + record.lab + "\n";
    if (const std::string elsewhere = core::elsewhereSentence(record, core::thisMachine()); !elsewhere.empty())
        out += elsewhere + "\n";
    for (const core::ComputeProbe &probe : record.input.probes)
        out +=
            "Measured: " +
            (probe.copies == 1 ? std::string("one device") : std::to_string(probe.copies) + " devices side by side") +
            ", batch " + std::to_string(probe.batch) + ": " + text(core::shortTime(probe.stepS)) + " a step\n";
    out += "Gradient: " + text(core::bytes(forecast.gradientBytes)) + " in " +
           std::to_string(forecast.bucketsBytes.size()) +
           (forecast.bucketsBytes.size() == 1 ? " bucket\n" : " buckets\n");
    Rows rows = {{"method", "step", "epoch", "speed-up", "communication", "measured step", "off by"}};
    const std::vector<core::GradingRun> runs = core::readGradingRuns();
    const auto outcomes = core::outcomesOf(record, runs);
    std::string lacking;
    for (std::size_t i = 0; i < forecast.rows.size(); ++i) {
        const core::ForecastRow &row = forecast.rows[i];
        const std::string name = core::nameOf(record.input.config, row.way, row.devices);
        if (!row.whyUnknown.empty()) {
            lacking += name + ": " + row.whyUnknown + "\n";
            continue;
        }
        const auto &grade = outcomes[i].grade;
        rows.push_back({name, interval(row.stepS, core::shortTime), interval(row.epochS, core::seconds),
                        interval(row.speedUp, core::speedUp), text(core::shortTime(row.exposedS)),
                        text(core::shortTime(outcomes[i].measuredStepS)),
                        grade ? text(core::percent(grade->error, 1)) + (grade->within ? "" : ", outside") : "-"});
    }
    out += "\n" + aligned(rows) + lacking + olderRuns(outcomes) + disturbedRuns(outcomes);
    for (const std::string &sentence : core::bestDevicesSentences(record.input.config, forecast))
        out += sentence + "\n";
    out += core::sentenceOf(record.calibration) + "\n" +
           core::sentenceOf(core::tallyOfForecasts(core::placeOf(record), runs)) + "\n";
    for (const std::string &sentence : forecast.reservations)
        out += sentence + "\n";
    return out;
}

/// The lab to use: the one named, else the best suited between the subject's places.
Result<core::LabRecord> labFor(const ForecastOptions &options, const RunConfig &config) {
    const std::vector<NodePlace> &nodes = config.nodes;
    if (!options.lab.empty()) {
        auto named = core::readLab(options.lab);
        return named ? std::move(named)
                     : fail(Error::badArgument("there is no lab " + options.lab, "`lockstepctl lab --list` shows them",
                                               "--lab"));
    }
    const bool gpus = config.device == "cuda";
    if (auto newest = core::newestLabFor(config))
        return std::move(*newest);
    const auto other = core::newestLab();
    if (nodes.empty()) {
        const std::string lacks =
            core::newestLabOf(nodes)
                ? "these runs are on device kind " + config.device + ", but this machine's labs measured another kind"
                : "a forecast needs the cost of communication here, but there is no lab" +
                      (other ? " of this machine, only one " + core::whereMeasured(*other) : std::string(" yet"));
        return fail(Error::badArgument(lacks, gpus ? "run `lockstepctl lab --device cuda --quick` first"
                                                   : "run `lockstepctl lab --quick` first"));
    }
    core::LabRecord wanted;
    wanted.nodes = nodes;
    return fail(Error::badArgument(
        "no lab was measured " + core::whereMeasured(wanted) +
            (other ? "; the newest one, " + other->id + ", was measured " + core::whereMeasured(*other) : ""),
        "run `lockstepctl lab --nodes` with these nodes first" +
            (other ? ", or use that one with --lab " + other->id : std::string())));
}

int show(const core::ForecastRecord &record, bool json) {
    if (!json) {
        print(forecastText(record));
        return Done;
    }
    Json out = Json::parse(core::toJson(record));
    const std::vector<core::GradingRun> runs = core::readGradingRuns();
    const auto outcomes = core::outcomesOf(record, runs);
    const core::ForecastTally tally = core::tallyOfForecasts(core::placeOf(record), runs);
    out["all_forecasts"] = {{"graded", tally.graded}, {"held", tally.held}};
    for (std::size_t i = 0; i < outcomes.size(); ++i)
        out["rows"][i]["outcome"] = outcomeJson(outcomes[i]);
    print(out.dump(1) + "\n");
    return Done;
}

int showNewest(const ForecastOptions &options) {
    if (options.what.empty()) {
        const auto newest = core::newestForecast();
        return newest ? show(*newest, options.json)
                      : complain(
                            Error::badArgument("there is no forecast yet", "`lockstepctl forecast RECIPE` makes one"));
    }
    auto newest = core::newestForecastOf(options.what);
    if (!newest)
        if (const auto recipe = core::loadRecipe(options.what)) // by a file's path
            newest = core::newestForecastOf(recipe->name);
    return newest ? show(*newest, options.json)
                  : complain(Error::badArgument("there is no forecast of \"" + options.what.substr(0, 80) + "\"",
                                                "`lockstepctl forecast` with that name makes one"));
}

/// Runs the probes and writes their figures into `record`.
int probe(core::ForecastRecord &record) {
    core::ProbeJob job;
    int exitCode = Failed;
    QObject::connect(&job, &core::ProbeJob::progressed, [](const QString &what) {
        std::fprintf(stderr, "probe: %s\n", printable(what.toStdString()).c_str());
    });
    QObject::connect(&job, &core::ProbeJob::finished, [&] {
        record.input.probes = job.probes();
        record.input.samples = job.costs().trainSamples;
        record.input.parameterBytes = job.costs().parameterBytes;
        record.input.bufferBytes = job.costs().bufferBytes;
        record.input.layers = job.costs().layers;
        record.otherCores = job.otherCores();
        exitCode = Done;
        QCoreApplication::exit();
    });
    QObject::connect(&job, &core::ProbeJob::failed, [&](const Error &error) {
        exitCode = complain(error);
        QCoreApplication::exit();
    });
    const StopSignals signals([&] {
        exitCode = Stopped;
        QCoreApplication::exit();
    });
    if (const auto started = job.start(core::probesFor(record.input)); !started)
        return complain(started.error());
    if (exitCode == Failed)
        QCoreApplication::exec();
    return exitCode;
}

} // namespace

int forecastCommand(const ForecastOptions &options) {
    if (options.show)
        return showNewest(options);
    std::vector<std::string> set = options.set;
    if (!options.nodes.empty())
        set.push_back("nodes=" + options.nodes);
    const auto subject = subjectOf(options.what, set);
    if (!subject)
        return complain(subject.error());
    const auto lab = labFor(options, subject->config);
    if (!lab)
        return complain(lab.error());
    core::ForecastRecord record;
    record.title = subject->title;
    record.recipe = subject->recipe;
    record.input.config = subject->config;
    const RunConfig &config = record.input.config;
    record.input.devicesHere = config.nodes.empty()
                                   ? core::deviceLimit(core::localMachineFacts(), config.device, config.coresPerDevice)
                                   : deviceCount(config);
    auto runs = runsFor(options, *subject, record.input.devicesHere);
    if (!runs)
        return complain(runs.error());
    record.input.runs = std::move(*runs);
    record.lab = lab->id;
    const core::MachineName machine = core::thisMachine();
    record.host = machine.host;
    record.cpuModel = machine.cpuModel;
    record.id = makeRunId();
    record.startWallUs = SystemClock().wallUs();
    if (const int code = probe(record); code != Done)
        return code;
    auto made = core::forecast(record.input, core::fitLab(*lab));
    if (!made)
        return complain(Error::failed("the probes measured no step"));
    record.forecast = std::move(*made);
    record.calibration = core::calibrationOf(core::tallyOfForecasts(core::placeOf(record), core::readGradingRuns()));
    core::widen(record.forecast, record.calibration);
    std::vector<std::string> &reservations = record.forecast.reservations;
    if (!subject->leftOut.empty())
        reservations.push_back(subject->leftOut);
    for (std::string &sentence : core::labReservationsFor(config, *lab, machine))
        reservations.push_back(std::move(sentence));
    if (std::string others = core::otherLoadSentence(record.otherCores, "single devices trained for this forecast");
        !others.empty())
        reservations.push_back(std::move(others));
    if (auto written = core::writeForecast(record); !written)
        return complain(written.error());
    return show(record, options.json);
}

} // namespace lockstep::cli
