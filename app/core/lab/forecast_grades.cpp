// SPDX-License-Identifier: MIT
#include "lab/forecast_grades.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "analysis/fairness/shared_load.h"
#include "base/format.h"
#include "ipc/median.h"
#include "ipc/run_folder.h"
#include "ipc/sound_values.h"

namespace lockstep::core {
namespace {

constexpr double disturbedCores = 0.1;     ///< as a notable difference in the fairness check
constexpr double disturbedThrottle = 0.05; ///< share of the time
constexpr double leastDistance = 0.005;    ///< logarithmic: a bound at the forecast itself leaves nothing to widen
constexpr double narrowest = 0.5, widest = 10;
constexpr std::size_t mostLeftOutNamed = 5; ///< in a sentence

std::vector<std::string> newestRuns(int most) {
    std::vector<std::string> ids;
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator(runsFolder(), error))
        if (const std::string id = entry.path().filename().string(); isRunId(id))
            ids.push_back(id);
    std::sort(ids.rbegin(), ids.rend());
    if (int(ids.size()) > most)
        ids.resize(std::size_t(most));
    return ids;
}

/// Whether a step of the run computes what a step of the forecast does, whatever the devices and the length.
bool hasStepOf(const RunConfig &forecast, const RunConfig &run) {
    RunConfig alike = forecast; // a batch that is given by device, and a linear learning rate, depend on the devices
    for (const FieldSpec &field : runConfigFields())
        if (field.effect == FieldEffect::Means && !belongsToWay(field, run.method))
            (void)field.set(alike, field.get(run)); // it came from a config, so it is allowed
    return std::ranges::all_of(runConfigFields(), [&](const FieldSpec &field) {
        const bool counts = field.effect == FieldEffect::Step || belongsToWay(field, run.method);
        return !counts || effectiveValue(field, alike) == effectiveValue(field, run);
    });
}

/// Of the epochs that the run made itself, the first aside, which warms up: where it made one alone, of that one. Those before a
/// checkpoint were measured by another run.
std::optional<double> stepOf(const Summary &summary, const RunConfig &config) {
    if (config.resume && !summary.firstEpoch)
        return std::nullopt; // an earlier version's: which ones they are is unknown
    const int first = summary.firstEpoch.value_or(1);
    const bool alone = !summary.epochs.empty() && summary.epochs.back().epoch == first && !summary.amidEpoch;
    const double batch = double(globalBatch(config));
    std::vector<double> steps;
    for (const EpochSummary &epoch : summary.epochs)
        if ((epoch.epoch > first || (alone && epoch.epoch == first)) && epoch.samples > 0 && batch > 0)
            steps.push_back(epoch.durationS / std::ceil(double(epoch.samples) / batch));
    return median(std::move(steps));
}

bool wasDisturbed(const RunRecord &record, const RunResult &result) {
    RunOutcome run;
    run.config = record.config;
    run.conditions.freeCores = record.freeCores;
    run.conditions.surroundings = result.surroundings;
    const auto excess = excessCores(run);
    const auto throttled = result.surroundings
                               ? shareOfTime(result.surroundings->throttledS, result.surroundings->measuredS)
                               : std::nullopt;
    return excess.value_or(0) >= disturbedCores || throttled.value_or(0) >= disturbedThrottle;
}

/// On nodes the places are part of the work.
bool isAtPlaceOf(const ForecastRecord &record, const GradingRun &run) {
    return record.input.config.nodes.empty()
               ? run.config.nodes.empty() && isSameMachine({run.host, run.cpuModel}, placeOf(record).machine)
               : placesOf(run.config.nodes) ==
                     placesOf(firstDevices(record.input.config.nodes, deviceCount(run.config)));
}

double distance(double from, double to) {
    return from > 0 && to > 0 ? std::max(leastDistance, std::fabs(std::log(to / from))) : leastDistance;
}

/// Against the model's own bounds: those of the record were widened.
double scoreOf(const ForecastRow &row, double measuredS, double widenedBy) {
    const double bound = measuredS < row.stepS.value ? row.stepS.low : row.stepS.high;
    return std::fabs(std::log(measuredS / row.stepS.value)) / (distance(row.stepS.value, bound) / widenedBy);
}

Interval moved(const Interval &interval, double factor) {
    return {interval.value, interval.value * std::exp(-factor * distance(interval.value, interval.low)),
            interval.value * std::exp(factor * distance(interval.value, interval.high))};
}

} // namespace

std::vector<GradingRun> readGradingRuns(int most, const std::stop_token &stop) {
    std::vector<GradingRun> out;
    for (const std::string &id : newestRuns(most)) {
        if (stop.stop_requested())
            break;
        const auto run = readRunRecord(runFolder(id));
        const auto ended = readRunResult(runFolder(id));
        if (!run || !ended || isScript(*run) || !run->config || ended->state != RunState::Done || !ended->summary)
            continue;
        if (const auto step = stepOf(*ended->summary, *run->config); step && isTimeOfWork(*step)) {
            const MachineRecord machine = run->machines.empty() ? MachineRecord() : run->machines.front();
            out.push_back(
                {*run->config, machine.host, machine.cpuModel, run->startWallUs, *step, wasDisturbed(*run, *ended)});
        }
    }
    return out;
}

std::string leftOutSentence(const PlannedRun &like, const std::vector<PlannedRun> &plan) {
    std::vector<std::string> others;
    for (const PlannedRun &run : plan) {
        if (!run.command.empty() || run.repeat > 1)
            continue;
        const ForecastWay way = wayOf(run.config, like.config);
        const int devices = deviceCount(run.config);
        if (!runsOf({way}, {devices}).empty() && !hasStepOf(configOf(like.config, way, devices), run.config))
            others.push_back("\"" + run.name + "\"");
    }
    if (others.empty())
        return {};
    const std::size_t named = std::min(mostLeftOutNamed, others.size());
    std::string out =
        "The forecast is of steps as in \"" + like.name + "\". These runs have other steps and are not forecast: ";
    for (std::size_t i = 0; i < named; ++i)
        out += (i == 0 ? "" : ", ") + others[i];
    return out + (named < others.size() ? " and " + std::to_string(others.size() - named) + " more." : ".");
}

std::vector<ForecastOutcome> outcomesOf(const ForecastRecord &record, const std::vector<GradingRun> &runs) {
    std::vector<const GradingRun *> here;
    for (const GradingRun &run : runs)
        if (isAtPlaceOf(record, run))
            here.push_back(&run);
    std::vector<ForecastOutcome> out;
    for (const ForecastRow &row : record.forecast.rows) {
        const RunConfig forecast = configOf(record.input.config, row.way, row.devices);
        ForecastOutcome outcome;
        std::vector<double> steps;
        for (const GradingRun *run : here) {
            if (run->config.method != row.way.method || deviceCount(run->config) != row.devices ||
                !hasStepOf(forecast, run->config))
                continue;
            if (run->startWallUs < record.startWallUs)
                ++outcome.runsBefore;
            else if (run->disturbed)
                ++outcome.disturbed;
            else
                steps.push_back(run->stepS);
        }
        outcome.runs = int(steps.size());
        outcome.measuredStepS = median(std::move(steps)); // absent: none
        if (outcome.measuredStepS)
            outcome.grade = gradeForecast(row, *outcome.measuredStepS);
        out.push_back(outcome);
    }
    return out;
}

std::vector<ForecastOutcome> outcomesOf(const ForecastRecord &record) {
    return outcomesOf(record, readGradingRuns());
}

void addTo(ForecastTally &tally, const ForecastRecord &record, const std::vector<GradingRun> &runs) {
    const auto outcomes = outcomesOf(record, runs);
    std::set<ForecastRun> counted;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        const ForecastRow &row = record.forecast.rows[i];
        const auto &grade = outcomes[i].grade;
        if (!grade || !counted.insert({row.way, row.devices}).second)
            continue;
        ++tally.graded;
        tally.held += grade->within ? 1 : 0;
        tally.scores.push_back(scoreOf(row, grade->measuredS, record.calibration.factor));
    }
}

ForecastTally tallyOfForecasts(const ForecastPlace &place, const std::vector<GradingRun> &runs,
                               const std::stop_token &stop) {
    ForecastTally out;
    eachForecast(
        [&](const ForecastRecord &record) {
            if (isFor(record, place))
                addTo(out, record, runs);
            return false;
        },
        stop);
    return out;
}

std::string sentenceOf(const ForecastTally &tally) {
    if (tally.graded == 0)
        return "No forecast is graded yet: none of what was forecast ran undisturbed since.";
    return std::to_string(tally.held) + " of " + std::to_string(tally.graded) +
           (tally.graded == 1 ? " forecast held (" : " forecasts held (") +
           percent(double(tally.held) / tally.graded, 0).toStdString() + "; " +
           percent(forecastLevel, 0).toStdString() + " are meant to).";
}

Calibration calibrationOf(const ForecastTally &tally) {
    std::vector<double> scores = tally.scores;
    const auto n = scores.size();
    const auto rank = std::size_t(std::ceil(forecastLevel * double(n + 1) - 1e-9));
    if (n == 0 || rank > n)
        return {};
    std::ranges::sort(scores);
    return {std::clamp(scores[rank - 1], narrowest, widest), int(n)};
}

std::string sentenceOf(const Calibration &calibration) {
    if (calibration.graded == 0)
        return "Intervals are the model's own bounds: fewer than nine forecasts were graded when this one was made.";
    return percent(forecastLevel, 0).toStdString() + " prediction intervals of steps: the model's bounds × " +
           significant(calibration.factor, 2).toStdString() + ", as " + std::to_string(calibration.graded) +
           " graded forecasts ask for.";
}

void widen(Forecast &forecast, const Calibration &calibration) {
    if (calibration.graded == 0)
        return;
    for (ForecastRow &row : forecast.rows)
        if (row.whyUnknown.empty())
            for (Interval *interval : {&row.stepS, &row.epochS, &row.speedUp})
                *interval = moved(*interval, calibration.factor);
}

} // namespace lockstep::core
