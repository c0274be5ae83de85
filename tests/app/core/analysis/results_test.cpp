// SPDX-License-Identifier: MIT
#include <clocale>
#include <nlohmann/json.hpp>

#include "analysis/compare/judgement.h"
#include "analysis/compare/repeat_group.h"
#include "analysis/compare/result_table.h"
#include "analysis/compare/row_figures.h"
#include "analysis/compare/verdict.h"
#include "core_support.h"
#include "experiment/plan.h"
#include "export/export.h"
#include "export/svg_chart.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

/// A done run with two epochs.
RunOutcome outcome(const std::string &run, double trainingS, double runS, double accuracy) {
    RunOutcome out;
    out.run = run;
    out.state = RunState::Done;
    for (int epoch = 1; epoch <= 2; ++epoch) {
        MergedEpoch one;
        one.epoch = epoch;
        one.durationS = epoch == 1 ? trainingS * 0.6 : trainingS * 0.4;
        one.loss = 1.0 / epoch;
        one.complete = true;
        DeviceUse use;
        use.device = "cpu:0";
        use.utilizationMean = 0.5 * epoch;
        use.memoryMaxBytes = 100.0 * 1024 * 1024 * epoch;
        one.devices = {use};
        out.epochs.push_back(one);
    }
    out.totalTrainingTimeS = trainingS;
    out.runTimeS = runS;
    out.testAccuracy = accuracy;
    out.finalLoss = 0.5;
    out.perClassAccuracy = {accuracy, 1.0};
    out.hosts = {"box"};
    return out;
}

struct Case {
    Experiment experiment;
    std::vector<RunOutcome> outcomes;
};

/// baseline, DP on 2 devices, DDP on 2 devices, three repeats each, all done; DP and DDP on 8 devices not run.
Case threeRepeats(double slowRepeat = 2.0) {
    MachineFacts facts;
    facts.allowedCores = {0, 1};
    const Recipe recipe = *loadRecipe("lenet-dp-vs-ddp");
    PlanOptions options;
    options.quick = true;
    Case out{makeExperiment(*expand(recipe, facts, options), recipe, true, {}), {}};
    const std::map<std::string, double> times = {{"baseline", 10}, {"DP on 2 devices", 20}, {"DDP on 2 devices", 5}};
    for (std::size_t i = 0; i < out.experiment.entries.size(); ++i) {
        ExperimentEntry &entry = out.experiment.entries[i];
        if (!entry.planned.runnable())
            continue;
        entry.state = EntryState::Done;
        entry.run = "run" + std::to_string(i);
        // Repeats at 0.9, 1.0 and (by default) 2.0 of the time: median, mean and geometric mean differ.
        const double factor = entry.planned.repeat == 1 ? 0.9 : entry.planned.repeat == 2 ? slowRepeat : 1.0;
        const double time = times.at(entry.planned.name) * factor;
        out.outcomes.push_back(outcome(entry.run, time, time + 1, 0.5 + 0.125 * entry.planned.repeat));
    }
    return out;
}

const ResultRow &row(const ResultTable &table, const std::string &name, bool published = false) {
    for (const ResultRow &one : table.rows)
        if (one.name == name && one.published == published)
            return one;
    qFatal("no row %s", name.c_str());
}

std::vector<std::string> lines(const std::string &text) {
    std::vector<std::string> out;
    for (const QString &line : QString::fromStdString(text).split(QStringLiteral("\r\n")))
        out.push_back(line.toStdString());
    return out;
}

} // namespace

class CoreResultsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void anEpochsFiguresAreMediansOfWhatEveryRepeatHas() {
        std::vector<RunOutcome> repeats;
        for (const int tenths : {5, 6, 9}) {
            RunOutcome one = outcome("run" + std::to_string(tenths), 10, 11, tenths / 10.0);
            EvalFrame eval;
            eval.accuracy = tenths / 10.0;
            for (MergedEpoch &epoch : one.epochs)
                epoch.eval = eval;
            one.epochs[0].readyBatches = tenths;
            if (tenths == 5) { // it diverged, and was not tested again
                one.epochs[1].eval.reset();
                one.epochs[1].loss.reset();
            }
            repeats.push_back(std::move(one));
        }
        const ResultTable table = resultTable(repeats);
        QCOMPARE(table.rows.size(), std::size_t(1));
        const std::vector<MergedEpoch> &epochs = table.rows.front().epochs;
        QCOMPARE(epochs[0].eval->accuracy, 0.6);
        QCOMPARE(*epochs[0].readyBatches, std::int64_t(6));
        QCOMPARE(*epochs[0].loss, 1.0);
        QVERIFY(!epochs[1].eval && !epochs[1].loss);
    }

    void aRunAloneHasNoEfficiencyAgainstItself() {
        RunOutcome alone = outcome("run", 10, 11, 0.5);
        alone.name = "DDP";
        alone.config = RunConfig();
        alone.config->method = Method::Ddp;
        alone.config->devices = {"0", "1"};
        const ResultTable table = resultTable({alone});
        QCOMPARE(table.rows.size(), std::size_t(1));
        QCOMPARE(table.rows[0].devices, 2);
        QCOMPARE(*table.rows[0].speedUpTraining, 1.0);
        QVERIFY(!table.rows[0].efficiency);
    }

    void runsOfAnotherCommandOrOnOtherMachinesAreNoRepeatsAndTheirRowsSayWhatDiffers() {
        RunOutcome one = outcome("run1", 10, 11, 0.5);
        one.name = "train.py";
        one.script = true;
        one.command = {"python3", "train.py", "--lr", "0.1"};
        MachineRecord boxA, boxB;
        boxA.host = "boxA";
        boxB.host = "boxB";
        one.conditions.machines = {boxA, boxB};
        RunOutcome again = one, other = one, elsewhere = one;
        again.run = "run2";
        again.conditions.machines = {boxB, boxA}; // as nodes join
        other.run = "run3";
        other.command.back() = "0.2";
        elsewhere.run = "run4";
        elsewhere.conditions.machines = {boxB};
        const auto names = [](const std::vector<RunOutcome> &runs) {
            std::vector<std::string> out;
            for (const ResultRow &row : resultTable(runs).rows)
                out.push_back(row.name + ": " + std::to_string(row.repeats));
            return out;
        };
        using Names = std::vector<std::string>;
        QCOMPARE(names({one, again}), (Names{"train.py: 2"}));
        QCOMPARE(names({one, other, again}), (Names{"train.py, --lr 0.1: 2", "train.py, --lr 0.2: 1"}));
        QCOMPARE(names({one, elsewhere}), (Names{"train.py, on boxA, boxB: 1", "train.py, on boxB: 1"}));
        QCOMPARE(names({one, other, elsewhere}),
                 (Names{"train.py, on boxA, boxB, --lr 0.1: 1", "train.py, on boxA, boxB, --lr 0.2: 1",
                        "train.py, on boxB: 1"}));
        RunOutcome moved = one, movedAgain = one;
        moved.run = "run5";
        movedAgain.run = "run6";
        one.folder = "/work/a";
        moved.folder = movedAgain.folder = "/work/b";
        QCOMPARE(names({one, moved, movedAgain}), (Names{"train.py, in /work/a: 1", "train.py, in /work/b: 2"}));
        RunOutcome earlier = one; // of a version that recorded none
        earlier.run = "run7";
        earlier.folder.clear();
        QCOMPARE(names({earlier, one}), Names{"train.py: 2"});
        QCOMPARE(names({earlier, one, moved}).size(), std::size_t(2)); // it brings no two together
        other.folder = one.folder;
        other.command.back() = std::string(60, 'x'); // too long for a name
        QCOMPARE(names({one, other}), (Names{"train.py: 1", "train.py #2: 1"}));
        one.experiment = other.experiment = "an experiment"; // whose runs of one name have one command, filled in
        QCOMPARE(names({one, other}), (Names{"train.py: 2"}));
    }

    void aMeasurementThatWasRecordedTwiceCountsOnce() {
        RunOutcome whole = outcome("run1", 10, 11, 0.5);
        whole.name = "train.py";
        whole.recorded = RecordedFiles{"rank 0 on box, at 1 us", 100};
        RunOutcome again = whole, early = whole, other = whole;
        again.run = "run2";
        early.run = "run3"; // recorded before all of it was there
        early.state = RunState::Failed;
        early.recorded->bytes = 50;
        other.run = "run4";
        other.recorded->begin = "rank 0 on box, at 2 us";
        const std::vector<RunOutcome> runs = {early, whole, again, other};
        const ResultTable table = resultTable(runs);
        QCOMPARE(table.rows.size(), std::size_t(1));
        QCOMPARE(table.rows[0].repeats, 2);
        QCOMPARE(table.rows[0].planned, 2);
        QCOMPARE(table.rows[0].runs, (std::vector<std::string>{"run1", "run4"}));
        QVERIFY(table.rows[0].failed.empty());
        QVERIFY(table.rows[0].notes.front().find("recorded from the same files") != std::string::npos);
        QCOMPARE(groupsOf(table, runs).front().runs.size(), std::size_t(2));
        RunOutcome unknown = whole, unknownToo = again; // of which process they are does not show
        unknown.recorded->begin = unknownToo.recorded->begin = "";
        QCOMPARE(resultTable({unknown, unknownToo}).rows[0].repeats, 2);
    }

    void aCopyOfARunUnderAnotherIdCountsOnce() {
        RunOutcome run = outcome("run1", 10, 11, 0.5);
        run.name = "train.py";
        run.begin = "rank 0 at 1 us, 1 ns";
        RunOutcome copy = run, other = run, unknown = run;
        copy.run = "run2";
        other.run = "run3";
        other.begin = "rank 0 at 2 us, 2 ns";
        unknown.run = "run4";
        unknown.begin.clear();
        const ResultTable table = resultTable({run, copy, other, unknown});
        QCOMPARE(table.rows[0].runs, (std::vector<std::string>{"run1", "run3", "run4"}));
        QVERIFY(table.rows[0].notes.front().find("copied") != std::string::npos);
    }

    void timesAreGeometricMeansOverRepeatsSoThatTwoOfThemDividedGiveTheFactor() {
        const Case given = threeRepeats();
        const ResultTable table = resultTable(given.experiment, given.outcomes);
        const ResultRow &ddp = row(table, "DDP on 2 devices");
        QCOMPARE(ddp.repeats, 3);
        const auto isClose = [](double a, double b) { return std::fabs(a - b) < 1e-12 * b; };
        const ResultRow &reference = row(table, "baseline");
        QVERIFY(isClose(*ddp.totalTrainingTimeS, 5 * std::cbrt(0.9 * 1.0 * 2.0)));
        QVERIFY(isClose(*ddp.runTimeS, std::cbrt(5.5 * 6 * 11)));
        QVERIFY(isClose(*reference.totalTrainingTimeS / *ddp.totalTrainingTimeS, *ddp.speedUpTraining));
        QVERIFY(isClose(*reference.runTimeS / *ddp.runTimeS, *ddp.speedUpRun));
        const ResultTable judgedTable = judged(table, judge(table, given.outcomes, {}));
        QVERIFY(isClose(*row(judgedTable, "baseline").epochMedianS / *row(judgedTable, "DDP on 2 devices").epochMedianS,
                        row(judgedTable, "DDP on 2 devices").epochInterval->factor));
        QCOMPARE(*ddp.speedUpTraining, 2.0);
        QCOMPARE(*ddp.speedUpRun, std::cbrt(10.0 * 11 * 21 / (5.5 * 6 * 11))); // of geometric means
        QCOMPARE(*ddp.efficiency, 1.0);
        QCOMPARE(*ddp.testAccuracy, 0.75);
        QVERIFY(isClose(*ddp.firstEpochS, 0.6 * *ddp.totalTrainingTimeS));
        QVERIFY(isClose(*ddp.epochMedianS, 0.4 * *ddp.totalTrainingTimeS));
        QCOMPARE(ddp.utilisation, std::string("cpu:0 70 %")); // 0.5 for 60 % of the time, 1.0 for 40 %
        QCOMPARE(ddp.memory, std::string("cpu:0 200 MiB"));
        QCOMPARE(*row(table, "DP on 2 devices").speedUpTraining, 0.5);
        QCOMPARE(*row(table, "baseline").speedUpTraining, 1.0);
        QVERIFY(row(table, "baseline").reference);
        QCOMPARE(row(table, "DP on 8 devices").notes.front(), std::string("not run: needs 8, has 2"));
        QVERIFY(!row(table, "DP on 8 devices").totalTrainingTimeS);
    }

    void theVerdictsIntervalsAreNamedWithTheirRepeats() {
        const Case steady = threeRepeats(1.1);
        const VerdictText text = verdictText(resultTable(steady.experiment, steady.outcomes));
        QCOMPARE(text.spread, std::string("95 % intervals, 3 repeats each."));
        QVERIFY2(text.sentence.empty(), "nobody has judged yet");
    }

    void whatWasStoppedSaysHowMuchOfItWasDone() {
        ResultRow stopped;
        QCOMPARE(doneText(stopped), std::string());
        stopped.repeats = 1;
        stopped.planned = 2;
        QCOMPARE(doneText(stopped), std::string("1 of 2 done"));
        stopped.totalTrainingTimeS = 13.8;
        QCOMPARE(doneText(stopped), std::string("1 of 2 done, 13.8 s"));
    }

    void belowThreeRepeatsTheVerdictSaysThatThereIsNoInterval() {
        Case two = threeRepeats(1.1);
        std::erase_if(two.experiment.entries, [](const ExperimentEntry &entry) { return entry.planned.repeat == 3; });
        const VerdictText text = verdictText(resultTable(two.experiment, two.outcomes));
        QVERIFY2(text.spread.find("95 %") == std::string::npos, text.spread.c_str());
        QVERIFY2(text.spread.starts_with("Fewer than 3 repeats: no interval"), text.spread.c_str());
        std::erase_if(two.experiment.entries, [](const ExperimentEntry &entry) { return entry.planned.repeat == 2; });
        QVERIFY(verdictText(resultTable(two.experiment, two.outcomes)).spread.starts_with("One run each"));
    }

    void whereOneRowLacksRepeatsTheOthersKeepTheirInterval() {
        Case given = threeRepeats(1.1);
        std::erase_if(given.experiment.entries, [](const ExperimentEntry &entry) {
            return entry.planned.name == "DDP on 2 devices" && entry.planned.repeat > 1;
        });
        const VerdictText text = verdictText(resultTable(given.experiment, given.outcomes));
        QVERIFY2(text.spread.find("3 repeats each") != std::string::npos, text.spread.c_str());
        QVERIFY2(text.spread.ends_with("; no interval below 3 repeats."), text.spread.c_str());
    }

    void everyRecipesPublishedFiguresStandBesideOurs() {
        MachineFacts facts;
        facts.allowedCores = {0, 1};
        for (const std::string &name : builtInRecipes()) {
            const Recipe recipe = loadRecipe(name).value();
            const ResultTable table = resultTable(makeExperiment(*expand(recipe, facts), recipe, false, {}), {});
            const auto published = std::ranges::count_if(table.rows, &ResultRow::published);
            if (recipe.published) {
                QCOMPARE(published, std::ptrdiff_t(recipe.published->runs.size()));
                for (const ResultRow &one : table.rows)
                    if (one.published) { // a figure that has no time says what it is
                        QVERIFY2((one.publishedTimeS && one.speedUpTraining) || !one.notes.empty(), one.name.c_str());
                        QVERIFY2(one.kind.find("published, ") == 0, one.kind.c_str());
                    }
            } else
                QCOMPARE(published, std::ptrdiff_t(0));
        }
    }

    void publishedSpeedUpsAreComputedAndThePrintedOnesStandBeside() {
        const Recipe recipe = *loadRecipe("mnist-backends");
        MachineFacts facts;
        facts.allowedCores = {0, 1};
        const ResultTable table = resultTable(makeExperiment(*expand(recipe, facts), recipe, false, {}), {});
        const ResultRow &two = row(table, "DDP on 2 devices, nccl", true);
        QVERIFY(std::abs(*two.speedUpTraining - 200.97 / 117.07) < 1e-12);
        QCOMPARE(*two.printedSpeedUp, 1.67);
        QVERIFY(two.kind.find("published, 8 × RTX 3090") == 0);
        QVERIFY(!two.totalTrainingTimeS); // the kind of its time is not stated
        QVERIFY(std::any_of(table.notes.begin(), table.notes.end(),
                            [](const std::string &note) { return note.find("do not follow") != std::string::npos; }));
    }

    void aRunThatFailedOrStillRunsHasNoTotalAndNoSpeedUp() {
        Case given = threeRepeats();
        for (RunOutcome &one : given.outcomes)
            if (one.run == "run2" || one.run == "run5" || one.run == "run8") { // DDP
                one.state = RunState::Failed;
                one.reason = "rank 1 was killed by SIGKILL";
                one.totalTrainingTimeS.reset();
            }
        const ResultTable table = resultTable(given.experiment, given.outcomes);
        const ResultRow &ddp = row(table, "DDP on 2 devices");
        QCOMPARE(ddp.repeats, 0);
        QVERIFY(!ddp.speedUpTraining && !ddp.speedUpRun);
        QVERIFY(ddp.notes.front().find("SIGKILL") != std::string::npos);
    }

    void aRunThatItsExperimentTakesForAnotherDoesNotCount() {
        Case swapped = threeRepeats();
        for (ExperimentEntry &entry : swapped.experiment.entries)
            for (RunOutcome &outcome : swapped.outcomes)
                if (!entry.run.empty() && outcome.run == entry.run) {
                    outcome.experiment = swapped.experiment.id;
                    outcome.config = entry.planned.config;
                }
        const double before =
            row(resultTable(swapped.experiment, swapped.outcomes), "DDP on 2 devices").speedUpTraining.value_or(0);
        QVERIFY(before > 1);
        std::vector<ExperimentEntry *> baselines, ddp;
        for (ExperimentEntry &entry : swapped.experiment.entries)
            if (entry.planned.name == "baseline" || entry.planned.name == "DDP on 2 devices")
                (entry.planned.name == "baseline" ? baselines : ddp).push_back(&entry);
        for (std::size_t i = 0; i < ddp.size(); ++i)
            std::swap(baselines[i]->run, ddp[i]->run);
        const ResultTable table = resultTable(swapped.experiment, swapped.outcomes);
        QVERIFY(!row(table, "DDP on 2 devices").speedUpTraining);
        QVERIFY(row(table, "DDP on 2 devices").notes.front().find("does not count") != std::string::npos);
        Case copied = threeRepeats();
        for (RunOutcome &outcome : copied.outcomes)
            outcome.experiment = "20260102T030405Z-0000beef";
        QVERIFY(!row(resultTable(copied.experiment, copied.outcomes), "DDP on 2 devices").speedUpTraining);
    }

    void doneRepeatsThatAreNotHereAreNamed() {
        Case given = threeRepeats();
        const std::string said = "2 of its 3 repeats are done, but not here, or can't be read";
        const auto notes = [&](const char *name) {
            return row(resultTable(given.experiment, given.outcomes), name).notes;
        };
        const auto whole = notes("DDP on 2 devices");
        QVERIFY(std::ranges::find(whole, said) == whole.end());
        int lost = 0;
        for (ExperimentEntry &entry : given.experiment.entries) {
            if (entry.planned.name != "DDP on 2 devices" || lost == 2)
                continue;
            std::erase_if(given.outcomes, [&](const RunOutcome &one) { return one.run == entry.run; });
            if (++lost == 2) { // as a follower has it that waits for the folder
                RunOutcome unread;
                unread.run = entry.run;
                given.outcomes.push_back(unread);
            }
        }
        const auto ddp = notes("DDP on 2 devices"), baseline = notes("baseline");
        QVERIFY(std::ranges::find(ddp, said) != ddp.end());
        QVERIFY(std::ranges::find(baseline, said) == baseline.end());
    }

    void anOversubscribedRunIsNotComparable() {
        Case given = threeRepeats();
        given.outcomes[1].oversubscribed = true;
        const ResultTable table = resultTable(given.experiment, given.outcomes);
        QCOMPARE(row(table, "DP on 2 devices").notes.front(), std::string("not comparable: oversubscribed"));
    }

    void whatElseDiffersIsNamed() {
        RunConfig a, b;
        b.method = Method::Ddp;
        b.devices = {"0", "1"};
        b.workers = 4;
        const std::vector<Difference> found = differences(a, b);
        QCOMPARE(found.size(), std::size_t(3));
        for (const Difference &one : found)
            QCOMPARE(one.meant, one.key != "workers");
        RunOutcome first = outcome("a", 10, 11, 0.8), second = outcome("b", 5, 6, 0.8);
        first.name = "baseline";
        first.config = a;
        second.name = "DDP on 2 devices";
        second.config = b;
        const ResultTable table = resultTable({second, first});
        QCOMPARE(table.reference, std::string("baseline"));
        QCOMPARE(*row(table, "DDP on 2 devices").speedUpTraining, 2.0);
        const Judgement judgement = judge(table, {second, first}, {});
        QCOMPARE(judgement.pairs.size(), std::size_t(1));
        QVERIFY(std::ranges::any_of(judgement.pairs[0].fairness, [](const FairnessFinding &one) {
            return one.key == "workers" && one.reference == "0" && one.run == "4";
        }));
    }

    void csvIsRfc4180WithUnitsInItsHeadsAndUnknownEmpty() {
        std::setlocale(LC_ALL, "de_DE.UTF-8");
        QLocale::setDefault(QLocale(QLocale::German));
        Case given = threeRepeats();
        given.experiment.entries[0].planned.note = "say \"hi\", twice";
        const ResultTable table = resultTable(given.experiment, given.outcomes);
        const std::string csv = exportResults({table, {}}, ExportFormat::Csv);
        const std::vector<std::string> all = lines(csv);
        QVERIFY(all[0].starts_with("run,kind,method,devices,device_kind,backend,workers,loader,repeats,"
                                   "repeats_planned,first_epoch_s,epoch_median_s,total_training_time_s,run_time_s,"));
        QVERIFY2(all[1].starts_with("baseline,measured here,baseline,1,cpu,,0,batch,3,3,7.29864"), all[1].c_str());
        const QStringList cells = QString::fromStdString(all[1]).split(u',');
        QCOMPARE(cells[12].toDouble(), *row(table, "baseline").totalTrainingTimeS); // to the last digit
        QVERIFY2(cells.mid(14).join(u',').startsWith(QStringLiteral(",1,,,,,,1,,,,,0.75,,0.5,,cpu:0 70 %,")),
                 all[1].c_str());
        QVERIFY2(all[1].find("\"say \"\"hi\"\", twice\"") != std::string::npos, all[1].c_str());
        const ResultRow &ddp = row(table, "DDP on 2 devices");
        QVERIFY2(all[3].starts_with("DDP on 2 devices,measured here,ddp,2,cpu,auto,0,batch,3,3," +
                                    numberText(*ddp.firstEpochS) + "," + numberText(*ddp.epochMedianS) + "," +
                                    numberText(*ddp.totalTrainingTimeS) + "," + numberText(*ddp.runTimeS) + ",," +
                                    numberText(*ddp.speedUpTraining) + ",,,,,," + numberText(*ddp.speedUpRun) + ",,,," +
                                    numberText(*ddp.efficiency) + ","),
                 all[3].c_str());
        QVERIFY2(all[4].starts_with("DP on 8 devices,not run here,dp,8,cpu,,0,batch,0,1,,,,,,,,,,,,,"), all[4].c_str());
        QCOMPARE(all.size(), std::size_t(1 + 5 + 3 + 1));
        QLocale::setDefault(QLocale::c());
        std::setlocale(LC_ALL, "C");
    }

    void jsonHasNullForUnknownAndMarkdownADash() {
        const Case given = threeRepeats();
        const ResultTable table = resultTable(given.experiment, given.outcomes);
        const auto json = nlohmann::json::parse(exportResults({table, {}}, ExportFormat::Json));
        QCOMPARE(json["rows"].size(), std::size_t(8));
        QVERIFY(json["rows"][3]["total_training_time_s"].is_null());
        QCOMPARE(json["rows"][2]["epochs"][0]["duration_s"].get<double>(), 3.0);
        QCOMPARE(json["rows"][7]["per_class_accuracy"].size(), std::size_t(10));
        const std::string markdown = exportResults({table, {}}, ExportFormat::Markdown);
        QVERIFY(markdown.find("| DDP on 2 devices | measured here | ddp | 2 | cpu | auto | 0 | batch | 3 | 3.65 | 2.43 "
                              "| 6.08 | 7.13 | - |") != std::string::npos);
    }

    void aJudgedTableShowsItsIntervalsFromThreeRepeatsOn() {
        Case given = threeRepeats(1.1);
        const auto judgedReport = [&given] {
            return reportOf(resultTable(given.experiment, given.outcomes), given.outcomes,
                            given.experiment.recipe.varies);
        };
        const Report three = judgedReport();
        const ResultRow &ddp = row(three.table, "DDP on 2 devices");
        QVERIFY(ddp.trainingInterval && ddp.trainingInterval->hasInterval());
        QVERIFY(*ddp.trainingInterval->low < 2 && *ddp.trainingInterval->high > 2);
        QVERIFY(ddp.epochInterval && ddp.epochInterval->hasInterval() && ddp.runInterval->hasInterval());
        QCOMPARE(*ddp.accuracyDifference, 0.0);
        QCOMPARE(withRange(2.0, ddp.trainingInterval), "2.00 (" + rangeText(ddp.trainingInterval) + ")");
        QVERIFY(!row(three.table, "baseline").trainingInterval);
        const auto json = nlohmann::json::parse(exportResults(three, ExportFormat::Json));
        QCOMPARE(json["rows"][2]["speed_up_training_low"].get<double>(), *ddp.trainingInterval->low);
        QCOMPARE(json["rows"][2]["speed_up_epoch_high"].get<double>(), *ddp.epochInterval->high);
        QCOMPARE(json["rows"][2]["speed_up_run_low"].get<double>(), *ddp.runInterval->low);
        QVERIFY(json["rows"][0]["speed_up_training_low"].is_null());
        const std::string csv = exportResults(three, ExportFormat::Csv);
        QVERIFY(csv.find("," + numberText(*ddp.trainingInterval->low) + "," + numberText(*ddp.trainingInterval->high) +
                         ",") != std::string::npos);
        for (const ExportFormat format : {ExportFormat::Markdown, ExportFormat::Latex, ExportFormat::Html})
            QVERIFY2(exportResults(three, format).find("2.00 (" + rangeText(ddp.trainingInterval) + ")") !=
                         std::string::npos,
                     qPrintable(QString::number(int(format))));

        std::erase_if(given.experiment.entries, [](const ExperimentEntry &entry) { return entry.planned.repeat == 3; });
        const Report two = judgedReport();
        QVERIFY(!row(two.table, "DDP on 2 devices").trainingInterval->hasInterval());
        const auto without = nlohmann::json::parse(exportResults(two, ExportFormat::Json));
        QCOMPARE(without["rows"][2]["speed_up_training"].get<double>(), 2.0);
        QVERIFY(without["rows"][2]["speed_up_training_low"].is_null());
        QCOMPARE(withRange(2.0, row(two.table, "DDP on 2 devices").trainingInterval), std::string("2.00"));
    }

    void aRunThatWentOnFromACheckpointHasNoFactorFromLaunchToExit() {
        Case found = threeRepeats(1.0);
        for (std::size_t i = 0; i < found.experiment.entries.size(); ++i)
            for (RunOutcome &outcome : found.outcomes)
                if (found.experiment.entries[i].run == outcome.run &&
                    found.experiment.entries[i].planned.name == "DDP on 2 devices") {
                    outcome.firstEpoch = 2;
                    outcome.earlierS = outcome.epochs.front().durationS;
                }
        const ResultTable table = resultTable(found.experiment, found.outcomes);
        const Judgement judgement = judge(table, found.outcomes, {});
        for (const char *name : {"DP on 2 devices", "DDP on 2 devices"}) {
            const bool whole = name == std::string("DP on 2 devices");
            QVERIFY(row(table, name).speedUpTraining); // of all its epochs
            QCOMPARE(row(table, name).speedUpRun.has_value(), whole);
            const auto pair = std::ranges::find(judgement.pairs, name, &PairJudgement::run);
            QVERIFY(pair != judgement.pairs.end() && pair->training);
            QCOMPARE(pair->wholeRun.has_value(), whole);
        }
    }

    void differencesHaveTheirSign() {
        QCOMPARE(signedText(std::nullopt), std::string("-"));
        QCOMPARE(signedText(0.0), std::string("0"));
        QCOMPARE(signedText(0.0123), std::string("+0.0123"));
        QCOMPARE(signedText(-1.5), std::string("−1.50"));
        QCOMPARE(pointsText(0.003), std::string("+0.30"));
        QCOMPARE(pointsText(-0.0412), std::string("−4.12"));
        QCOMPARE(pointsText(-0.00001), std::string("0.00"));
    }

    void aChartEndsWhereItsStepIsTooSmallToCount() { // it went on without end
        ExportedCurve curve{"run", "DDP on 2 devices", "ddp", {}};
        for (int i = 0; i < 4; ++i) {
            LossPoint point;
            point.step = i;
            point.loss = i % 2 == 0 ? -1e17 : -1e17 + 16;
            curve.points.push_back(point);
        }
        ResultTable table;
        table.rows.resize(1);
        table.rows[0].runs = {"run"};
        const std::string picture = lossSvg(table, {curve});
        QVERIFY(!picture.empty() && picture.size() < 20'000);
    }

    void thePictureOfTheLossHasALineForEachRowThoughTheRunsHaveOneName() {
        ResultTable table;
        std::vector<ExportedCurve> curves;
        for (const char *run : {"run1", "run2", "run3"}) {
            LossPoint begin, end;
            end.step = 10 * std::int64_t(curves.size() + 1);
            begin.loss = 1;
            curves.push_back({run, "DP on 2 devices", "dp", {begin, end}});
        }
        table.rows.resize(2);
        table.rows[0].name = "DP on 2 devices";
        table.rows[0].runs = {"run2", "run3"};
        table.rows[1].name = "DP on 2 devices #2";
        table.rows[1].runs = {"run1"};
        const QString both = QString::fromStdString(lossSvg(table, curves));
        QCOMPARE(both.count(QStringLiteral("<polyline")), 2); // of repeats the first one
        QVERIFY(both.contains(QStringLiteral("#2")));
        table.rows.pop_back();
        const std::string first = lossSvg(table, curves);
        QCOMPARE(first, lossSvg(table, {curves[1]}));
        QVERIFY(first != lossSvg(table, {curves[2]}));
    }

    void curvesAreWallTimeStepValue() {
        ExportedCurve curve{"run", "DDP on 2 devices", "ddp", {}};
        LossPoint point;
        point.step = 4;
        point.wallUs = 1'700'000'000'500'000;
        point.loss = 0.25;
        curve.points = {point};
        point.step = 9;
        point.loss = std::nan("");
        curve.points.push_back(point);
        QCOMPARE(*exportCurves({curve}, ExportFormat::Csv),
                 std::string("Wall time,Step,Value\r\n1700000000.5,4,0.25\r\n1700000000.5,9,\r\n"));
        QVERIFY(exportCurves({curve, curve}, ExportFormat::Csv)
                    ->starts_with("Run,Name,Wall time,Step,Value\r\nrun,DDP on 2 devices,"));
        const auto json = nlohmann::json::parse(*exportCurves({curve}, ExportFormat::Json));
        QVERIFY(json[0]["points"][1]["loss"].is_null());
        QVERIFY(!exportCurves({curve}, ExportFormat::Markdown).has_value());
    }

    void aFolderThatCantBeWrittenIsReportedBeforeAnythingStarts() {
        QTemporaryDir folder;
        const std::string good = folder.path().toStdString() + "/new/deep";
        QVERIFY(checkWritableFolder(good).has_value());
        QVERIFY(QDir(QString::fromStdString(good)).isEmpty());
        const auto refused = checkWritableFolder("/proc/lockstep");
        QVERIFY(!refused.has_value());
        QVERIFY(refused.error().kind == ErrorKind::BadArgument);
        QVERIFY(refused.error().message().find("/proc/lockstep") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(CoreResultsTest)
#include "results_test.moc"
