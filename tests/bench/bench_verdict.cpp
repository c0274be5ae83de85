// SPDX-License-Identifier: MIT
// How often verdicts are right: experiments with planted speed-ups and planted noise, judged by `lockstepctl compare --json`.
//   bench_verdict LOCKSTEPCTL [EXPERIMENTS]     (200; of each kind)
// Prints a Markdown table and ends with 1 when a goal is missed. Every draw comes from a fixed seed, so that the same program
// always prints the same table.
//
// Goals: 93 to 99 % of the 95 % intervals hold the planted speed-up, whatever the noise, and so many of the waterfall's bars
// the planted part of the difference; at most 6 % of the experiments whose runs are all alike claim a difference; 15 % drift
// moves the mean speed-up by at most 0.2 %. Each is judged with room for the draws, three standard errors of the share or of
// the mean: of each row from 100 experiments on, and of all rows together, whose shares fewer experiments estimate well enough.
#include <QCoreApplication>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ipc/median.h"
#include "tests/bench/planted_noise.h"
#include "tests/bench/planted_run.h"

using namespace lockstep;
using namespace lockstep::bench;

namespace {

constexpr double plantedSpeedUp = 1.7;

/// What is drawn for the parts of a time leaves the times as they are.
struct Draws {
    Random times{20}, parts{21};
};

/// A run id of its own for each.
std::string nextRun() {
    static unsigned number = 0;
    char id[32];
    std::snprintf(id, sizeof id, "20260102T%02u%02u%02uZ-%08x", number / 3600 % 24, number / 60 % 60, number % 60,
                  number);
    ++number;
    return id;
}

/// What a training time is made of, and what comes on top of it; in the order of the waterfall's bars.
struct Parts {
    double load = 0, compute = 0, communication = 0, outside = 0, rest = 0;
};
/// As shares of the training time.
constexpr Parts ofMost = {0.40, 0.45, 0.05, 0.10, 0.10}, ofTheFaster = {0.15, 0.60, 0.18, 0.15, 0.07};
constexpr std::array<std::pair<const char *, double Parts::*>, 5> bars = {{{"data loading", &Parts::load},
                                                                           {"device compute", &Parts::compute},
                                                                           {"communication", &Parts::communication},
                                                                           {"outside training", &Parts::outside},
                                                                           {"unattributed", &Parts::rest}}};

/// Each part with scatter of its own, and so that they still add up.
Parts drawnParts(const Parts &shares, double trainingS, Random &random) {
    Parts out = shares;
    for (const auto &[name, part] : bars)
        out.*part *= std::exp(0.02 * normal(random));
    const double scale = trainingS / (out.load + out.compute + out.communication + out.rest);
    for (const auto &[name, part] : bars)
        out.*part *= part == &Parts::outside ? trainingS : scale;
    return out;
}

/// `place`: in the order in which the experiment's runs are made; `load`: of other programs, in cores beyond the free ones.
bool plant(const std::string &run, const std::string &experiment, int number, int repeat, std::int64_t place,
           double trainingS, const Parts &parts, std::optional<double> load) {
    RunRecord record;
    record.run = run;
    record.startWallUs = (1'767'312'000 + 20 * place) * 1'000'000; // one every 20 s
    record.name = number == 0 ? "baseline" : "variant " + std::to_string(number);
    record.experiment = experiment;
    record.repeat = repeat + 1;
    RunConfig config;
    config.batchSize = 64 * (number + 1);
    record.config = config;
    record.deviceNames = {"cpu:0"};
    RunResult result;
    result.run = run;
    result.state = RunState::Done;
    result.exitCode = 0;
    result.runTimeS = trainingS + parts.outside;
    if (load) {
        record.freeCores = 0;
        result.surroundings = Surroundings{result.runTimeS, *load * result.runTimeS, {}, {}, {}};
    }
    Summary summary;
    summary.method = "baseline";
    summary.totalTrainingTimeS = trainingS;
    summary.epochs = {{1, 0.5, trainingS, 60'000}};
    summary.phasesS = {{"load", parts.load}, {"forward", parts.compute}, {"exposed", parts.communication}};
    result.summary = summary;
    return bench::plantRun(record, result);
}

struct Counts {
    int experiments = 0, intervals = 0, covered = 0, families = 0, falseFamilies = 0, bars = 0, barsCovered = 0;
    std::vector<double> widths, logErrors;

    void add(const Counts &other) {
        experiments += other.experiments;
        intervals += other.intervals;
        covered += other.covered;
        families += other.families;
        falseFamilies += other.falseFamilies;
        bars += other.bars;
        barsCovered += other.barsCovered;
        widths.insert(widths.end(), other.widths.begin(), other.widths.end());
        logErrors.insert(logErrors.end(), other.logErrors.begin(), other.logErrors.end());
    }
};

constexpr int enoughToJudge = 100;
constexpr double referenceS = 10;

/// By how much the noise lengthens a run on average: seconds, unlike their ratio, grow with what all runs bear. In
/// logarithms, by run.
std::vector<double> meanNoise(const Shape &shape, const Noise &noise) {
    constexpr int draws = 2'000;
    Random random(7);
    std::vector<double> out(std::size_t(shape.runs));
    for (int i = 0; i < draws; ++i) {
        const Shape one = drawnShape(shape.runs, shape.repeats, random);
        Times times(std::size_t(shape.runs), std::vector<double>(std::size_t(shape.repeats)));
        noise.add(one, random, times);
        for (std::size_t run = 0; run < times.size(); ++run)
            for (const double time : times[run])
                out[run] += time / draws / shape.repeats;
    }
    return out;
}

/// Counts the bars of one pair whose interval holds what was planted.
void countBars(const QJsonArray &found, double planted, double referenceNoise, double runNoise, Counts &counts) {
    const double trainingS = referenceS / planted;
    const Parts &shares = planted == 1 ? ofMost : ofTheFaster;
    for (const auto &[name, part] : bars) {
        const auto bar = std::ranges::find_if(
            found, [&](const auto &one) { return one[QStringLiteral("cause")].toString() == QLatin1String(name); });
        const double truth =
            shares.*part * trainingS * std::exp(runNoise) - ofMost.*part * referenceS * std::exp(referenceNoise);
        ++counts.bars;
        counts.barsCovered += bar != found.end() && (*bar)[QStringLiteral("low_s")].toDouble() <= truth &&
                              truth <= (*bar)[QStringLiteral("high_s")].toDouble();
    }
}

/// Plants one experiment, has it judged and counts. `planted`: the second run's speed-up; the others have none.
bool judgeOne(const QString &lockstepctl, const Shape &drawn, const Noise &noise, const std::vector<double> &onAverage,
              double planted, Draws &draws, Counts &counts) {
    Random &random = draws.times;
    const Shape shape = drawnShape(drawn.runs, drawn.repeats, random);
    const Times times = drawnTimes(shape, noise, random);
    const Loads loads = noise.load ? noise.load(shape, random) : Loads();
    const std::string experiment = "20260102T000000Z-" + nextRun().substr(17);
    QStringList arguments = {QStringLiteral("compare"), QStringLiteral("--json")};
    std::vector<std::string> runs;
    for (int run = 0; run < shape.runs; ++run)
        for (int repeat = 0; repeat < shape.repeats; ++repeat) {
            runs.push_back(nextRun());
            const double seconds =
                referenceS * std::exp(times[std::size_t(run)][std::size_t(repeat)]) / (run == 1 ? planted : 1);
            const Parts &shares = run == 1 && planted != 1 ? ofTheFaster : ofMost;
            const auto place = std::ranges::find(shape.place, repeat * shape.runs + run) - shape.place.begin();
            const std::optional<double> load =
                loads.empty() ? std::nullopt : std::optional(loads[std::size_t(run)][std::size_t(repeat)]);
            if (!plant(runs.back(), experiment, run, repeat, place, seconds, drawnParts(shares, seconds, draws.parts),
                       load))
                return false;
            arguments.append(QString::fromStdString(runs.back()));
        }
    QProcess process;
    process.start(lockstepctl, arguments);
    if (!process.waitForFinished(-1) || process.exitCode() != 0) {
        std::fprintf(stderr, "%s: %s\n", qPrintable(arguments.join(u' ')), process.readAllStandardError().constData());
        return false;
    }
    bool claimed = false;
    const QJsonObject judgement =
        QJsonDocument::fromJson(process.readAllStandardOutput())[QStringLiteral("judgement")].toObject();
    const QJsonArray pairs = judgement[QStringLiteral("pairs")].toArray();
    if (pairs.size() != shape.runs - 1)
        return false;
    for (qsizetype i = 0; i < pairs.size(); ++i) {
        const QJsonObject found = pairs[i][QStringLiteral("speed_up_training")].toObject();
        const double low = found[QStringLiteral("low")].toDouble(), high = found[QStringLiteral("high")].toDouble();
        const double truth = i == 0 ? planted : 1;
        ++counts.intervals;
        counts.covered += low <= truth && truth <= high;
        counts.widths.push_back(high / low);
        counts.logErrors.push_back(std::log(found[QStringLiteral("factor")].toDouble() / truth));
        countBars(pairs[i][QStringLiteral("attribution")][QStringLiteral("bars")].toArray(), truth, onAverage[0],
                  onAverage[std::size_t(i) + 1], counts);
        claimed = claimed || (truth == 1 && found[QStringLiteral("different")].toBool());
    }
    ++counts.experiments;
    if (planted == 1) {
        ++counts.families;
        counts.falseFamilies += claimed;
    }
    for (const std::string &run : runs)
        if (!QDir(QString::fromStdString(runFolder(run).path)).removeRecursively())
            return false;
    return true;
}

/// The standard error of a share of `count` draws.
double errorOf(double share, double count) {
    return std::sqrt(std::max(share * (1 - share), 0.01) / count);
}

/// Prints a row; false when a goal is missed. `judged`: whether there are enough experiments; `unbiased`: whether its bias
/// has a goal.
bool report(const std::string &head, const Counts &counts, bool judged, bool unbiased) {
    // Pairs of one experiment share their reference, so that a share of them is known no better than that of experiments.
    const double experiments = counts.experiments;
    const double covered = double(counts.covered) / counts.intervals, error = errorOf(covered, experiments);
    const double claimed = counts.families ? double(counts.falseFamilies) / counts.families : 0;
    const double bars = double(counts.barsCovered) / counts.bars, barsError = errorOf(bars, experiments);
    double bias = 0, squares = 0;
    for (const double each : counts.logErrors)
        bias += each / double(counts.logErrors.size());
    for (const double each : counts.logErrors)
        squares += (each - bias) * (each - bias);
    const double biasError = std::sqrt(squares / double(counts.logErrors.size()) / experiments);
    std::string missed;
    if (judged && (covered + 3 * error < 0.93 || covered - 3 * error > 0.99))
        missed += " coverage";
    if (judged && (bars + 3 * barsError < 0.93 || bars - 3 * barsError > 0.99))
        missed += " bars";
    if (judged && counts.families && claimed - 3 * errorOf(claimed, counts.families) > 0.06)
        missed += " families";
    if (judged && unbiased && std::fabs(bias) - 3 * biasError > 0.002)
        missed += " bias";
    std::printf("| %s | %.1f %% | %.3f | %.1f %% | %.1f %% | %+.2f ± %.2f %% | %s |\n", head.c_str(), 100 * covered,
                *median(counts.widths), 100 * bars, 100 * claimed, 100 * bias, 200 * biasError,
                !judged          ? "too few to judge"
                : missed.empty() ? "kept"
                                 : ("MISSED:" + missed).c_str());
    std::fflush(stdout);
    return missed.empty();
}

} // namespace

int main(int argc, char **argv) {
    const QCoreApplication app(argc, argv);
    if (argc < 2 || argc > 3 || (argc == 3 && std::atoi(argv[2]) < 2)) {
        std::fprintf(stderr, "bench_verdict LOCKSTEPCTL [EXPERIMENTS]    EXPERIMENTS of each kind, at least 2\n");
        return 2;
    }
    const int experiments = argc == 3 ? std::atoi(argv[2]) : 200;
    const QTemporaryDir home;
    qputenv("LOCKSTEP_HOME", home.path().toUtf8());
    std::printf("| noise | runs | repeats | covered | width (high ÷ low, median) | bars covered | false families | "
                "bias (± 2 standard "
                "errors) | goals |\n"
                "|---|---|---|---|---|---|---|---|---|\n");
    bool kept = true;
    Draws draws;
    Counts all;
    std::vector<Noise> planted = noises();
    planted.insert(planted.end(), {disturbances()[0], disturbances()[1]}); // of the others bench_intervals is enough
    for (const Noise &noise : planted)
        for (const auto &[runs, repeats] : {std::pair{2, 3}, {2, 5}, {5, 3}, {15, 3}}) {
            const Shape shape{runs, repeats, {}};
            const std::vector<double> mean = noise.load ? std::vector<double>(std::size_t(runs))
                                                        : meanNoise(shape, noise); // a quiet machine's truth
            Counts counts;
            for (int i = 0; i < experiments; ++i) // every other one without any difference
                if (!judgeOne(QString::fromLocal8Bit(argv[1]), shape, noise, mean, i % 2 ? 1 : plantedSpeedUp, draws,
                              counts)) {
                    std::fprintf(stderr, "bench_verdict: an experiment could not be judged\n");
                    return 1;
                }
            kept = report(noise.name + (" | " + std::to_string(runs) + " | " + std::to_string(repeats)), counts,
                          experiments >= enoughToJudge, noise.hasBiasGoal) &&
                   kept;
            all.add(counts);
        }
    kept = report("all | - | -", all, true, false) && kept;
    return kept ? 0 : 1;
}
