// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/statistics.h"
#include "experiment/experiment.h"
#include "experiment/recipe.h"
#include "store/run_data.h"

namespace lockstep::core {

/// A repeat that failed and was not made again.
struct FailedRepeat {
    int repeat = 1;
    std::string run; ///< its id; empty: it never came so far
    std::string reason;
    bool operator==(const FailedRepeat &) const = default;
};

/// Of two runs that are compared, devices in all.
struct PairDevices {
    int reference = 1, run = 1;
};
/// Speed-up ÷ how many times as many devices the run has. Absent where it has no more than the reference, of which it says nothing.
[[nodiscard]] std::optional<double> efficiencyOf(double factor, const PairDevices &devices);

/// A published run's name wherever it stands beside ours: "published DP on 8 devices".
[[nodiscard]] std::string publishedLabel(const std::string &name);

/// One line of the verdict's table: all repeats of one run, or one published figure. Absent is unknown.
struct ResultRow {
    std::string name; ///< "DDP on 2 devices"
    bool published = false;
    std::string kind; ///< "measured here", "not run here", or "published, 8 × H100, sum of epoch durations"
    std::string method, backend, loader, augment, model, dataset, device;
    int devices = 1;
    std::optional<int> workers;      ///< per process
    int repeats = 0;                 ///< done ones that trained, which the figures are of
    int planned = 0;                 ///< as many were asked for
    std::string state;               ///< "done", "running", "queued", "failed", "stopped", "unknown", "not run"
    std::vector<MergedEpoch> epochs; ///< each epoch's medians over the repeats, of its devices the last one's
    /// Times are geometric means over the repeats, as the factors are: two of them divided give the factor.
    std::optional<double> firstEpochS;
    std::optional<double> epochMedianS;          ///< of each repeat's median later epoch; absent: there is none
    std::vector<Repeat> trainingTimes, runTimes; ///< total training time, and launch to exit, of each done repeat
    std::optional<double> totalTrainingTimeS, runTimeS;
    std::optional<int> firstEpoch = 1;       ///< commonFirstEpoch() of the repeats that the figures are of
    std::optional<bool> spansFrames = false; ///< commonSpan() of them
    bool timedUnlike = false;                ///< its run time and the reference's can't be compared: timedAlike()
    std::optional<double> publishedTimeS;    ///< its kind is in `kind`
    std::optional<double> speedUpTraining,
        speedUpRun;                   ///< the reference's measured time ÷ this one's, of geometric means
    std::optional<double> efficiency; ///< efficiencyOf() speedUpTraining; once judged as PairJudgement's
    /// Against the reference, of ours alone and once judged (judgement.h): by training time, by the median epoch after the
    /// first, launch to exit; with their 95 % intervals where both have three repeats.
    std::optional<SpeedUp> trainingInterval, epochInterval, runInterval;
    std::optional<double> accuracyDifference, lossDifference; ///< likewise: median less the reference's
    bool otherWork = false;                                   ///< once judged: PairJudgement's; it has no speed-ups
    std::optional<double> printedSpeedUp;                     ///< published: as printed, beside the computed one
    std::optional<double> testAccuracy, finalLoss;            ///< medians
    MetricValues metrics;                                     ///< medians, over all ranks (ipc/metrics.h)
    std::vector<double> perClassAccuracy;                     ///< of the median run
    std::vector<std::string> classNames;                      ///< RunOutcome's, likewise
    std::vector<DeviceUse> devicesUse;                        ///< each device, mean over epochs and repeats
    std::string utilisation;                                  ///< "cpu:0 97 %, cpu:1 95 %"
    std::string memory; ///< "cpu:0 412 MiB, cpu:1 298 MiB": the most of each device over all repeats
    std::optional<double> energyGpusJ, energyPackagesJ;      ///< medians, launch to exit (analysis/compare/energy.h)
    std::optional<double> energyPerSampleJ, gpuHoursWaiting; ///< likewise
    std::string energyUnknown;                               ///< why the devices' energy is; empty: it is known
    std::vector<std::string> hosts;
    int nodes = 1;
    std::map<std::string, double, std::less<>> phasesS; ///< means over the repeats, of each as RunOutcome::phasesS
    std::vector<std::string> notes;    ///< "not comparable: oversubscribed", "not run: needs 8, has 2", …
    std::vector<std::string> runs;     ///< run ids
    std::vector<FailedRepeat> failed;  ///< in the order of its repeats
    std::vector<std::string> disputes; ///< MeasuredOnce's: no figure is of those runs
    std::vector<std::string> command;  ///< a recipe's script with its placeholders; empty: lockstep-trainer, or unknown
    bool reference = false;
};

/// In place of the speed-up of a row that has other work than its reference.
inline constexpr const char *otherWorkText = "other work";

/// Its name in a chart, where only the label tells whether it was measured here.
[[nodiscard]] std::string labelOf(const ResultRow &row);
/// None of its repeats waits or goes on; not of one whose state is unknown.
[[nodiscard]] bool isOver(const ResultRow &row);
/// "1 of 2 done, 13.8 s": its repeats and their training time; empty where none is done.
[[nodiscard]] std::string doneText(const ResultRow &row);

struct ResultTable {
    std::string title;
    std::vector<ResultRow> rows; ///< ours in plan order, then published
    std::string reference;
    std::vector<std::string> notes;        ///< the recipe's, contradictions
    std::string verdict;                   ///< the judgement's sentence; empty: not judged
    std::vector<std::string> reservations; ///< what keeps it from being taken at its word
    std::string experiment;                ///< its id; empty: runs side by side
    bool extendable = false;               ///< an experiment that is over: its queue takes further rounds
    std::optional<double> roundS;          ///< one more round of it, launch to exit; absent: unknown
    std::string datasetNote;               ///< "Fashion-MNIST, 12,800 samples, 3 epochs (quick)"
};

/// Metrics that any row knows, in the order of metricBefore().
[[nodiscard]] std::vector<std::string> metricNames(const ResultTable &table);

/// The title of the data set that the published figures are of, where ours are of another one; else empty.
[[nodiscard]] std::string publishedOnOtherData(const ResultTable &table);

/// Of our run of that name; empty where there is none.
[[nodiscard]] std::string methodOf(const ResultTable &table, const std::string &name);

/// Why a run does not count as the entry's, though that names it: its own record must say that it is, not the experiment alone. A run
/// without a record, such as one that has just begun, is believed. Empty: it counts. One sentence.
[[nodiscard]] std::string whyNotCounted(const RunOutcome &outcome, const ExperimentEntry &entry,
                                        const std::string &experiment);

/// Of an experiment; `outcomes` as far as there are, matched by run id. One measurement counts once, as below.
[[nodiscard]] ResultTable resultTable(const Experiment &experiment, const std::vector<RunOutcome> &outcomes);
/// Whether runs of unlike amounts of work (analysis/history/work_amount.h), and alike otherwise, are repeats.
enum class UnlikeWork {
    Apart,   ///< no: each amount is a row of its own
    Together ///< yes: the fairness guard says what is unlike
};
/// Of any runs side by side: repeats have one name, config and command, the same machines, and what they have read; one measurement counts
/// once (eachMeasuredOnce()), a disputed one never. The row called `reference` is the reference; where none is asked for, the first baseline, else the first row.
[[nodiscard]] ResultTable resultTable(const std::vector<RunOutcome> &outcomes, const std::string &reference = {},
                                      UnlikeWork unlike = UnlikeWork::Apart);

/// A field in which two configs differ.
struct Difference {
    std::string key, label, a, b;
    bool meant = false; ///< method, devices, backend: what a contrast is about
    bool operator==(const Difference &) const = default;
};
[[nodiscard]] std::vector<Difference> differences(const RunConfig &a, const RunConfig &b);

} // namespace lockstep::core
