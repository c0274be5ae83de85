// SPDX-License-Identifier: MIT
// The whole verdict of some runs: one code path for window, command line and exports.
#include <nlohmann/json.hpp>
#include <QElapsedTimer>
#include <set>

#include "analysis/compare/judgement.h"
#include "analysis/compare/verdict.h"
#include "analysis/fairness/fairness.h"
#include "export/export.h"
#include "ipc/run_title.h"
#include "judged_runs.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

class CoreJudgementTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theSentenceNamesSpeedUpCauseAndControl() {
        const auto runs = study(true);
        const ResultTable table = resultTable(runs);
        const Judgement found = judge(table, runs, {"workers"});
        const auto contains = [&](const char *part) { return found.sentence.find(part) != std::string::npos; };
        QVERIFY2(contains("DDP on 2 devices: worth it, 2.50× as fast as baseline (2."), found.sentence.c_str());
        QVERIFY2(!contains("efficient"), "125 %: four workers are no devices");
        QVERIFY2(contains("83 % of the training time that DDP on 2 devices saves is data loading: baseline, 4 workers "
                          "reaches 2.00× "
                          "by itself."),
                 found.sentence.c_str());
        const std::string brief = briefVerdict(found);
        QVERIFY2(brief.find("DDP (2): worth it, 2.50× (2.") != std::string::npos, brief.c_str());
        QVERIFY2(brief.find("saves") == std::string::npos, "in short the cause is left to those who have room for it");
        QCOMPARE(found.pairs.size(), std::size_t(2));
        const PairJudgement &ddp = found.pairs.front();
        QCOMPARE(ddp.run, std::string("DDP on 2 devices"));
        QVERIFY(ddp.training && ddp.epoch && ddp.wholeRun && ddp.attribution);
        QVERIFY(!ddp.efficiency && !found.pairs.back().efficiency); // that one has one device
        QCOMPARE(*ddp.accuracyDifference, 0.0);
        QVERIFY(std::fabs(ddp.wholeRun->factor - 11.0 / 5.0) < 1e-3);
        QCOMPARE(ddp.attribution->factors.size(), std::size_t(2));
        QCOMPARE(found.bottlenecks.size(), std::size_t(3));
        QVERIFY(found.bottlenecks.front().bound == Bound::Input);
    }

    void withoutAVerdictItIsSaidWhetherOneIsToComeAndElseWhyNot() {
        const auto row = [](const char *name, const char *state, int repeats, bool reference = false) {
            ResultRow out;
            out.name = name;
            out.state = state;
            out.repeats = repeats;
            out.reference = reference;
            return out;
        };
        ResultTable table;
        table.reference = "baseline";
        const std::string yet = "No verdict yet: the reference and another run must be done.";
        QCOMPARE(noVerdictText(table), yet);
        table.rows = {row("baseline", "done", 1, true), row("DDP", "queued", 0)};
        QCOMPARE(noVerdictText(table), yet);
        table.rows.back().state = "failed";
        QCOMPARE(noVerdictText(table), std::string("No verdict: no run but the reference, baseline, was done."));
        table.rows = {row("baseline", "failed", 0, true), row("DDP", "done", 1)};
        QCOMPARE(noVerdictText(table), std::string("No verdict: the reference, baseline, was not done."));
        table.rows = {row("baseline", "done", 1, true)};
        table.rows.push_back(row("published DDP", "published", 0));
        table.rows.back().published = true;
        QCOMPARE(noVerdictText(table), std::string("Nothing to compare: this is one run alone."));
    }

    void aFasterTrainingThatEndsNoSoonerIsAReservation() {
        for (const double outsideS :
             {1.0, 7.0, 9.0}) { // with 7 it takes as long as the baseline, whose training takes 6 s more
            auto runs = study(true);
            for (RunOutcome &run : runs)
                if (run.name == "DDP on 2 devices")
                    run.runTimeS = *run.totalTrainingTimeS + outsideS;
            const Judgement found = judge(resultTable(runs), runs, {"workers"});
            const bool said = anyContains(found.reservations, "DDP on 2 devices: launch to exit it is not faster: ");
            QVERIFY2(said == (outsideS > 1), joined(found.reservations).c_str());
            QCOMPARE(anyContains(found.reservations, "it loses before and after it."), outsideS > 8);
            QCOMPARE(anyContains(found.reservations, "is not told apart there."), outsideS == 7);
        }
    }

    void ofRunsThatDifferInOneSettingItIsSaidWhetherItMatters() {
        std::vector<RunOutcome> runs;
        addRepeats(runs, "baseline", config(Method::Baseline, 1, 0), 6, 4);
        addRepeats(runs, "baseline, 4 workers", config(Method::Baseline, 1, 4), 1, 4);
        QVERIFY2(judge(resultTable(runs), runs, {"workers"})
                     .matters.starts_with("workers matters: \"baseline, 4 workers\" is 2.0"),
                 judge(resultTable(runs), runs, {"workers"}).matters.c_str());
        QCOMPARE(judge(resultTable(runs), runs, {}).matters, std::string());
        const auto methods = study(true);
        QCOMPARE(judge(resultTable(methods), methods, {"workers"}).matters, std::string());
    }

    void aRepeatThatStandsOutIsLeftOutOfFactorAndBarsAlikeAndNamed() {
        std::vector<RunOutcome> runs = study(false, 5);
        runs[1] = runOf("baseline", config(Method::Baseline, 1, 0), 6, 4, 0, 1.8); // the machine stalled
        for (int i = 0; i < 10; ++i)
            runs[std::size_t(i)].repeat = i % 5 + 1;
        const Judgement found = judge(resultTable(runs), runs, {"workers"});
        const PairJudgement &ddp = found.pairs.front();
        QVERIFY(ddp.training->leftOut && ddp.training->leftOut->ofFirst && ddp.training->isDifferent());
        QVERIFY2(ddp.training->factor > 2.4 && ddp.training->factor < 2.6,
                 qPrintable(QString::number(ddp.training->factor)));
        const Attribution &why = *ddp.attribution;
        QVERIFY2(std::fabs(why.referenceS / why.runS - ddp.wholeRun->factor) < 1e-9, "of the same repeats");
        double sum = 0;
        for (const AttributionBar &bar : why.bars) {
            sum += bar.seconds;
            QVERIFY(bar.low && bar.high);
        }
        QVERIFY(std::fabs(sum - (why.runS - why.referenceS)) < 1e-9);
        QVERIFY2(
            anyContains(found.reservations,
                        "DDP on 2 devices: repeat 2 of baseline took 1.78 times as long as its others, which their "
                        "scatter doesn't explain: it is left out of the speed-up"),
            joined(found.reservations).c_str());
        const auto json = nlohmann::json::parse(toJson(found))["pairs"][0]["speed_up_training"];
        QCOMPARE(json["left_out"]["of"].get<std::string>(), std::string("reference"));
        QCOMPARE(json["left_out"]["place"].get<int>(), 2);
        QCOMPARE(json["interval_method"].get<std::string>(), std::string("one repeat left out"));
    }

    void theTrainingTimesChooseTheRepeatThatEveryFigureLeavesOut() {
        const auto numbered = [](std::vector<RunOutcome> runs) {
            for (int i = 0; i < 10; ++i)
                runs[std::size_t(i)].repeat = i % 5 + 1;
            return runs;
        };
        std::vector<RunOutcome> waited = numbered(study(false, 5));
        *waited[1].runTimeS *= 3; // before it trained: no repeat of the training time stands out
        const Judgement late = judge(resultTable(waited), waited, {"workers"});
        QVERIFY(!late.pairs[0].training->leftOut && !late.pairs[0].epoch->leftOut && !late.pairs[0].wholeRun->leftOut);
        QVERIFY2(!anyContains(late.reservations, "left out"), joined(late.reservations).c_str());
        const Attribution &why = *late.pairs[0].attribution;
        QVERIFY(std::fabs(why.referenceS / why.runS - late.pairs[0].wholeRun->factor) < 1e-9);

        std::vector<RunOutcome> stalled = numbered(study(false, 5));
        *stalled[1].totalTrainingTimeS *= 1.5; // once, so that its median epoch and its whole time are as ever
        const Judgement found = judge(resultTable(stalled), stalled, {"workers"});
        const PairJudgement &pair = found.pairs[0];
        for (const auto &figure : {pair.training, pair.epoch, pair.wholeRun})
            QVERIFY(figure->leftOut && figure->leftOut->ofFirst && figure->leftOut->number == 2 &&
                    figure->method == IntervalMethod::LeftOut);
        QCOMPARE(
            std::ranges::count_if(found.reservations,
                                  [](const std::string &one) { return one.find("left out") != std::string::npos; }),
            std::ptrdiff_t(1));
        QVERIFY2(anyContains(found.reservations, "it is left out of the speed-ups and their causes."),
                 joined(found.reservations).c_str());
        const ResultTable shown = judged(resultTable(stalled), found);
        QCOMPARE(*shown.rows[1].speedUpRun, pair.wholeRun->factor);
    }

    void moreThanTheWholeGainIsSaidWithWhatItCostsElsewhere() {
        std::vector<RunOutcome> runs;
        addRepeats(runs, "baseline", config(Method::Baseline, 1, 0), 1, 8);
        addRepeats(runs, "DDP on 2 devices", config(Method::Ddp, 2, 0), 1, 4, 1);
        const std::string sentence = judge(resultTable(runs), runs, {}).sentence;
        QVERIFY2(sentence.ends_with("DDP on 2 devices saves 4.00 s in device compute and spends 1.00 s more on "
                                    "communication."),
                 sentence.c_str());
    }

    void amountsBesideEachOtherHaveDecimalsOfOneSize() {
        std::vector<RunOutcome> runs;
        addRepeats(runs, "baseline", config(Method::Baseline, 1, 0), 0.2, 8);
        addRepeats(runs, "DDP on 2 devices", config(Method::Ddp, 2, 0), 0.2, 7.129, 0.06);
        const std::string sentence = judge(resultTable(runs), runs, {}).sentence;
        QVERIFY2(sentence.ends_with("saves 0.871 s in device compute and spends 0.060 s more elsewhere."),
                 sentence.c_str());
    }

    void whatIsUnlikeOnPurposeIsNoNote() {
        const auto runs = study(false);
        const ResultTable table = resultTable(runs);
        QVERIFY2(table.notes.empty(), joined(table.notes).c_str());
        auto many = runs;
        addRepeats(many, "DDP on 2 devices, 2 workers", config(Method::Ddp, 2, 2), 2, 2.5, 0.5);
        const auto said = judge(resultTable(many), many, {"workers"}).reservations;
        QVERIFY2(
            anyContains(
                said,
                "DDP on 2 devices and DDP on 2 devices, 2 workers: Loading threads per process not as in baseline (0), "
                "see each comparison."),
            joined(said).c_str());
    }

    void repeatsThatFailedAreAReservation() {
        std::vector<RunOutcome> runs;
        addRepeats(runs, "baseline", config(Method::Baseline, 1, 0), 1, 8, 0, 5);
        addRepeats(runs, "DDP on 2 devices", config(Method::Ddp, 2, 0), 1, 4, 1, 5);
        for (std::size_t i = runs.size() - 2; i < runs.size(); ++i) {
            runs[i].state = RunState::Failed;
            runs[i].reason = "rank 1 was killed by SIGKILL";
            runs[i].totalTrainingTimeS.reset();
        }
        const Judgement found = judge(resultTable(runs), runs, {});
        const char *said = "DDP on 2 devices: 2 of 5 repeats failed; its figures are of those that did not.";
        QVERIFY2(anyContains(found.reservations, said), joined(found.reservations).c_str());
        QVERIFY2(!anyContains(found.reservations, "baseline: "), joined(found.reservations).c_str());
    }

    void withoutTheControlItIsOfferedAndTheUnfairnessIsAReservation() {
        const auto runs = study(false);
        const Judgement found = judge(resultTable(runs), runs, {});
        QVERIFY2(found.sentence.find("by itself") == std::string::npos, found.sentence.c_str());
        const auto &missing = found.pairs.front().attribution->missing;
        QVERIFY(
            std::ranges::any_of(missing, [](const SuggestedRun &run) { return run.name == "baseline, 4 workers"; }));
        QVERIFY(std::ranges::any_of(found.pairs.front().fairness,
                                    [](const FairnessFinding &finding) { return finding.key == "workers"; }));
        QVERIFY2(anyContains(found.reservations, "oading"), joined(found.reservations).c_str());
    }

    void fewRepeatsAndNoDifferenceAreSaid() {
        const auto one = study(true, 1);
        const Judgement single = judge(resultTable(one), one, {"workers"});
        QVERIFY2(anyContains(single.reservations, "fewer than 3 repeats"), joined(single.reservations).c_str());
        QVERIFY(!single.pairs.front().training->hasInterval());
        for (const std::string &text : {single.sentence, briefVerdict(single)}) // as the head
            QVERIFY2(text.starts_with("DDP on 2 devices: can't tell yet, 2.50×") ||
                         text.starts_with("DDP (2): can't tell yet, 2.50×"),
                     text.c_str());

        std::vector<RunOutcome> same, scattered;
        addRepeats(same, "baseline", config(Method::Baseline, 1, 0), 2, 8);
        addRepeats(same, "DDP on 1 device", config(Method::Ddp, 1, 0), 2, 8.01);
        const Judgement equal = judge(resultTable(same), same, {});
        QVERIFY2(equal.sentence.starts_with("DDP on 1 device: not worth it, equal to baseline within ±3 % ("),
                 equal.sentence.c_str());
        for (const double slow : {0.9, 1.0, 1.1}) {
            scattered.push_back(runOf("baseline", config(Method::Baseline, 1, 0), 2, 8, 0, slow));
            scattered.push_back(runOf("DDP on 1 device", config(Method::Ddp, 1, 0), 2, 8.01, 0, 2 - slow));
        }
        const Judgement none = judge(resultTable(scattered), scattered, {});
        QVERIFY2(none.sentence.starts_with("DDP on 1 device: can't tell yet whether it differs from baseline ("),
                 none.sentence.c_str());
        QVERIFY2(none.sentence.find("gain") == std::string::npos, "no cause of no difference");
    }

    void ofManyRunsTheFastestAndTheBestOfEachMethodAreNamed() {
        std::vector<RunOutcome> runs;
        addRepeats(runs, "baseline", config(Method::Baseline, 1, 0), 6, 4);
        for (int workers = 1; workers <= 6; ++workers)
            addRepeats(runs, "baseline, " + std::to_string(workers), config(Method::Baseline, 1, workers),
                       6.0 / (workers + 1), 4);
        addRepeats(runs, "DDP on 2 devices", config(Method::Ddp, 2, 0), 3, 2, 0.5);
        addRepeats(runs, "DP on 2 devices", config(Method::Dp, 2, 0), 6, 9);
        const Judgement found = judge(resultTable(runs), runs, {"workers"});
        for (const char *part : {"Baseline, 6: worth it, 2.", "DDP on 2 devices: worth it, 1.8",
                                 "DP on 2 devices: not worth it, 0.66", "5 more in the table."})
            QVERIFY2(found.sentence.find(part) != std::string::npos, found.sentence.c_str());
        QVERIFY2(found.sentence.find("Baseline, 3:") == std::string::npos, found.sentence.c_str());
    }

    void aPublishedCauseIsConfronted() {
        const auto published = [](const char *name, int workers, double speedUp, bool reference) {
            ResultRow row;
            row.name = name;
            row.published = true;
            row.method = "baseline";
            row.workers = workers;
            row.speedUpTraining = speedUp;
            row.reference = reference;
            return row;
        };
        std::vector<RunOutcome> runs;
        addRepeats(runs, "item loader", config(Method::Baseline, 1, 0), 6, 4);
        RunConfig batch = config(Method::Baseline, 1, 0);
        batch.loader = "batch";
        addRepeats(runs, "batch loader", batch, 0.5, 4);
        ResultTable table = resultTable(runs);
        table.rows.push_back(published("published, 0 workers", 0, 1, true));
        table.rows.push_back(published("published, 4 workers", 4, 3.94, false));
        const std::string both = judge(table, runs, {"loader"}).sentence;
        QVERIFY2(
            both.find("The published cause, data loading, holds here for item loader (loading is 60 % of the step); it "
                      "does not for batch loader (loading is 11 % of the step).") != std::string::npos,
            both.c_str());

        std::vector<RunOutcome> light;
        addRepeats(light, "batch loader", batch, 0.5, 4);
        batch.workers = 4;
        addRepeats(light, "batch loader, 4 workers", batch, 0.1, 4);
        ResultTable small = resultTable(light);
        small.rows.push_back(published("published, 0 workers", 0, 1, true));
        small.rows.push_back(published("published, 4 workers", 4, 3.94, false));
        const std::string not_here = judge(small, light, {"workers"}).sentence;
        QVERIFY2(not_here.ends_with(
                     "The published cause, data loading, does not hold here: batch loader (loading is 11 % of "
                     "the step)."),
                 not_here.c_str());
    }

    void jsonAndTheTextsOfAllExportsCarryTheSame() {
        const auto runs = study(false);
        const ResultTable table = resultTable(runs);
        const Judgement found = judge(table, runs, {});
        const auto json = nlohmann::json::parse(toJson(found));
        QCOMPARE(json["sentence"].get<std::string>(), found.sentence);
        QCOMPARE(json["pairs"][0]["speed_up_training"]["factor"].get<double>(), found.pairs[0].training->factor);
        QCOMPARE(json["pairs"][0]["attribution"]["bars"].size(), std::size_t(6));
        QCOMPARE(json["pairs"][0]["attribution"]["bars"][0]["cause"].get<std::string>(), std::string("data loading"));
        QCOMPARE(json["reservations"].size(), found.reservations.size());
        QVERIFY(!found.reservations.empty());

        const auto results = nlohmann::json::parse(exportResults({judged(table, found), found}, ExportFormat::Json));
        QVERIFY(results["judgement"] == json);
        QCOMPARE(results["verdict"].get<std::string>(), found.sentence);
        const std::string markdown = exportResults({judged(table, found), found}, ExportFormat::Markdown);
        QVERIFY(markdown.find(found.sentence) != std::string::npos);
        QVERIFY(markdown.find(found.reservations.front()) != std::string::npos);
        for (const ExportFormat format :
             {ExportFormat::Csv, ExportFormat::Json, ExportFormat::Markdown, ExportFormat::Latex, ExportFormat::Html})
            QVERIFY2(exportResults({judged(table, found), found}, format).find("unfair against baseline") !=
                         std::string::npos,
                     qPrintable(QString::number(int(format))));
        QVERIFY(exportResults({table, {}}, ExportFormat::Csv).find("unfair") == std::string::npos);
    }

    void whatScriptsSayOfThemselvesMakesNeitherNamesNorFindingsEndless() {
        std::vector<RunOutcome> runs;
        for (const char *which : {"a", "b", "c"}) {
            addRepeats(runs, "train.py", config(Method::Baseline, 1, 0), 1, 4, 0, 1);
            RunOutcome &run = runs.back();
            run.config.reset();
            run.script = true;
            run.about["workers"] = std::to_string(runs.size());
            for (const FieldSpec &field : runConfigFields())
                if (!field.perProcess && field.type == FieldType::Text)
                    run.about[std::string(field.key)] = which + std::string(2000, 'y');
        }
        const ResultTable table = resultTable(runs);
        std::set<std::string> names;
        for (const ResultRow &row : table.rows) {
            names.insert(row.name);
            QVERIFY2(row.name.starts_with("train.py, ") && row.name.find("…") != std::string::npos, row.name.c_str());
            QVERIFY2(row.name.size() <= longestTitle, row.name.c_str());
        }
        QCOMPARE(names.size(), runs.size());
        const Judgement found = judge(table, runs, {});
        QCOMPARE(found.pairs.size(), std::size_t(2));
        for (const PairJudgement &pair : found.pairs) {
            QVERIFY(!pair.fairness.empty());
            for (const FairnessFinding &finding : pair.fairness)
                QVERIFY2(finding.sentence.size() < 1500, finding.sentence.c_str());
        }
    }

    void ofManyMachinesTheFirstThatTheOtherLacksAreNamed() {
        const auto on = [](const std::string &own, int count) {
            RunOutcome run = runOf("train.py", config(Method::Baseline, 1, 0), 1, 4);
            for (int i = 0; i < count; ++i) {
                MachineRecord &machine = run.conditions.machines.emplace_back();
                machine.host = i == count - 1 ? own : "node" + std::to_string(i);
            }
            return RepeatGroup{own, {run}};
        };
        const auto hosts = [&](int count) {
            for (const FairnessFinding &finding : fairnessOf(on("yours", count), on("zeus", count), {}, {}))
                if (finding.key == "host")
                    return finding;
            return FairnessFinding{};
        };
        QCOMPARE(hosts(3).reference, std::string("yours, node0, node1"));
        QCOMPARE(hosts(4096).reference,
                 std::string("yours, node0, node1, node10, node100, node1000, node1001, node1002 and 4,088 more"));
        QVERIFY2(hosts(4096).run.starts_with("zeus, node0, "), hosts(4096).run.c_str());
        QVERIFY2(hosts(4096).sentence.size() < 500, hosts(4096).sentence.c_str());
    }

    void aThousandRunsAreJudged() {
        std::vector<RunOutcome> runs;
        for (int group = 0; group < 334; ++group) {
            RunConfig one = config(group % 3 ? Method::Ddp : Method::Baseline, group % 3 ? 2 : 1, group / 60);
            one.batchSize = 32 * (1 + group % 60);
            addRepeats(runs, "group " + std::to_string(group), one, 1 + 0.01 * group, 4, group % 3 ? 0.3 : 0);
        }
        const ResultTable table = resultTable(runs);
        QElapsedTimer timer;
        timer.start();
        const Judgement found = judge(table, runs, {"workers", "batch_size"});
        qInfo("%d runs in %lld ms", int(runs.size()), static_cast<long long>(timer.elapsed()));
        QCOMPARE(found.pairs.size(), std::size_t(333));
        QCOMPARE(found.bottlenecks.size(), std::size_t(334));
        QVERIFY(
            std::ranges::all_of(found.pairs, [](const PairJudgement &pair) { return pair.attribution.has_value(); }));
    }
};

QTEST_GUILESS_MAIN(CoreJudgementTest)
#include "judgement_test.moc"
