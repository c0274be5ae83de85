// SPDX-License-Identifier: MIT
// Which figures of runs are comparable at all: efficiencies, accuracies, epochs, repeats.
#include <cmath>

#include <nlohmann/json.hpp>

#include "analysis/compare/judgement.h"
#include "analysis/compare/row_figures.h"
#include "analysis/fairness/fairness.h"
#include "judged_runs.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

class CoreComparedFiguresTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void efficiencyCountsTheDevicesOfTheReferenceToo() {
        std::vector<RunOutcome> runs;
        addRepeats(runs, "DDP on 2 devices", config(Method::Ddp, 2, 0), 1, 8);
        addRepeats(runs, "DDP on 2 devices again", config(Method::Ddp, 2, 0), 1, 8);
        addRepeats(runs, "DDP on 4 devices", config(Method::Ddp, 4, 0), 1, 4);
        const Judgement found = judge(resultTable(runs), runs, {});
        QVERIFY(!found.pairs[0].efficiency); // of equal devices a factor is no efficiency
        QCOMPARE(*found.pairs[1].efficiency, found.pairs[1].training->factor / 2);
        QVERIFY2(found.sentence.find("90 % efficient") != std::string::npos, found.sentence.c_str());
    }

    void theTimeOfAFrameSpanIsComparedWithNoTimeFromLaunchToExit() {
        const auto runsWhere = [](bool referenceSpans, bool runSpans) {
            std::vector<RunOutcome> runs;
            addRepeats(runs, "baseline", config(Method::Baseline, 1, 0), 1, 8);
            addRepeats(runs, "DDP on 2 devices", config(Method::Ddp, 2, 0), 1, 4);
            for (RunOutcome &run : runs)
                run.spansFrames = run.name == "baseline" ? referenceSpans : runSpans;
            return runs;
        };
        for (const bool spans : {false, true}) {
            const auto alike = runsWhere(spans, spans), unlike = runsWhere(spans, !spans);
            const ResultTable table = resultTable(alike), other = resultTable(unlike);
            QVERIFY(table.rows[1].speedUpRun && !table.rows[1].timedUnlike);
            QVERIFY(other.rows[1].speedUpTraining && !other.rows[1].speedUpRun && other.rows[1].timedUnlike);
            const Judgement found = judge(table, alike, {}), apart = judge(other, unlike, {});
            QVERIFY(found.pairs[0].wholeRun && found.pairs[0].attribution->barOf(Cause::StartUp));
            QVERIFY(apart.pairs[0].training && !apart.pairs[0].wholeRun);
            const Attribution &why = *apart.pairs[0].attribution;
            QVERIFY(why.trainingOnly && !why.barOf(Cause::StartUp));
            for (const Judgement *one : {&found, &apart}) {
                const auto json = nlohmann::json::parse(toJson(*one))["pairs"][0]["attribution"];
                QCOMPARE(json["training_only"].get<bool>(), one == &apart);
            }
            double sum = 0;
            for (const AttributionBar &bar : why.bars)
                sum += bar.seconds;
            QVERIFY(std::fabs(sum - (why.runS - why.referenceS)) < 1e-9);
            QVERIFY(std::fabs(sum - found.pairs[0].attribution->trainingChangeS()) < 0.01 * why.referenceS);
            QVERIFY2(anyContains(apart.reservations,
                                 spans ? "baseline was started elsewhere: when is unknown, so the times outside"
                                       : "DDP on 2 devices: it was started elsewhere: when is unknown"),
                     joined(apart.reservations).c_str());
        }
    }

    void noRepeatsAreOfferedForOtherWorkButForTheControlThatTakesItsPlace() {
        const auto judgedWith = [](bool control) {
            RunConfig ddp = config(Method::Ddp, 2, 0), less = config(Method::Baseline, 1, 0);
            ddp.epochs = less.epochs = 1;
            std::vector<RunOutcome> runs;
            addRepeats(runs, "baseline", config(Method::Baseline, 1, 0), 1, 8, 0, 1);
            addRepeats(runs, "DDP on 2 devices, 1 epoch", ddp, 0.3, 1.4, 0.3, 1);
            if (control)
                addRepeats(runs, "baseline, 1 epoch", less, 0.3, 3, 0, 1);
            ResultTable table = resultTable(runs);
            table.extendable = true;
            return judge(table, runs, {});
        };
        QVERIFY(!judgedWith(false).settling);
        const Judgement found = judgedWith(true);
        QVERIFY(found.settling);
        QCOMPARE(found.settling->rounds, 2);
        QVERIFY2(found.lines.at(0).settles && found.lines[0].settles->rounds == 2, sentenceOf(found.lines[0]).c_str());
    }

    void efficiencyIsOfDevicesAlone() {
        std::vector<RunOutcome> runs;
        addRepeats(runs, "baseline", config(Method::Baseline, 1, 0), 6, 4);
        addRepeats(runs, "DDP on 2 devices", config(Method::Ddp, 2, 0), 3, 2, 0.5);
        addRepeats(runs, "DDP on 2 devices, 4 workers", config(Method::Ddp, 2, 4), 1, 2, 0.5);
        const ResultTable table = resultTable(runs);
        const Judgement found = judge(table, runs, {"workers"});
        QCOMPARE(found.pairs.size(), std::size_t(2));
        QCOMPARE(*found.pairs[0].efficiency, found.pairs[0].training->factor / 2);
        QVERIFY(!found.pairs[1].efficiency); // it would be over 100 %
        const ResultTable shown = judged(table, found);
        QVERIFY(!shown.rows[0].efficiency && shown.rows[1].efficiency && !shown.rows[2].efficiency);
        QVERIFY2(found.sentence.find("DDP on 2 devices: worth it, 1.82× as fast as baseline (1.7") !=
                         std::string::npos &&
                     found.sentence.find("), 91 % efficient.") != std::string::npos,
                 found.sentence.c_str());
    }

    void efficiencyIsOfAsMuchWork() {
        const auto efficiencyWith = [](void (*alter)(RunOutcome &)) {
            std::vector<RunOutcome> runs;
            addRepeats(runs, "baseline", config(Method::Baseline, 1, 0), 1, 8);
            addRepeats(runs, "DDP on 2 devices", config(Method::Ddp, 2, 0), 1, 4);
            for (std::size_t i = 3; i < runs.size(); ++i)
                alter(runs[i]);
            return judge(resultTable(runs), runs, {}).pairs.at(0).efficiency;
        };
        QVERIFY(!efficiencyWith([](RunOutcome &run) { run.config->epochs = 1; }));
        QVERIFY(!efficiencyWith([](RunOutcome &run) { run.config->trainSamples = 640; }));
        QVERIFY(!efficiencyWith([](RunOutcome &run) { run.config->batchSize = 8; }));
        QVERIFY(!efficiencyWith([](RunOutcome &run) { run.config->model = "mlp"; }));
        QVERIFY(!efficiencyWith([](RunOutcome &run) { run.epochs[1].samples = 1280; }));
        QVERIFY(efficiencyWith([](RunOutcome &run) { run.config->seed = 5; }));
        QVERIFY2(efficiencyWith([](RunOutcome &run) { run.config->batchPerDevice = 64; }),
                 "weak scaling: each device has as many samples a step as the one of the reference");
        QVERIFY2(efficiencyWith([](RunOutcome &run) {
                     run.config->batchPerDevice = 64;
                     run.testAccuracy = 0.6;
                 }),
                 "an accuracy is said beside it, too");
        QVERIFY2(efficiencyWith([](RunOutcome &run) {
                     run.conditions.freeCores = 0;
                     run.conditions.surroundings.emplace().measuredS = *run.runTimeS;
                     run.conditions.surroundings->otherCpuS = 2 * *run.runTimeS;
                 }),
                 "load is said beside it");
    }

    void accuraciesAreComparedAfterTheSameEpoch() {
        std::vector<RunOutcome> runs;
        addRepeats(runs, "baseline", config(Method::Baseline, 1, 0), 1, 8);
        addRepeats(runs, "DDP on 2 devices", config(Method::Ddp, 2, 0), 1, 4);
        const auto tested = [&](std::size_t from, double first, std::optional<double> second) {
            for (std::size_t i = from; i < from + 3; ++i) {
                RunOutcome &run = runs[i];
                run.epochs[0].eval = EvalFrame{1, first, {}, 10'000, {}, {}};
                run.testAccuracy = second.value_or(first);
                run.accuracyEpoch = second ? std::nullopt : std::optional(1);
                if (second)
                    run.epochs[1].eval = EvalFrame{2, *second, {}, 10'000, {}, {}};
            }
        };
        const auto pairOf = [&] { return judge(resultTable(runs), runs, {}).pairs.at(0); };
        const auto findingOf = [](const PairJudgement &pair) {
            const auto found = std::ranges::find(pair.fairness, "accuracy", &FairnessFinding::key);
            return found == pair.fairness.end() ? std::string() : found->label;
        };
        tested(0, 0.45, 0.46);
        tested(3, 0.45, std::nullopt);
        QCOMPARE(*pairOf().accuracyDifference, 0.0);
        QVERIFY(findingOf(pairOf()).empty());
        QVERIFY(anyContains(resultTable(runs).rows.at(1).notes, "test accuracy is that of epoch 1 of 2"));
        tested(3, 0.25, std::nullopt);
        QCOMPARE(findingOf(pairOf()), std::string("Test accuracy after epoch 1"));
        for (std::size_t i = 0; i < 3; ++i)
            runs[i].epochs[0].eval.reset();
        QVERIFY2(!pairOf().accuracyDifference && findingOf(pairOf()).empty(), "no epoch of which both were tested");
        tested(3, 0.45, 0.46);
        QCOMPARE(*pairOf().accuracyDifference, 0.0); // both at the end
    }

    void aPartOfAnEpochIsNoEpochsTime() {
        std::vector<RunOutcome> runs;
        addRepeats(runs, "baseline", config(Method::Baseline, 1, 0), 1, 8);
        const auto whole = laterEpochS(runs[0]);
        MergedEpoch part = runs[0].epochs.back();
        part.epoch = 3;
        part.durationS /= 10;
        part.part = true;
        runs[0].epochs.push_back(part);
        QCOMPARE(laterEpochS(runs[0]), whole);
        part.part = false;
        part.durationS *= 10;
        runs[1].epochs.push_back(part);
        const ResultRow row = resultTable(runs, {}, UnlikeWork::Together).rows.at(0);
        QCOMPARE(row.epochs.size(), std::size_t(3));
        QVERIFY2(!row.epochs[2].part && row.epochs[2].durationS == part.durationS, "the whole one's");
    }

    void theHeadingStatesWhatAllRunsShare() {
        Experiment experiment;
        for (int entry = 0; entry < 2; ++entry) {
            PlannedRun &planned = experiment.entries.emplace_back().planned;
            planned.name = entry == 0 ? "baseline" : "DDP on 2 devices";
            planned.config.dataset = "fashion-mnist";
            planned.config.trainSamples = 6400;
            planned.config.epochs = 3;
        }
        const auto heading = [&] { return resultTable(experiment, {}).datasetNote; };
        QCOMPARE(heading(), std::string("Fashion-MNIST, first 6,400 samples, 3 epochs"));
        for (ExperimentEntry &entry : experiment.entries)
            entry.planned.config.trainSamples = 60'000; // as many as the set has
        QCOMPARE(heading(), std::string("Fashion-MNIST, all samples, 3 epochs"));
        experiment.entries[0].planned.config.trainSamples = 6400;
        RunConfig &other = experiment.entries[1].planned.config;
        other.epochs = 1;
        other.trainSamples = 1280;
        QCOMPARE(heading(), std::string("Fashion-MNIST, first 1,280 to 6,400 samples, 1 to 3 epochs"));
        other.trainSamples = 0; // all of them
        QCOMPARE(heading(), std::string("Fashion-MNIST, 1 to 3 epochs"));
        other.dataset = "mnist";
        experiment.quick = true;
        QCOMPARE(heading(), std::string("1 to 3 epochs (quick)"));
        experiment.entries[1].planned.claims.known = std::vector<std::string>{"method"};
        QVERIFY(heading().empty());
    }

    void aRepeatThatOnlyTestedACheckpointIsNoneOfTheMeasurement() {
        std::vector<RunOutcome> runs = study(false);
        for (RunOutcome &run : runs)
            if (run.run != runs.front().run && run.name == "baseline") { // its second and third repeat
                run.summedEpochs = {{1, 0.5, 5, 6400}, {2, 0.3, 5, 6400}};
                run.firstEpoch = 3;
                run.earlierS = 10;
                run.totalTrainingTimeS.reset();
                run.runTimeS = 0.4;
                run.phasesS.clear();
                run.rankPhasesS.clear();
                run.epochs.clear();
            }
        const ResultTable table = resultTable(runs);
        const ResultRow &baseline = table.rows.front();
        QCOMPARE(baseline.repeats, 1);
        QCOMPARE(*baseline.runTimeS, *runs.front().runTimeS);
        QCOMPARE(baseline.runTimes.size(), std::size_t(1));
        const Judgement found = judge(table, runs, {"workers"});
        QVERIFY2(anyContains(found.reservations, "baseline: fewer than 3 repeats"), joined(found.reservations).c_str());
        QVERIFY(found.pairs.front().wholeRun);
        const std::vector<RunOutcome> idle = {runs[1]};
        QCOMPARE(groupsOf(resultTable(idle), idle).front().runs.size(), std::size_t(1)); // there is no other
    }

    void theFirstEpochIsNoLaterOne() {
        std::vector<RunOutcome> runs;
        addRepeats(runs, "baseline", config(Method::Baseline, 1, 0), 6, 4);
        QVERIFY(resultTable(runs).rows.front().epochMedianS);
        for (RunOutcome &run : runs)
            run.epochs.pop_back();
        const ResultTable table = resultTable(runs);
        QVERIFY(table.rows.front().firstEpochS && !table.rows.front().epochMedianS);
    }

    void aRunThatIsNotDoneShowsItsOwnRunTimeWhereItStandsAlone() {
        std::vector<RunOutcome> runs;
        addRepeats(runs, "baseline", config(Method::Baseline, 1, 0), 6, 4);
        RunOutcome stopped = runs.front();
        stopped.state = RunState::Stopped;
        stopped.runTimeS = 6.5;
        ResultRow alone, beside;
        takeOutcomes({&stopped}, alone);
        QVERIFY(alone.repeats == 0 && alone.runTimes.empty() && alone.runTimeS);
        QVERIFY(std::abs(*alone.runTimeS - 6.5) < 1e-9);
        takeOutcomes({&runs[0], &stopped}, beside);
        QCOMPARE(beside.repeats, 1);
        QVERIFY(std::abs(*beside.runTimeS - *runs[0].runTimeS) < 1e-9);
    }

    void phasesOfARowAreMeansOverItsRepeats() {
        std::vector<RunOutcome> runs;
        addRepeats(runs, "DDP on 2 devices", config(Method::Ddp, 2, 4), 1, 2, 0.5);
        for (std::size_t i = 0; i < runs.size(); ++i) {
            runs[i].phasesS["exposed"] = double(1 << i);
            runs[i].testAccuracy = 0.8 + 0.01 * double(i);
        }
        const ResultTable table = resultTable(runs);
        QVERIFY(std::abs(table.rows.front().phasesS.at("exposed") - 7.0 / 3) < 1e-9);
        QVERIFY(std::abs(table.rows.front().phasesS.at("load") - 1) < 1e-9);
    }
};

QTEST_GUILESS_MAIN(CoreComparedFiguresTest)
#include "compared_figures_test.moc"
