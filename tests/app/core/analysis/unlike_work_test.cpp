// SPDX-License-Identifier: MIT
// How much each of two had to do, where samples don't say it; and epochs that another run made before a checkpoint.
#include <algorithm>
#include <cmath>
#include <set>

#include <QElapsedTimer>

#include "analysis/compare/gate.h"
#include "analysis/compare/judgement.h"
#include "analysis/compare/repeats_together.h"
#include "analysis/compare/row_figures.h"
#include "analysis/history/run_facts.h"
#include "analysis/history/work_amount.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;

namespace {

/// A script that reports its steps, but not its samples.
struct Script {
    const char *name, *method;
    int ranks;
    int epochs, stepsAnEpoch; ///< of each rank
    double seconds;
    const char *batch = "";
};

MergedEpoch epochOf(int number, double durationS) {
    MergedEpoch out;
    out.epoch = number;
    out.complete = true;
    out.durationS = durationS;
    return out;
}

std::vector<RunOutcome> repeatsOf(const Script &script) {
    std::vector<RunOutcome> out;
    for (int repeat = 1; repeat <= 3; ++repeat) {
        RunOutcome run;
        run.run = std::string(script.name) + std::to_string(repeat);
        run.name = script.name;
        run.repeat = repeat;
        run.script = true;
        run.about = {{"method", script.method}};
        if (*script.batch)
            run.about["batch_size"] = script.batch;
        run.processes = script.ranks;
        run.state = RunState::Done;
        run.totalTrainingTimeS = script.seconds * (1 + 0.005 * repeat);
        run.runTimeS = *run.totalTrainingTimeS + 1;
        run.steps = script.epochs * script.stepsAnEpoch;
        for (int epoch = 1; epoch <= script.epochs; ++epoch)
            run.epochs.push_back(epochOf(epoch, *run.totalTrainingTimeS / script.epochs));
        out.push_back(std::move(run));
    }
    return out;
}

std::vector<RunOutcome> together(std::vector<RunOutcome> one, const std::vector<RunOutcome> &other) {
    one.insert(one.end(), other.begin(), other.end());
    return one;
}

VerdictLine lineOf(const Script &reference, const Script &run) {
    const auto runs = together(repeatsOf(reference), repeatsOf(run));
    return judge(resultTable(runs, reference.name), runs, {}).lines.front();
}

/// Findings of unlike work, "KEY WEIGHT" each.
std::string foundBetween(const Script &reference, const Script &run, const std::vector<std::string> &varies = {}) {
    std::string out;
    const RepeatGroup a{reference.name, repeatsOf(reference), true}, b{run.name, repeatsOf(run), false};
    for (const FairnessFinding &one : fairnessOf(a, b, varies, {}))
        if (one.key == "work" || one.key == "epochs" || one.key == "steps" || one.key == "samples")
            out += one.key + " " + std::string(toString(one.weight)) + " ";
    return out;
}

const Script baseline = {"baseline", "baseline", 1, 3, 100, 30};

enum class Checkpoint { OfEach, OfAll };

/// Five epochs, of which the first ones may be of a checkpoint.
std::vector<RunOutcome> trained(const char *name, double epochS, int firstEpoch, double earlierS,
                                Checkpoint checkpoint = Checkpoint::OfEach) {
    std::vector<RunOutcome> out;
    for (int repeat = 1; repeat <= 3; ++repeat) {
        const double ownS = epochS * (1 + 0.005 * repeat);
        RunOutcome run;
        run.run = std::string(name) + std::to_string(repeat);
        run.name = name;
        run.repeat = repeat;
        run.config = RunConfig();
        run.config->resume = firstEpoch > 1;
        run.state = RunState::Done;
        run.firstEpoch = firstEpoch;
        run.earlierS = earlierS * (checkpoint == Checkpoint::OfAll ? 1 : 1 + 0.001 * repeat);
        for (int epoch = 1; epoch <= 5; ++epoch) {
            run.epochs.push_back(epoch < firstEpoch ? MergedEpoch() : epochOf(epoch, ownS));
            run.epochs.back().epoch = epoch;
            run.epochs.back().samples = epoch < firstEpoch ? 0 : 640;
        }
        const double madeS = ownS * (6 - firstEpoch);
        run.totalTrainingTimeS = run.earlierS + madeS;
        run.runTimeS = madeS + 1;
        run.rankPhasesS = {{0, {{"load", 0.4 * madeS}, {"forward", 0.2 * madeS}, {"backward", 0.4 * madeS}}}};
        out.push_back(std::move(run));
    }
    return out;
}

/// Of a script's runs, all done.
Experiment experimentOf(const std::vector<RunOutcome> &runs) {
    Experiment experiment;
    for (const RunOutcome &run : runs) {
        ExperimentEntry &entry = experiment.entries.emplace_back();
        entry.planned.name = run.name;
        entry.planned.repeat = run.repeat;
        entry.planned.command = {"python3", "train.py"};
        entry.run = run.run;
        entry.state = EntryState::Done;
    }
    return experiment;
}

} // namespace

class CoreUnlikeWorkTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void runsOfThousandsOfMachinesThatJoinedInAnyOrderAreRepeats() {
        std::vector<RunOutcome> runs = repeatsOf({"train.py", "ddp", 2, 2, 100, 10});
        runs.pop_back();
        for (int i = 0; i < 30'000; ++i)
            runs[0].conditions.machines.emplace_back().host = "h" + std::to_string(i);
        runs[1].conditions.machines = runs[0].conditions.machines;
        std::ranges::reverse(runs[1].conditions.machines);
        QElapsedTimer timer;
        timer.start();
        const ResultTable table = resultTable(runs);
        QVERIFY2(timer.elapsed() < 5'000, qPrintable(QString::number(timer.elapsed())));
        QCOMPARE(table.rows.size(), std::size_t(1));
        QCOMPARE(table.rows[0].repeats, 2);
    }

    void manyRunsOfThousandsOfMachinesAreToldApartByTheirFiles() {
        constexpr int count = 1'000;
        RunOutcome run = repeatsOf({"train.py", "ddp", 2, 2, 100, 10}).front();
        for (int i = 0; i < 4'000; ++i)
            run.conditions.machines.emplace_back().host = "h" + std::to_string(i);
        std::vector<RunOutcome> runs(count, run); // which share the machines
        for (int i = 0; i < count; ++i) {
            runs[std::size_t(i)].run = "run" + std::to_string(i);
            runs[std::size_t(i)].conditions.files = {{"train.py", "digest " + std::to_string(i / 2)}};
        }
        const std::vector<RepeatsTogether> found = repeatsTogether(runs);
        QCOMPARE(found.size(), std::size_t(count / 2));
        QCOMPARE(found.back(), (RepeatsTogether{&runs[count - 2], &runs[count - 1]}));
    }

    void theGroupsOfAComparisonShareTheMachinesOfTheirRuns() {
        std::vector<RunOutcome> runs = repeatsOf({"train.py", "ddp", 2, 2, 100, 10});
        for (RunOutcome &run : runs)
            run.conditions.machines.emplace_back().host = "box";
        const std::vector<RepeatGroup> groups = groupsOf(resultTable(runs), runs);
        QCOMPARE(groups.at(0).runs.size(), runs.size());
        for (std::size_t i = 0; i < runs.size(); ++i)
            QVERIFY(groups[0].runs[i].conditions.machines.constData() == runs[i].conditions.machines.constData());
    }

    void ofDevicesWithoutEndARowKeepsAsManyAsARunAndNamesAFew() {
        std::vector<RunOutcome> runs = repeatsOf(baseline);
        int number = 0;
        for (RunOutcome &run : runs)
            for (MergedEpoch &epoch : run.epochs)
                for (int i = 0; i < 1000; ++i) {
                    DeviceUse use;
                    use.device = "gpu" + std::to_string(number++);
                    use.utilizationMean = 0.5;
                    use.memoryMaxBytes = 1024;
                    epoch.devices.push_back(use);
                }
        const ResultRow row = resultTable(runs).rows.at(0);
        QCOMPARE(row.devicesUse.size(), mostRunDevices);
        QVERIFY2(row.utilisation.starts_with("gpu0 50 %, gpu1 50 %, ") &&
                     row.utilisation.ends_with("gpu63 50 % and 4032 more"),
                 row.utilisation.c_str());
        QVERIFY2(row.memory.ends_with(" and 4032 more"), row.memory.c_str());
    }

    void whatThousandsOfRunsOfAScriptContradictTheRecipeInIsSaidOnceEach() {
        RunOutcome run = repeatsOf({"train.py", "ddp", 2, 2, 100, 10}).front();
        run.config = RunConfig();
        std::vector<RunOutcome> runs(30'000, run);
        std::vector<const RunOutcome *> all;
        std::set<std::string> said;
        for (RunOutcome &one : runs) {
            const std::string number = std::to_string(all.size() / 2 + 100);
            one.about = {{"workers", number}, {"epochs", number}, {"batch_size", number}, {"seed", number}};
            one.epochs.clear();
            all.push_back(&one);
            for (std::string &contradiction : contradictions(one))
                said.insert(std::move(contradiction));
        }
        ResultRow row;
        takeOutcomes(all, row);
        QVERIFY(said.size() > runs.size());
        QCOMPARE(row.notes.size(), said.size());
        QVERIFY(std::set<std::string>(row.notes.begin(), row.notes.end()) == said);
    }

    void missingStepsAreNoGainThoughSamplesAreUnknown() {
        const Script less = {"ddp", "ddp", 2, 3, 10, 6};
        const VerdictLine line = lineOf(baseline, less);
        QVERIFY2(line.outcome == Outcome::CantTell, line.reason.c_str());
        QCOMPARE(line.reason, std::string("unfair: Work 30 steps by each of 2 ranks instead of 300 steps"));
        QVERIFY2(!line.speedUp && !line.efficiency, "250 % of work that is unknown");
        const GateCase gate = gateOf("train.py", repeatsOf(baseline), repeatsOf(less), 0.05);
        QVERIFY2(gate.outcome == GateOutcome::Undecided, gate.reason.c_str());
        QVERIFY2(gate.reason.find("how many samples each has seen is unknown") != std::string::npos &&
                     gate.reason.find("run.step(loss, samples)") != std::string::npos,
                 gate.reason.c_str());
    }

    void runsOfUnlikeAmountsOfWorkAreNoRepeatsOfEachOther() {
        const auto rows = [](const std::vector<RunOutcome> &runs) {
            std::vector<std::string> out;
            for (const ResultRow &row : resultTable(runs).rows)
                out.push_back(row.name + ": " + std::to_string(row.repeats) + "/" + std::to_string(row.planned));
            return out;
        };
        using Rows = std::vector<std::string>;
        const Script whole = {"train.py", "ddp", 1, 2, 100, 8}, half = {"train.py", "ddp", 1, 2, 50, 4};
        std::vector<RunOutcome> runs = {repeatsOf(whole)[0], repeatsOf(half)[0], repeatsOf(whole)[1],
                                        repeatsOf(half)[1]};
        QCOMPARE(rows(runs), (Rows{"train.py, 200 steps: 2/2", "train.py, 100 steps: 2/2"}));
        QVERIFY(*resultTable(runs).rows[1].totalTrainingTimeS < 4.1); // of its own runs alone
        for (RunOutcome &run : runs)
            for (MergedEpoch &epoch : run.epochs) // what its samples say outweighs its steps
                epoch.samples = run.steps == 200 ? 3200 : 1600;
        QCOMPARE(rows(runs), (Rows{"train.py, 6,400 samples: 2/2", "train.py, 3,200 samples: 2/2"}));
        runs[1].state = RunState::Stopped; // how far it came says nothing of what it had to do
        QCOMPARE(rows({runs[0], runs[1], runs[2]}), Rows{"train.py: 2/3"});
        QCOMPARE(rows({runs[1], runs[0], runs[3]}),
                 (Rows{"train.py: 0/1", "train.py, 6,400 samples: 1/1", "train.py, 3,200 samples: 1/1"}));
        for (RunOutcome &run : runs) {
            run.state = RunState::Done;
            for (MergedEpoch &epoch : run.epochs)
                epoch.samples = 640'000;
        }
        runs[2].epochs.back().samples -= 100; // too little for the fairness guard to name
        QCOMPARE(rows(runs), Rows{"train.py: 4/4"});
        runs[1].epochs.back().samples = 0; // a script that did not report them to the end
        runs[1].steps = runs[0].steps;
        QCOMPARE(rows(runs), Rows{"train.py: 4/4"});
        for (RunOutcome &run : runs) {
            run.steps.reset();
            run.epochs.clear();
        }
        QCOMPARE(rows(runs), Rows{"train.py: 4/4"}); // nothing is known of any
        for (std::size_t i = 0; i < runs.size(); ++i)
            runs[i].steps = 1000 + std::int64_t(i); // they stop by the clock
        QCOMPARE(rows(runs), Rows{"train.py: 4/4"});
    }

    void anExperimentsRepeatsOfUnlikeAmountsOfWorkAreNoted() {
        std::vector<RunOutcome> runs = repeatsOf(baseline);
        const Experiment experiment = experimentOf(runs);
        QVERIFY(resultTable(experiment, runs).rows.at(0).notes.empty());
        runs[1].steps = 150;
        const ResultRow row = resultTable(experiment, runs).rows.at(0);
        QCOMPARE(row.repeats, 3);
        QCOMPARE(row.notes, std::vector<std::string>{"repeat 2 had 150 steps instead of 300, so the repeats are not of "
                                                     "the same work"});
        runs[2].steps = 200;
        QCOMPARE(resultTable(experiment, runs).rows.at(0).notes,
                 std::vector<std::string>{"repeat 2 had 150 steps instead of 300, and 1 more differs, so the repeats "
                                          "are not of the same work"});
    }

    void aRunWhoseRecordNamesNoExperimentIsNoneOfAnExperimentsRepeats() {
        std::vector<RunOutcome> runs = repeatsOf(baseline);
        const Experiment experiment = experimentOf(runs);
        QCOMPARE(resultTable(experiment, runs).rows.at(0).repeats, 3); // nothing has been read of them yet
        runs[1].hasRecord = true;
        const ResultRow row = resultTable(experiment, runs).rows.at(0);
        QCOMPARE(row.runs, (std::vector<std::string>{runs[0].run, runs[2].run}));
        QCOMPARE(row.notes.front(), "run " + runs[1].run + " does not count: its own record names no experiment");
        QCOMPARE(resultTable(runs).rows.at(0).repeats, 3); // side by side
    }

    void anExperimentsRepeatsThatAreOneMeasurementCountOnce() {
        std::vector<RunOutcome> runs = repeatsOf(baseline);
        const Experiment experiment = experimentOf(runs);
        runs[1] = runs[0];
        runs[1].run = experiment.entries[1].run;
        for (RunOutcome &run : runs)
            run.begin = "rank 0 at 1 us, 1 ns";
        runs[2].begin = "rank 0 at 2 us, 2 ns";
        const ResultRow row = resultTable(experiment, runs).rows.at(0);
        QCOMPARE(row.repeats, 2);
        QCOMPARE(row.planned, 3);
        QCOMPARE(row.runs, (std::vector<std::string>{runs[0].run, runs[2].run}));
        QVERIFY(row.notes.front().find("are one measurement and count once") != std::string::npos);
    }

    void ofTwoRunsThatBeginAlikeAndReportDifferentEpochsNeitherCounts() {
        std::vector<RunOutcome> runs = repeatsOf(baseline);
        const Experiment experiment = experimentOf(runs);
        for (RunOutcome &run : runs)
            run.epochs.front().rankDurationS = {{0, 10}};
        runs[0].begin = "rank 0 at 1 us, 1 ns";
        RunOutcome other = runs[0];
        other.run = "other";
        other.epochs.push_back(epochOf(4, 0.1)); // it is longer, and yet no continuation
        other.epochs.front().rankDurationS = {{0, 0.1}};
        runs.push_back(other);
        const ResultTable table = resultTable(runs, "baseline");
        QCOMPARE(table.rows.size(), std::size_t(1));
        QCOMPARE(table.rows[0].runs, (std::vector<std::string>{runs[1].run, runs[2].run}));
        QCOMPARE(table.rows[0].planned, 4);
        const auto names = [&](const std::string &text) {
            return text.find("runs other and baseline1 begin as one measurement") != text.npos;
        };
        QVERIFY(std::ranges::any_of(judge(table, runs, {}).reservations, names));

        other.epochs = runs[0].epochs;
        other.totalTrainingTimeS = 1; // of the same epochs
        const ResultTable both = resultTable({other, runs[0]});
        QCOMPARE(both.rows.size(), std::size_t(1));
        QCOMPARE(both.rows[0].repeats, 0);
        QCOMPARE(both.rows[0].planned, 2);
        QVERIFY(both.rows[0].runs.empty() && names(both.rows[0].disputes.front()));

        RunOutcome planned = other;
        planned.run = experiment.entries[1].run;
        const ResultRow row = resultTable(experiment, {runs[0], planned, runs[2]}).rows.at(0);
        QCOMPARE(row.runs, std::vector<std::string>{runs[2].run});
        QCOMPARE(row.disputes.size(), std::size_t(1));
    }

    void aCopyWithOtherTestsTimesOrMetricsDoesNotTakeItsOriginalsPlace() {
        RunOutcome whole = repeatsOf(baseline)[0];
        whole.begin = "rank 0 at 1 us, 1 ns";
        whole.testAccuracy = 0.65;
        whole.finalLoss = 0.5;
        whole.perClassAccuracy = {0.6, std::nan("")};
        whole.metrics = {{"grad_norm", 2}, {"odd", std::nan("")}};
        for (MergedEpoch &epoch : whole.epochs) {
            epoch.eval.emplace().accuracy = 0.65;
            epoch.metrics = {{"grad_norm", 2}};
        }
        const auto rowOf = [&](const RunOutcome &copy) { return resultTable({copy, whole}).rows.at(0); };
        RunOutcome same = whole;
        same.run = "same";
        same.metrics["grad_norm"] += 1e-9; // added up in another order
        QCOMPARE(rowOf(same).repeats, 1);
        QVERIFY(rowOf(same).disputes.empty());

        std::vector<RunOutcome> altered(7, same);
        altered[0].runTimeS = 24.5;
        altered[1].testAccuracy = 0.99;
        altered[2].epochs[1].eval->accuracy = 0.99;
        altered[3].epochs[1].metrics["grad_norm"] = 1;
        altered[4].metrics["grad_norm"] = 1;
        altered[5].perClassAccuracy[0] = 1;
        altered[6].finalLoss = 0.1;
        for (std::size_t i = 0; i < altered.size(); ++i)
            QVERIFY2(rowOf(altered[i]).runs.empty() && rowOf(altered[i]).disputes.size() == 1,
                     qPrintable(QString::number(i)));

        RunOutcome torn = altered[1]; // of a log that lacks lines the tests may be missing, too
        torn.lacksLines = true;
        QCOMPARE(rowOf(torn).runs, std::vector<std::string>{whole.run});
        QCOMPARE(*rowOf(torn).testAccuracy, 0.65);
    }

    void aCopyBehindItsOriginalAndARecordingThatWentOnCountOnce() {
        RunOutcome whole = repeatsOf(baseline)[0];
        whole.begin = "rank 0 at 1 us, 1 ns";
        for (MergedEpoch &epoch : whole.epochs) {
            epoch.rankDurationS = {{0, 10}, {1, 9}};
            epoch.samples = 200;
            epoch.loss = 0.5;
            epoch.lossSamples = 200;
        }
        RunOutcome behind = whole;
        behind.run = "behind";
        behind.state = RunState::Training;
        behind.totalTrainingTimeS.reset();
        behind.epochs[1].loss = 0.4; // of the windows that it has
        behind.epochs[1].lossSamples = 190;
        behind.epochs[2].rankDurationS.erase(1);
        behind.epochs[2].samples = 100;
        behind.epochs[2].complete = false;
        const auto runsOf = [](const std::vector<RunOutcome> &runs) {
            const ResultTable table = resultTable(runs);
            return table.rows.size() == 1 && table.rows[0].disputes.empty() ? table.rows[0].runs
                                                                            : std::vector<std::string>();
        };
        QCOMPARE(runsOf({behind, whole}), std::vector<std::string>{whole.run});

        RunOutcome early = whole;
        early.run = "early";
        early.epochs.pop_back();
        *early.totalTrainingTimeS -= 10;
        early.recorded = RecordedFiles{"rank 0 on box, at 1 us", 50};
        whole.recorded = RecordedFiles{"rank 0 on box, at 1 us", 100};
        QCOMPARE(runsOf({early, whole}), std::vector<std::string>{whole.run});
        whole.recorded.reset(); // a run that was done and measured all along doesn't go on
        QCOMPARE(runsOf({early, whole}), std::vector<std::string>());
    }

    void amountsAreComparedByWhatBothKnow() {
        const WorkAmount samples{6400, {}, 2}, steps{{}, 100, 2}, epochs{{}, {}, 3}, one{{}, {}, 1};
        QCOMPARE(unlikeAmounts(samples, WorkAmount{3200, 100, 2}), std::string("3,200 samples instead of 6,400"));
        QCOMPARE(unlikeAmounts(samples, steps), std::string());
        QCOMPARE(unlikeAmounts(steps, WorkAmount{640, 50, 2}), std::string("50 steps instead of 100"));
        QCOMPARE(unlikeAmounts(epochs, one), std::string("1 epoch instead of 3"));
        QCOMPARE(unlikeAmounts(epochs, {}), std::string());
        using Places = std::vector<std::vector<std::size_t>>;
        QCOMPARE(byAmount({{}, samples, steps, {}}), (Places{{0, 1, 2, 3}}));
        QCOMPARE(byAmount({samples, {}, epochs, steps}), (Places{{0, 3}, {1}, {2}}));
        QCOMPARE(byAmount({}), Places());
    }

    void missingEpochsAreNoGainEither() {
        const Script three = {"baseline", "baseline", 1, 3, 10, 15}, one = {"ddp", "ddp", 2, 1, 10, 5};
        const VerdictLine line = lineOf(three, one);
        QVERIFY2(line.outcome == Outcome::CantTell, line.reason.c_str());
        QCOMPARE(line.reason, std::string("unfair: Epochs 1 instead of 3"));
        const GateCase gate = gateOf("train.py", repeatsOf(three), repeatsOf(one), 0.05);
        QVERIFY2(gate.outcome == GateOutcome::Undecided, gate.reason.c_str());
    }

    /// Its training time is of what it made here alone.
    void epochsBeforeAScriptsCheckpointAreNoWorkOfItsOwn() {
        const Script whole = {"baseline", "baseline", 1, 4, 100, 40}, half = {"ddp", "ddp", 2, 4, 100, 20};
        for (const bool samplesKnown : {false, true}) {
            auto base = repeatsOf(whole),
                 next = repeatsOf(samplesKnown ? Script{"new", "baseline", 1, 4, 100, 20} : half);
            for (auto *runs : {&base, &next})
                for (RunOutcome &run : *runs)
                    for (MergedEpoch &epoch : run.epochs)
                        epoch.samples = samplesKnown ? 640 : 0;
            for (RunOutcome &run : next) {
                run.firstEpoch = 3;
                run.steps = 200;
                if (samplesKnown)
                    run.steps.reset();
                for (int epoch = 1; epoch < 3; ++epoch)
                    run.epochs[std::size_t(epoch) - 1] = {.epoch = epoch};
            }
            const auto runs = together(base, next);
            const VerdictLine line = judge(resultTable(runs, "baseline"), runs, {}).lines.front();
            QVERIFY2(line.outcome == Outcome::CantTell, line.reason.c_str());
            QCOMPARE(line.reason, std::string(samplesKnown ? "unfair: Samples seen 1280 instead of 2560"
                                                           : "unfair: Epochs 2 instead of 4"));
        }
    }

    void stepsAfterACheckpointAreComparedWithThoseOfARunFromScratch() {
        const Script whole = {"baseline", "baseline", 1, 2, 100, 20}, half = {"new", "baseline", 1, 4, 50, 10};
        auto base = repeatsOf(whole), next = repeatsOf(half);
        for (RunOutcome &run : next) {
            run.firstEpoch = 3;
            run.steps = 100;
            run.earlierS = 0;
            for (int epoch = 1; epoch <= 4; ++epoch)
                run.summedEpochs.push_back({epoch, 1, 1, 0});
            for (int epoch = 1; epoch < 3; ++epoch)
                run.epochs[std::size_t(epoch) - 1] = {.epoch = epoch};
        }
        const RepeatGroup a{"baseline", base, true}, b{"new", next, false};
        const auto found = fairnessOf(a, b, {}, {});
        QVERIFY(std::ranges::any_of(found, [](const FairnessFinding &one) {
            return one.key == "steps" && one.sentence.find("100 instead of 200") != one.sentence.npos;
        }));
    }

    void epochsWhoseStepsAreUnknownDontSayTheWork() {
        auto base = repeatsOf(baseline), next = repeatsOf({"ddp", "ddp", 2, 3, 10, 6});
        for (auto *runs : {&base, &next})
            for (RunOutcome &run : *runs)
                run.steps.reset();
        const GateCase gate = gateOf("train.py", std::move(base), std::move(next), 0.05);
        QVERIFY2(gate.outcome == GateOutcome::Undecided &&
                     gate.reason.find("3 epochs of unknown steps by each of 2 ranks") != std::string::npos,
                 gate.reason.c_str());
    }

    void asManyStepsOrAsManyOfAllRanksAreTheSameWork() {
        QCOMPARE(foundBetween(baseline, {"ddp", "ddp", 2, 3, 100, 20}), std::string());
        QCOMPARE(foundBetween(baseline, {"ddp", "ddp", 2, 3, 50, 16}), std::string());
        QCOMPARE(foundBetween(baseline, {"ddp", "ddp", 3, 3, 34, 11}),
                 std::string()); // the last step has a rank's batch less
        QCOMPARE(foundBetween(baseline, {"ddp", "ddp", 3, 3, 33, 11}), std::string());
        QCOMPARE(foundBetween(baseline, {"ddp", "ddp", 3, 3, 30, 11}), std::string("work decisive "));
        QCOMPARE(foundBetween(baseline, {"ddp", "ddp", 2, 3, 49, 16}), std::string("work notable "));
        const VerdictLine line = lineOf(baseline, {"ddp", "ddp", 2, 3, 50, 16});
        QVERIFY2(line.outcome == Outcome::WorthIt, line.reason.c_str());
    }

    void stepsOfAnotherBatchAreTheSameWorkIfTheirSamplesAre() {
        const Script small = {"64", "baseline", 1, 3, 101, 30, "64"};
        QCOMPARE(foundBetween(small, {"128", "baseline", 1, 3, 51, 20, "128"}, {"batch_size"}), std::string());
        QCOMPARE(foundBetween(small, {"128", "baseline", 1, 3, 40, 20, "128"}, {"batch_size"}),
                 std::string("work decisive "));
        QCOMPARE(foundBetween(small, {"128", "baseline", 1, 3, 40, 20, "128"}),
                 std::string()); // the batch is named as such
    }

    void asManySamplesInFarFewerStepsAreDifferentWorkThoughTheBatchIsSaidToBeTheSame() {
        const auto found = [](const Script &reference, const Script &run, const std::vector<std::string> &varies = {}) {
            RepeatGroup a{reference.name, repeatsOf(reference), true}, b{run.name, repeatsOf(run), false};
            for (RepeatGroup *group : {&a, &b})
                for (RunOutcome &repeat : group->runs)
                    for (MergedEpoch &epoch : repeat.epochs)
                        epoch.samples = 1600;
            std::string out;
            for (const FairnessFinding &one : fairnessOf(a, b, varies, {}))
                out += one.key + " " + std::string(toString(one.weight)) + ": " + one.sentence;
            return out;
        };
        const Script each = {"each", "baseline", 1, 2, 100, 20, "16"};
        const std::string said = "batch_size decisive: Samples a step 64 instead of 16: a different number of steps is "
                                 "different work.";
        QCOMPARE(found(each, {"fourth", "baseline", 1, 2, 25, 18, "16"}), said);
        QCOMPARE(found({"each", "baseline", 1, 2, 100, 20}, {"fourth", "baseline", 1, 2, 25, 18}), said);
        QCOMPARE(found(each, {"buckets", "baseline", 1, 2, 110, 20, "16"}), std::string()); // of random sizes
        const std::string batch = found(each, {"fourth", "baseline", 1, 2, 25, 18, "64"});
        QVERIFY2(batch.find("Batch size") != batch.npos && batch.find("Samples a step") == batch.npos, batch.c_str());
        QCOMPARE(found(each, {"fourth", "baseline", 1, 2, 25, 18, "64"}, {"batch_size"}), std::string());
    }

    void aCheckpointsEpochsHaveNoCauseAndPassNoGate() {
        const auto base = trained("base", 0.56, 1, 0), resumed = trained("resumed", 0.45, 5, 1.1);
        const auto runs = together(base, resumed);
        const Judgement judgement = judge(resultTable(runs, "base"), runs, {});
        const PairJudgement &pair = judgement.pairs.front();
        QVERIFY(pair.training && pair.training->factor > 1.7);
        QVERIFY2(!pair.attribution, "bars of one epoch beside a factor of five");
        QVERIFY2(judgement.sentence.find("data loading") == std::string::npos, judgement.sentence.c_str());
        QVERIFY2(judgement.lines.front().reason.empty(), judgement.lines.front().reason.c_str());
        const std::string said =
            "resumed: First epoch made here 5 instead of 1: one that goes on from a checkpoint has not "
            "made all of its epochs here. Train from the first epoch to compare. No cause is named.";
        for (const auto *reservations : {&judgement.reservations, &judgement.otherReservations})
            QVERIFY(std::ranges::find(*reservations, said) != reservations->end());
        const GateCase gate = gateOf("train.py", base, resumed, 0.4);
        QVERIFY2(gate.outcome == GateOutcome::Undecided &&
                     gate.reason.find("First epoch made here 5 instead of 1") != std::string::npos,
                 gate.reason.c_str());
        const GateCase both = gateOf("train.py", resumed, trained("later", 0.8, 5, 1.1), 0.4);
        QVERIFY2(both.outcome == GateOutcome::Undecided &&
                     both.reason.find("First epoch made here 5 in both") != std::string::npos,
                 both.reason.c_str());
    }

    void repeatsThatWentOnFromOneCheckpointGiveNoInterval() {
        const auto base = trained("base", 0.56, 1, 0);
        for (const Checkpoint checkpoint : {Checkpoint::OfEach, Checkpoint::OfAll}) {
            const bool shared = checkpoint == Checkpoint::OfAll;
            const auto resumed = trained("resumed", 0.45, 5, 1.1, checkpoint);
            const auto runs = together(base, resumed);
            const ResultTable table = resultTable(runs, "base");
            const Judgement judgement = judge(table, runs, {});
            const PairJudgement &pair = judgement.pairs.front();
            QVERIFY(pair.training && pair.training->factor > 1.7);
            QCOMPARE(pair.training->shareEpochs, shared);
            QCOMPARE(pair.training->hasInterval(), !shared);
            QVERIFY2(pair.epoch && pair.epoch->hasInterval(), "its own epochs are independent");
            QCOMPARE(speedUpOf(table.rows[0].trainingTimes, table.rows[1].trainingTimes)->hasInterval(), !shared);
            const std::string &reason = judgement.lines.front().reason;
            QVERIFY2((reason.find(sharedEpochsReason) != reason.npos) == shared, reason.c_str());
        }
    }

    void epochsThatBothMadeThemselvesHaveTheirCauses() {
        const auto base = trained("base", 0.56, 1, 0), faster = trained("faster", 0.3, 1, 0);
        auto runs = together(base, faster);
        for (std::size_t i = base.size(); i < runs.size(); ++i)
            runs[i].config->augment = "affine"; // else they were repeats of one
        QVERIFY(judge(resultTable(runs, "base"), runs, {}).pairs.front().attribution);
        QVERIFY(gateOf("train.py", base, faster, 0.4).outcome == GateOutcome::Passed);
    }
};

QTEST_GUILESS_MAIN(CoreUnlikeWorkTest)
#include "unlike_work_test.moc"
