// SPDX-License-Identifier: MIT
// Runs of other people's scripts: recipes that name one, and what is made of runs without a RunConfig.

#include "analysis/compare/judgement.h"
#include "analysis/compare/result_table.h"
#include "core_support.h"
#include "experiment/experiment.h"
#include "experiment/plan.h"
#include "export/export.h"
#include "launch/torchrun_command.h"
#include "store/run_index.h"
#include "store/run_outcome.h"
#include "store/run_progress.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

const char *const scriptRecipe = R"({"name":"mine","base":{"epochs":2,"batch_size":64},"varies":["workers"],"runs":[
  {"method":"baseline"},
  {"name":"mine","method":"ddp","devices":2,"workers":1,"worker_cores":"auto",
   "command":["{python:torch,numpy}","{recipe_folder}/train.py","--workers","{workers}","--epochs={epochs}"]},
  {"method":"ddp","devices":2,"command":["{python}","{recipe_folder}/train.py"]}]})";

Recipe parsed(const char *text) {
    const auto recipe = recipeFromJson(text);
    if (!recipe)
        qFatal("%s", joinErrors(recipe.error()).c_str());
    return *recipe;
}

RunRecord scriptRecord(const std::string &name = "train.py") {
    RunRecord record = ddpRecord("");
    record.config.reset();
    record.command = {"/usr/bin/python3", "/home/me/train.py"};
    record.name = name;
    record.recipe.clear();
    return record;
}

/// The recording of ddpRecording() as a script sends it: it says what it is, and no rank knows the loss of all.
std::vector<Frame> scriptRecording(const About &about) {
    std::vector<Frame> frames = ddpRecording();
    for (Frame &one : frames) {
        if (auto *state = std::get_if<StateFrame>(&one.body); state && one.rank && state->state == RunState::Init) {
            const auto pid = state->pid;
            *state = StateFrame{};
            state->pid = pid;
            state->host = "box";
            state->about = about;
        } else if (state && state->state == RunState::Training) {
            state->stepsPerEpoch = 20;
        }
        if (auto *epoch = std::get_if<EpochFrame>(&one.body))
            epoch->loss.reset();
    }
    return frames;
}

RunOutcome outcomeOf(const RunRecord &record, const About &about) {
    RunStore store(QStringLiteral("20260102T030405Z-89abcdef"));
    store.setRecord(record);
    for (const Frame &one : scriptRecording(about))
        store.take(one);
    store.setResult(doneResult(record.run, 1));
    return outcomeOf(store);
}

} // namespace

class CoreScriptsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aRecipeNamesAScriptByATemplateAndSurvivesWritingAndReading() {
        const Recipe recipe = parsed(scriptRecipe);
        QVERIFY(recipe.runs[0].command.empty());
        QCOMPARE(recipe.runs[1].command.size(), std::size_t(5));
        QVERIFY(recipe.runs[1].autoWorkerCores);
        QCOMPARE(recipe.varies, std::vector<std::string>{"workers"});
        const auto again = recipeFromJson(toJson(recipe));
        QVERIFY(again && *again == recipe);
    }

    void aMistakeInATemplateIsReportedWithItsLineAndTheNearestWord_data() {
        QTest::addColumn<QByteArray>("command");
        QTest::addColumn<QByteArray>("reported");
        QTest::newRow("unknown") << QByteArray("[\"{python}\",\n\"{wokers}\"]")
                                 << QByteArray(
                                        "line 2: command: there is no placeholder {wokers}; did you mean {workers}?");
        QTest::newRow("per process") << QByteArray("[\"{frames}\"]") << QByteArray("there is no placeholder {frames}");
        QTest::newRow("unpaired") << QByteArray("[\"a{\"]") << QByteArray("a brace without its partner");
        QTest::newRow("empty") << QByteArray("[]") << QByteArray("is empty");
        QTest::newRow("a text") << QByteArray("\"python train.py\"") << QByteArray("must be a list of texts");
    }
    void aMistakeInATemplateIsReportedWithItsLineAndTheNearestWord() {
        QFETCH(QByteArray, command);
        QFETCH(QByteArray, reported);
        const auto recipe = recipeFromJson("{\"name\":\"a\",\"runs\":[{\"command\":" + command.toStdString() + "}]}");
        QVERIFY(!recipe.has_value());
        const std::string all = joinErrors(recipe.error());
        QVERIFY2(all.find(reported.toStdString()) != std::string::npos, all.c_str());
    }

    void aFilesFolderIsFilledIn() {
        const QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("r.json")).toStdString();
        write(path, scriptRecipe);
        const auto recipe = loadRecipe(path);
        QVERIFY(recipe.has_value());
        QCOMPARE(recipe->runs[1].command[1], folder.path().toStdString() + "/train.py");
    }

    void aPlannedScriptKeepsItsDevicesAndItsTemplateAndIsNoTwinOfOurs() {
        const Recipe recipe = parsed(scriptRecipe);
        PlanOptions options;
        options.estimate = [](const RunConfig &, const std::vector<std::string> &command) {
            return command.empty() ? std::optional<double>(2.0) : std::nullopt;
        };
        const auto plan = expand(recipe, machine(4), options);
        QVERIFY(plan.has_value());
        QCOMPARE(plan->runs.size(), std::size_t(3));
        const PlannedRun &script = plan->runs[1];
        QCOMPARE(script.config.devices, (std::vector<std::string>{"0", "1"}));
        QCOMPARE(script.config.workerCores, std::string("2-3")); // a core for each of the two processes' workers
        QVERIFY(!script.estimateS);                              // what ours took says nothing of a script
        QVERIFY(plan->runs[0].estimateS);
        QCOMPARE(plan->runs[2].name, std::string("train.py"));
        QCOMPARE(torchrunCommand(script),
                 std::string("torchrun --nproc-per-node 2 '{recipe_folder}/train.py' --workers 1 --epochs=2"));
        const Experiment experiment = makeExperiment(*plan, recipe, false, {});
        const LaunchRequest request = requestFor(experiment, experiment.entries[1]);
        QCOMPARE(request.record.command, script.command);
        QCOMPARE(request.record.processes, 2);
        const auto again = experimentFromJson(toJson(experiment));
        QVERIFY(again && again->entries == experiment.entries);
    }

    void aCommandThatIsShownRunsWhatItShows() {
        PlannedRun run;
        run.config.method = Method::Baseline;
        run.command = {"python3", "train.py", "--tag=a\xE2\x80\xAE\xE2\x80\x8F", "it's \xD7\xA9"};
        QCOMPARE(torchrunCommand(run), std::string("python3 train.py '--tag=a'$'\\xe2\\x80\\xae''"
                                                   "'$'\\xe2\\x80\\x8f''' 'it'\"'\"'s \xD7\xA9'"));
    }

    void aRunThatLacksCoresForItsWorkersSaysSo() {
        const auto plan = expand(parsed(scriptRecipe), machine(3));
        QVERIFY(plan.has_value());
        const auto lacking =
            std::find_if(plan->runs.begin(), plan->runs.end(), [](const auto &r) { return !r.runnable(); });
        QVERIFY(lacking != plan->runs.end());
        QCOMPARE(lacking->notRunReason, std::string("not run: needs 4 cores (2 to train, 2 to load), has 3"));
    }

    void theControlsOfThePublishedStudyAreAllThere() {
        const auto recipe = loadRecipe("lenet-why-faster");
        QVERIFY2(recipe.has_value(), recipe ? "" : joinErrors(recipe.error()).c_str());
        const auto two = expand(*recipe, machine(2));
        QVERIFY(two.has_value());
        QCOMPARE(two->reference, std::string("Python, 0 workers"));
        QCOMPARE(two->runnableCount(), 15);
        const auto row = [&](const char *name) {
            return *std::find_if(two->runs.begin(), two->runs.end(), [&](const auto &run) { return run.name == name; });
        };
        QCOMPARE(row("batch loader, 4 workers").notRunReason,
                 std::string("not run: needs 5 cores (1 to train, 4 to load), has 2"));
        QCOMPARE(row("Python, 1 worker").config.workerCores, std::string("1"));
        QCOMPARE(expand(*recipe, machine(8))->runnableCount(), int(recipe->runs.size()));
        const Published &published = *recipe->published;
        QCOMPARE(*published.runs[0].timeS, 72.80);
        QCOMPARE(*published.runs[1].timeS, 34.96);
        QCOMPARE(*published.runs[2].timeS, 18.47);
        QCOMPARE(*published.runs[3].timeS, 75.58);
        QCOMPARE(*published.runs[4].timeS, 20.27);
        QVERIFY(published.contradictions.front().find("do not add up") != std::string::npos);
    }

    void aScriptsRunSaysWhatItIsAndItsLossIsTheMeanOfItsRanks() {
        RunStore store(QStringLiteral("r"));
        store.setRecord(scriptRecord());
        QCOMPARE(store.identity().method(), QString());
        for (const Frame &one :
             scriptRecording({{"method", "ddp"}, {"backend", "gloo"}, {"workers", "2"}, {"epochs", "2"}}))
            store.take(one);
        QCOMPARE(store.identity().method(), QStringLiteral("ddp"));
        QCOMPARE(store.identity().title(), QStringLiteral("train.py"));
        QCOMPARE(store.ranks().all().at(0).backend, std::string("gloo"));
        QCOMPARE(*progressOf(store).totalSteps, std::int64_t(40));
        QCOMPARE(*progressOf(store).epochs, 2);
        const RunOutcome out = outcomeOf(store);
        QCOMPARE(*out.testAccuracy, 0.9);
        // Rank 1's losses lie 0.1 above rank 0's at the same steps and samples: the mean is 0.05 above rank 0's own.
        const double own = 2.0 * (1.0 / 5 + 1.0 / 10 + 1.0 / 15 + 1.0 / 20) / 4;
        QVERIFY(std::abs(*store.epochs().merged()[0].loss - (own + 0.05)) < 1e-12);
    }

    void aScriptThatReportsItsStepsAsAWholeHasAnEndToWaitFor() {
        const auto untilTheFirstEpochEnds = [](const About &about) {
            RunStore store(QStringLiteral("r"));
            store.setRecord(scriptRecord());
            for (const Frame &one : scriptRecording(about)) {
                if (std::holds_alternative<EpochFrame>(one.body))
                    break;
                store.take(one);
            }
            return progressOf(store);
        };
        const Progress unknown = untilTheFirstEpochEnds({});
        QVERIFY(!unknown.totalSteps && !unknown.leftS && unknown.doneSteps);
        const Progress said = untilTheFirstEpochEnds({{"total_steps", "60"}});
        QCOMPARE(*said.totalSteps, std::int64_t(60)); // what it says, not what an epoch's length would give
        const Progress both = untilTheFirstEpochEnds({{"total_steps", "60"}, {"epochs", "2"}});
        QCOMPARE(*both.totalSteps, std::int64_t(60));
        QVERIFY(said.leftS && *said.leftS > 0);
        const double left = double(60 - *said.doneSteps) / 60;
        QVERIFY(std::abs(1 - *said.fraction - left) < 1e-9);
        QVERIFY(!untilTheFirstEpochEnds({{"total_steps", "many"}}).totalSteps);
    }

    void runsOfScriptsContrastByWhatTheySay() {
        RunOutcome one =
            outcomeOf(scriptRecord(), {{"method", "ddp"}, {"workers", "0"}, {"lr", "1e-2"}, {"seed", "1"}});
        RunOutcome two =
            outcomeOf(scriptRecord(), {{"method", "ddp"}, {"workers", "2"}, {"lr", "0.01"}, {"hue", "red"}});
        RunOutcome mute = outcomeOf(scriptRecord("other.py"), {});
        RunOutcome ours = outcomeOf(ddpRecord(""), {});
        one.run = "one", two.run = "two", mute.run = "mute", ours.run = "ours";
        const ResultTable table = resultTable(std::vector{one, two, mute, ours});
        QCOMPARE(table.rows.size(), std::size_t(4));
        QCOMPARE(table.rows[0].name, std::string("train.py, workers 0"));
        QCOMPARE(table.rows[1].name, std::string("train.py, workers 2"));
        QCOMPARE(table.rows[0].method, std::string("ddp"));
        QCOMPARE(*table.rows[1].workers, 2);
        QCOMPARE(table.rows[0].devices, 2);
        QCOMPARE(table.rows[0].utilisation, std::string("cpu:1 75 %, cpu:0 50 %"));
        QCOMPARE(*table.rows[0].totalTrainingTimeS, 0.9);
        QCOMPARE(*table.rows[1].speedUpTraining, 1.0);
        QVERIFY(table.rows[0].phasesS.contains("backward"));
        QVERIFY(table.rows[2].method.empty() && !table.rows[2].workers); // it said nothing: unknown, not 0
        const Judgement judgement = judge(table, {one, two, mute, ours}, {});
        QCOMPARE(judgement.pairs.front().run, std::string("train.py, workers 2"));
        QVERIFY(std::ranges::any_of(judgement.pairs.front().fairness, [](const FairnessFinding &found) {
            return found.key == "workers" && found.reference == "0" && found.run == "2";
        }));
        const std::string csv = exportResults({table, {}}, ExportFormat::Csv);
        QVERIFY(csv.find("\"train.py, workers 2\",measured here,ddp,2,cpu") != std::string::npos);
        QVERIFY(!judgement.sentence.empty());
        // The same script with the same words is a repeat.
        RunOutcome again = one;
        again.begin = "rank 0 at another time";
        QCOMPARE(resultTable(std::vector{one, again}).rows.front().repeats, 2);
    }

    void aScriptThatContradictsItsRecipeIsNoticed() {
        RunRecord record = scriptRecord();
        record.config = ddpRecord("").config;
        record.config->workers = 4;
        const ResultTable table =
            resultTable(std::vector{outcomeOf(record, {{"workers", "2"}, {"lr", "1e-2"}, {"threads", "7"}})});
        QCOMPARE(table.rows.front().notes, std::vector<std::string>{"the script says workers 2, the recipe 4"});
    }

    void keysThatTheRecipeVariesAreNoSurprise() {
        const Recipe recipe = parsed(scriptRecipe);
        const Plan plan = *expand(recipe, machine(4));
        const Experiment experiment = makeExperiment(plan, recipe, false, {});
        for (const std::string &note : resultTable(experiment, {}).notes)
            QVERIFY2(note.find("workers 0 and 1") == std::string::npos, note.c_str());
    }

    void theListKnowsAScriptsMethodAndFiguresAndItsTimeIsNoEstimateOfOurTrainers() {
        const Home home;
        RunRecord claimed = scriptRecord();
        const RunRecord bare = scriptRecord();
        claimed.config = RunConfig{};
        const std::string run = finishedRun(1, &claimed), plain = finishedRun(2, &bare);
        for (const std::string &id : {run, plain}) {
            RunResult result = doneResult(id, 1, 5);
            Summary summary;
            summary.method = "ddp";
            summary.model = "lenet";
            summary.epochs = {{1, 0.5, 2.0, 640}, {2, 0.25, 2.0, 640}};
            summary.totalTrainingTimeS = 4.0;
            summary.testAccuracy = 0.75;
            result.summary = summary;
            write(runFolder(id).result(), toJson(result));
        }
        auto index = RunIndex::open();
        QVERIFY(index && index->refresh());
        const auto runs = index->runs();
        QCOMPARE(runs.front().run, plain);
        QCOMPARE(runs.front().method, std::string("ddp"));
        QCOMPARE(runs.front().epochs, 2);
        QCOMPARE(*runs.front().totalTrainingTimeS, 4.0);
        QCOMPARE(*runs.front().finalLoss, 0.25);
        QVERIFY(!index->estimate(RunConfig{}, {"box", ""}));
        // The same script by a template, from wherever it and its Python lie; not with other words.
        QCOMPARE(*index->estimate(RunConfig{}, {"box", ""}, {"{python:torch}", "{scripts}/train.py"}), 5.0);
        QVERIFY(!index->estimate(RunConfig{}, {"box", ""}, {"{python:torch}", "{scripts}/train.py", "--workers", "2"}));
    }
};

QTEST_GUILESS_MAIN(CoreScriptsTest)
#include "scripts_test.moc"
