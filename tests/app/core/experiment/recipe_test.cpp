// SPDX-License-Identifier: MIT
#include <algorithm>

#include "core_support.h"
#include "experiment/plan.h"
#include "experiment/planned_backend.h"
#include "experiment/recipe.h"
#include "experiment/recipe_shelf.h"
#include "experiment/run_names.h"
#include "launch/torchrun_command.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

MachineFacts machineWithGpus(int cores, int gpus) {
    MachineFacts facts = machine(cores);
    for (int i = 0; i < gpus; ++i)
        facts.gpuUuids.push_back("GPU-0000000" + std::to_string(i));
    return facts;
}

std::vector<std::string> names(const Plan &plan) {
    std::vector<std::string> out;
    for (const PlannedRun &run : plan.runs)
        out.push_back(run.name + (run.runnable() ? "" : " | " + run.notRunReason));
    return out;
}

Recipe builtIn(const char *name) {
    const auto recipe = loadRecipe(name);
    if (!recipe)
        qFatal("%s", joinErrors(recipe.error()).c_str());
    return *recipe;
}

} // namespace

class CoreRecipeTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyBuiltInRecipeIsValidAndSurvivesWritingAndReading() {
        const auto all = builtInRecipes();
        QVERIFY(all.size() >= 2);
        for (const std::string &name : all) {
            const Recipe recipe = builtIn(name.c_str());
            QCOMPARE(recipe.name, name);
            const auto again = recipeFromJson(toJson(recipe));
            QVERIFY2(again.has_value(), again ? "" : joinErrors(again.error()).c_str());
            QVERIFY(*again == recipe);
        }
    }

    void everyPublishedFigureIsThere() {
        const Published lenet = *builtIn("lenet-dp-vs-ddp").published;
        QCOMPARE(lenet.runs.size(), std::size_t(3));
        const PublishedRun &dp = lenet.runs[1], &ddp = lenet.runs[2];
        QCOMPARE(*dp.timeS, 160.882);
        QCOMPARE(*ddp.timeS, 26.113);
        QCOMPARE(ddp.timeKind, std::string("sum of epoch durations"));
        QCOMPARE(ddp.epochs.size(), std::size_t(10));
        double sum = 0;
        for (const PublishedEpoch &epoch : ddp.epochs)
            sum += *epoch.durationS;
        QVERIFY(std::abs(sum - 26.113) < 1e-9);
        QCOMPARE(dp.perClassAccuracy.size(), std::size_t(10));
        QCOMPARE(*dp.epochs[9].loss, 0.0700);
        QVERIFY(!lenet.contradictions.empty());
        const Published backends = *builtIn("mnist-backends").published;
        QCOMPARE(backends.runs.size(), std::size_t(7));
        QCOMPARE(*backends.runs[1].printedSpeedUp, 1.67);
        const Published nodes = *builtIn("mnist-nodes").published;
        QCOMPARE(nodes.runs.size(), std::size_t(7));
        QCOMPARE(*nodes.runs[4].timeS, 48.0);
        QCOMPARE(*nodes.runs[4].printedSpeedUp, 3.5);
        QCOMPARE(nodes.runs[4].devices, 5);
        for (const PublishedRun &run : nodes.runs)
            QCOMPARE(run.timeKind, std::string("total running time"));
        QVERIFY(nodes.contradictions.front().find("1234 and 12345") != std::string::npos);
    }

    void everyMistakeIsReportedAtOnceWithItsLineAndTheNearestWord() {
        const std::string text = "{\n"
                                 "  \"name\": \"x\",\n"
                                 "  \"sumary\": \"s\",\n"
                                 "  \"base\": {\"model\": \"lenett\", \"epochs\": \"ten\"},\n"
                                 "  \"runs\": [\n"
                                 "    {\"method\": \"ddp\", \"devices\": 0},\n"
                                 "    {\"method\": \"ddp\", \"devices\": 2, \"batchsize\": 64},\n"
                                 "    {\"method\": \"ddp\", \"devices\": 2,\n"
                                 "     \"batch_size\": 63}\n"
                                 "  ],\n"
                                 "  \"repeats\": 0\n"
                                 "}\n";
        const auto recipe = recipeFromJson(text, "r.json");
        QVERIFY(!recipe.has_value());
        const std::string all = joinErrors(recipe.error());
        const auto reported = [&](const char *part) {
            QVERIFY2(all.find(part) != std::string::npos, (std::string(part) + " is not in\n" + all).c_str());
        };
        reported("r.json:3: sumary: unknown key; did you mean \"summary\"?");
        reported("r.json:4: model");
        reported("did you mean \"lenet\"?");
        reported("r.json:4: epochs: must be a whole number, not \"ten\"");
        reported("r.json:6: devices: 0 devices can't train anything");
        reported("r.json:7: batchsize: unknown key; did you mean \"batch_size\"?");
        reported("r.json:9: batch_size: batch size 63 can't be divided among 2 devices");
        reported("r.json:11: repeats");
        QCOMPARE(recipe.error().size(), std::size_t(7));
    }

    void ofCountlessMistakesAHundredAreNamedAndTheOthersCounted() {
        std::string runs = "{\"devices\":0}";
        for (int i = 1; i < 1000; ++i)
            runs += ",\n{\"devices\":0}";
        const auto recipe = recipeFromJson("{\"name\":\"a\",\"runs\":[" + runs + "]}", "r.json");
        QVERIFY(!recipe.has_value());
        QCOMPARE(recipe.error().size(), std::size_t(101));
        QCOMPARE(recipe.error().back().message(),
                 std::string("r.json: there are 900 more mistakes; correct those above first"));
    }

    void aRunsFlagsAreAsManyAsItsRecordKeeps() {
        const auto recipeOf = [](std::size_t count) {
            std::string flags;
            for (std::size_t i = 0; i < count; ++i)
                flags += (i > 0 ? ",\"f" : "\"f") + std::to_string(i) + "\":\"1\"";
            return recipeFromJson("{\"name\":\"a\",\"runs\":[{\"method\":\"baseline\",\"command\":[\"x\"],\n"
                                  "\"flags\":{" +
                                      flags + "}}]}",
                                  "r.json");
        };
        QVERIFY(recipeOf(mostFlags).has_value());
        const auto more = recipeOf(mostFlags + 1);
        QVERIFY(!more);
        QVERIFY2(joinErrors(more.error()).find("r.json:2: flags: has 513 flags, and a run's at most 512") !=
                     std::string::npos,
                 joinErrors(more.error()).c_str());
    }

    void remarksAndPublishedRunsAreAThousandAtMost() {
        const auto listOf = [](const char *item, int count) {
            std::string list = "[";
            for (int i = 0; i < count; ++i)
                list += (i > 0 ? "," : "") + std::string(item);
            return list + "]";
        };
        const auto whyNot = [](const std::string &keys) {
            const auto recipe = recipeFromJson("{\"name\":\"a\",\"runs\":[{}]," + keys + "}");
            return recipe ? std::string() : joinErrors(recipe.error());
        };
        const auto published = [](const std::string &keys) { return "\"published\":{\"machine\":\"m\"," + keys + "}"; };
        const char *run = "{\"name\":\"n\",\"method\":\"ddp\"}";
        QCOMPARE(whyNot("\"notes\":" + listOf("\"n\"", 1000)), std::string());
        QCOMPARE(whyNot(published("\"runs\":" + listOf(run, 1000))), std::string());
        for (const std::string &keys :
             {"\"notes\":" + listOf("\"n\"", 1001), published("\"contradictions\":" + listOf("\"n\"", 1001)),
              published("\"runs\":" + listOf(run, 1001))}) {
            const std::string why = whyNot(keys);
            QVERIFY2(why.find("1,000") != why.npos && std::ranges::count(why, '\n') <= 1, why.c_str());
        }
    }

    void aMistake_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("reported");
        QTest::newRow("no JSON") << QByteArray("{\n \"name\": ,}") << QByteArray("line 2: not valid JSON");
        QTest::newRow("twice the same key") << QByteArray("{\"name\":\"a\",\n\"name\":\"b\",\"runs\":[{}]}")
                                            << QByteArray("line 2: name: the key is there twice");
        QTest::newRow("no runs") << QByteArray("{\"name\":\"a\"}") << QByteArray("runs: there is no run");
        QTest::newRow("runs of the wrong type")
            << QByteArray("{\"name\":\"a\",\"runs\":[3]}") << QByteArray("must be an object");
        QTest::newRow("no name") << QByteArray("{\"runs\":[{}]}") << QByteArray("name: is missing");
        QTest::newRow("a list, not an object") << QByteArray("[]") << QByteArray("must be an object");
        QTest::newRow("an empty list of devices")
            << QByteArray("{\"name\":\"a\",\"runs\":[{\"devices\":[]}]}") << QByteArray("0 devices");
        QTest::newRow("per-process keys are no recipe's")
            << QByteArray("{\"name\":\"a\",\"runs\":[{\"frames\":\"-\"}]}") << QByteArray("frames: unknown key");
        QTest::newRow("the switch is a text") << QByteArray("{\"name\":\"a\",\"runs\":[{\"pin_memory\":\"yes\"}]}")
                                              << QByteArray("must be true or false");
        QTest::newRow("an unknown published reference")
            << QByteArray("{\"name\":\"a\",\"runs\":[{}],\"published\":{\"machine\":\"m\",\"reference\":\"bas\","
                          "\"runs\":[{\"name\":\"base\",\"method\":\"ddp\"}]}}")
            << QByteArray("did you mean \"base\"?");
        QTest::newRow("an accuracy in percent")
            << QByteArray("{\"name\":\"a\",\"runs\":[{}],\"published\":{\"machine\":\"m\","
                          "\"runs\":[{\"name\":\"base\",\"method\":\"ddp\",\"test_accuracy\":99.1}]}}")
            << QByteArray("from 0 to 1");
    }
    void aMistake() {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, reported);
        const auto recipe = recipeFromJson(text.toStdString());
        QVERIFY(!recipe.has_value());
        const std::string all = joinErrors(recipe.error());
        QVERIFY2(all.find(reported.toStdString()) != std::string::npos, all.c_str());
    }

    void aKeyThatAScriptKnowsTwiceIsKeptOnce() {
        const auto recipe = recipeFromJson(R"({"name": "a", "runs": [{"method": "baseline", "devices": 1,
            "command": ["python3", "train.py"], "known": ["method", "seed", "method"]}]})");
        QVERIFY2(recipe, recipe ? "" : joinErrors(recipe.error()).c_str());
        QVERIFY((recipe->runs.front().claims.known == std::vector<std::string>{"method", "seed"}));
    }

    void anUnknownRecipeIsAnsweredWithTheNearest() {
        const auto recipe = loadRecipe("lenet-dp-vs-dpp");
        QVERIFY(!recipe.has_value());
        QVERIFY(joinErrors(recipe.error()).find("did you mean lenet-dp-vs-ddp?") != std::string::npos);
    }

    void allDevicesOfThisMachineAndThePublishedEightAreInThePlan() {
        const auto plan = expand(builtIn("lenet-dp-vs-ddp"), machine(2));
        QVERIFY(plan.has_value());
        const std::vector<std::string> expected = {"baseline", "DP on 2 devices", "DDP on 2 devices",
                                                   "DP on 8 devices | not run: needs 8, has 2",
                                                   "DDP on 8 devices | not run: needs 8, has 2"};
        QCOMPARE(names(*plan), expected);
        QCOMPARE(plan->reference, std::string("baseline"));
        QCOMPARE(plan->runnableCount(), 3);
        QVERIFY(!plan->estimateS);
    }

    void aMachineOfOneCoreRunsEveryMethodOnIt() {
        const auto plan = expand(builtIn("lenet-dp-vs-ddp"), machine(1));
        QVERIFY(plan.has_value());
        QCOMPARE(plan->runnableCount(), 3);
        QCOMPARE(plan->runs[2].name, std::string("DDP on 1 device"));
    }

    void onEightDevicesThePublishedRunIsNotPlannedTwice() {
        const auto plan = expand(builtIn("lenet-dp-vs-ddp"), machine(8));
        QVERIFY(plan.has_value());
        QCOMPARE(names(*plan), (std::vector<std::string>{"baseline", "DP on 8 devices", "DDP on 8 devices"}));
    }

    void threeDevicesCantShareTheBatchSoTwoAreTakenAndItIsSaid() {
        const auto plan = expand(builtIn("lenet-dp-vs-ddp"), machine(3));
        QVERIFY(plan.has_value());
        QCOMPARE(plan->runs[2].name, std::string("DDP on 2 devices"));
        QVERIFY(plan->runs[2].note.find("2 of 3 devices") != std::string::npos);
    }

    void ncclWithoutGpusReadsNotRunAndTheReferenceIsTheFirstThatRuns() {
        const auto plan = expand(builtIn("mnist-backends"), machine(2));
        QVERIFY(plan.has_value());
        QCOMPARE(plan->reference, std::string("DDP on 1 device, gloo"));
        QCOMPARE(plan->runnableCount(), 2);
        const auto all = names(*plan);
        QVERIFY(std::find(all.begin(), all.end(),
                          "DDP on 2 devices, nccl | not run: nccl needs GPUs, this machine has none") != all.end());
        QVERIFY(std::find(all.begin(), all.end(), "DDP on 8 devices, gloo | not run: needs 8, has 2") != all.end());
    }

    void aServerIsTrainedBesideDdpAndOnlyBetweenCpuDevices() {
        const auto plan = expand(builtIn("allreduce-vs-server"), machine(4));
        QVERIFY(plan.has_value());
        QCOMPARE(names(*plan), (std::vector<std::string>{
                                   "baseline", "DDP on 2 devices", "DDP on 2 devices, ring", "server on 2 devices",
                                   "async server on 2 devices", "DDP on 4 devices", "server on 4 devices",
                                   "async server on 4 devices", "DDP on 8 devices | not run: needs 8, has 4",
                                   "server on 8 devices | not run: needs 8, has 4",
                                   "async server on 8 devices | not run: needs 8, has 4"}));
        const auto onGpus = expand(builtIn("allreduce-vs-server"), machineWithGpus(4, 2));
        QVERIFY(onGpus.has_value());
        QCOMPARE(onGpus->runs[1].notRunReason, std::string());
        QCOMPARE(onGpus->runs[2].notRunReason,
                 std::string("not run: the ring sends gradients between CPU devices, and not between GPUs yet"));
        QCOMPARE(onGpus->runs[3].notRunReason,
                 std::string("not run: ps-sync sends gradients between CPU devices, and not between GPUs yet"));
    }

    void devicesThatOnlyServeAreNamed() {
        RunConfig config;
        config.method = Method::PsAsync;
        config.devices = {"0", "1", "2"};
        QCOMPARE(runTitle(config), std::string("async server on 3 devices"));
        config.serverDevices = 1;
        QCOMPARE(runTitle(config), std::string("async server on 3 devices, 1 server device"));
    }

    void overNodesTheFirstOneAloneStandsBesideAll() {
        PlanOptions options;
        options.set = {{"nodes", "hostA%bond0:0,1 kind=cpu;hostB%eno1:0,1,2 kind=cpu"}};
        const auto plan = expand(builtIn("mnist-nodes"), machine(2), options);
        QVERIFY2(plan.has_value(), plan ? "" : joinErrors(plan.error()).c_str());
        QCOMPARE(names(*plan), (std::vector<std::string>{"baseline", "DDP on 2 devices", "DDP on 5 devices",
                                                         "DDP on 5 devices, measured shards"}));
        QCOMPARE(plan->runs[0].config.nodes.size(), std::size_t(1));
        QCOMPARE(plan->runs[0].config.nodes[0].devices, (std::vector<std::string>{"0"}));
        QCOMPARE(plan->runs[1].config.nodes.size(), std::size_t(1));
        QCOMPARE(plan->runs[1].config.nodes[0].host, std::string("hostA"));
        QCOMPARE(plan->runs[2].config.nodes.size(), std::size_t(2));
        for (const PlannedRun &run : plan->runs) // the same work everywhere
            QCOMPARE(run.config.batchSize, 60);
    }

    void withoutNodesTheRunOfTheFirstOneIsThatOfAll() {
        const auto plan = expand(builtIn("mnist-nodes"), machine(2));
        QVERIFY(plan.has_value());
        QCOMPARE(names(*plan),
                 (std::vector<std::string>{"baseline", "DDP on 2 devices", "DDP on 2 devices, measured shards"}));
    }

    void gpusAreTakenWhereTheyAre() {
        const auto plan = expand(builtIn("mnist-backends"), machineWithGpus(4, 2));
        QVERIFY(plan.has_value());
        QCOMPARE(plan->reference, std::string("DDP on 1 device, nccl"));
        QCOMPARE(plan->runs[0].config.device, std::string("cuda"));
        QCOMPARE(plan->runnableCount(), 4);
    }

    void theBackendThatWillBeChosenIsReportedWithItsReason() {
        const auto reported = [](Method method, const char *device, std::vector<std::string> devices,
                                 const char *backend = "auto") {
            PlannedRun run;
            run.config.method = method;
            run.config.device = device;
            run.config.devices = std::move(devices);
            run.config.backend = backend;
            const BackendChoice choice = backendOf(run);
            return choice.name + ": " + choice.reason;
        };
        QCOMPARE(reported(Method::Ddp, "cpu", {"0", "1"}), std::string("gloo: nccl needs GPUs"));
        QCOMPARE(reported(Method::Ddp, "cuda", {"0", "1"}), std::string("nccl: each rank has its own GPU"));
        QCOMPARE(reported(Method::Ddp, "cuda", {"0", "0"}),
                 std::string("gloo: nccl needs one GPU per rank, but ranks share one here"));
        QCOMPARE(reported(Method::Ddp, "cuda", {"0", "1"}, "gloo"), std::string("gloo: as chosen"));
        QCOMPARE(reported(Method::Dp, "cpu", {"0", "1"}), std::string(": "));
        PlannedRun mixed; // over nodes each has its own kind of device
        mixed.config.method = Method::Ddp;
        mixed.config.device = "cuda";
        mixed.config.nodes = *nodesFromText("a%eth0:0;b%eth0:0 kind=cpu");
        QCOMPARE(backendOf(mixed).reason, std::string("nccl needs GPUs, some devices are CPU cores"));
    }

    void repeatsAreInterleavedAndQuickIsSmaller() {
        PlanOptions options;
        options.quick = true;
        options.estimate = [](const RunConfig &, const std::vector<std::string> &) {
            return std::optional<double>(2.0);
        };
        const auto plan = expand(builtIn("lenet-dp-vs-ddp"), machine(2), options);
        QVERIFY(plan.has_value());
        QCOMPARE(plan->runnableCount(), 9);
        QCOMPARE(plan->runs[0].name, plan->runs[3].name);
        QCOMPARE(plan->runs[3].repeat, 2);
        QCOMPARE(plan->runs[1].name, std::string("DP on 2 devices"));
        QCOMPARE(plan->runs[0].config.trainSamples, std::int64_t(12800));
        QCOMPARE(plan->runs[0].config.epochs, 3);
        QCOMPARE(*plan->estimateS, 18.0);
    }

    void keysThatAreSetReachEveryRunAndMistakesAreAllReported() {
        PlanOptions options;
        options.set = {{"epochs", "2"}, {"seed", "7"}};
        auto plan = expand(builtIn("lenet-dp-vs-ddp"), machine(2), options);
        QVERIFY(plan.has_value());
        QCOMPARE(plan->runs[1].config.epochs, 2);
        QCOMPARE(plan->runs[2].config.seed, std::uint64_t(7));
        options.set = {{"epoch", "2"}, {"lr", "-1"}};
        plan = expand(builtIn("lenet-dp-vs-ddp"), machine(2), options);
        QVERIFY(!plan.has_value());
        QCOMPARE(plan.error().size(), std::size_t(2));
    }

    void aRunThatSavesWhereItBeginsIsPlannedAlone() {
        RunConfig config;
        config.model = "bert";
        config.dataset = "text";
        config.dataDir = "/texts.csv";
        config.bertDir = "/models/tuned";
        config.saveFinal = "/models/../models/tuned/";
        const auto planned = [&](int repeats) {
            return expand(recipeFromConfigs("in place", {config}, repeats), machine(2));
        };
        QVERIFY(planned(1).has_value());
        const auto refused = planned(2);
        QVERIFY(!refused.has_value());
        QCOMPARE(
            joinErrors(refused.error()),
            std::string("save_final: \"/models/../models/tuned/\" is also bert_dir, so later runs would start from "
                        "what earlier ones have saved; save to another place, or plan one run alone"));
        RunConfig larger = config; // than the machine
        larger.method = Method::Ddp;
        larger.devices = {"0", "1", "2", "3", "4", "5", "6", "7"};
        const auto besideIt = expand(recipeFromConfigs("in place", {config, larger}, 1), machine(2));
        QVERIFY2(besideIt.has_value(), besideIt ? "" : joinErrors(besideIt.error()).c_str());
        QCOMPARE(besideIt->runnableCount(), 1);
        config.bertDir.clear();
        config.saveFinal = downloadedDataFolder("bert");
        const auto downloaded = planned(2);
        QVERIFY(!downloaded.has_value());
        QVERIFY(joinErrors(downloaded.error()).find("\" is also the downloaded BERT's folder, so ") !=
                std::string::npos);
        config.init = "/models/first.safetensors";
        config.saveFinal = "/models/second";
        QVERIFY(planned(2).has_value());
        config.model = RunConfig().model;
        config.dataset = RunConfig().dataset;
        config.dataDir.clear();
        config.saveFinal = config.init;
        QVERIFY(!planned(2).has_value());
    }

    void freelyChosenConfigsOfOneTitleAreToldApart() {
        RunConfig a, b;
        b.workers = 4;
        const auto plan = expand(recipeFromConfigs("mine", {a, b}, 1), machine(2));
        QVERIFY(plan.has_value());
        QCOMPARE(names(*plan), (std::vector<std::string>{"baseline", "baseline, 4 workers"}));
    }

    void aRunThatIsAnEarlierOneUnderAnotherNameIsReported() {
        const RunConfig usual;
        const std::string text = "{\"name\": \"a\", \"title\": \"A\", \"runs\": ["
                                 "{\"name\": \"small\", \"method\": \"ddp\", \"devices\": 2},"
                                 "{\"name\": \"large\", \"method\": \"ddp\", \"devices\": 2, \"seed\": " +
                                 std::to_string(usual.seed) + "}, {\"name\": \"alone\", \"method\": \"baseline\"}]}";
        const auto recipe = recipeFromJson(text);
        QVERIFY(recipe.has_value());
        auto plan = expand(*recipe, machine(2));
        QVERIFY(plan.has_value());
        QCOMPARE(names(*plan), (std::vector<std::string>{"small", "alone"}));
        QCOMPARE(plan->notes,
                 (std::vector<std::string>{"\"large\" has the same settings as \"small\": one run stands for both"}));
        Recipe without = *recipe;
        without.runs.erase(without.runs.begin() + 1);
        plan = expand(without, machine(2));
        QVERIFY(plan.has_value() && plan->notes.empty());
    }

    void aRunOfSeveralRepeatsIsNamedWithItsNumber() {
        PlannedRun run;
        run.name = "DDP on 2 devices";
        QCOMPARE(nameWithRepeat(run), std::string("DDP on 2 devices"));
        run.repeats = 3;
        run.repeat = 2;
        QCOMPARE(nameWithRepeat(run), std::string("DDP on 2 devices #2"));
    }

    void aSavedRecipeIsFoundByItsNameAndGivenToOthersAsAFile() {
        const Home home;
        const Recipe recipe = builtIn("lenet-dp-vs-ddp");
        const auto name = saveRecipe(recipe, "My LeNet, 2 workers", false);
        QVERIFY2(name.has_value(), name ? "" : name.error().message().c_str());
        QCOMPARE(*name, std::string("my-lenet-2-workers"));
        QCOMPARE(savedRecipes(), std::vector<std::string>{"my-lenet-2-workers"});
        const auto back = loadRecipe("my-lenet-2-workers");
        QVERIFY(back.has_value());
        QCOMPARE(back->title, std::string("My LeNet, 2 workers"));
        QVERIFY(back->runs == recipe.runs && back->published == recipe.published);
        QVERIFY(!saveRecipe(recipe, "my lenet 2 workers", false).has_value()); // the same name
        QVERIFY(saveRecipe(recipe, "my lenet 2 workers", true).has_value());
        QVERIFY(!saveRecipe(recipe, "LeNet DP vs DDP", true).has_value()); // a built-in one's
        const std::string file = home.path() + "/for-others.json";
        QVERIFY(shareRecipe(*back, file).has_value());
        QVERIFY(loadRecipe(file).has_value());
        QVERIFY(removeSavedRecipe("my-lenet-2-workers").has_value());
        QVERIFY(!loadRecipe("my-lenet-2-workers").has_value());
        QVERIFY(!removeSavedRecipe("../../etc/passwd").has_value());
        QCOMPARE(recipeNameFrom("  Über ×2 "), std::string("ber-2"));
        QCOMPARE(recipeNameFrom("×"), std::string("recipe"));
    }

    void torchrunsWordsForAScriptOfOursCanBeRunAsTheyStand() {
        const QTemporaryDir folder;
        qputenv("LOCKSTEP_SCRIPTS", folder.path().toUtf8());
        const auto unset = qScopeGuard([] { qunsetenv("LOCKSTEP_SCRIPTS"); });
        const auto plan = expand(builtIn("lenet-why-faster"), machine(2));
        QVERIFY(plan.has_value());
        const std::string path = folder.path().toStdString() + "/examples/lenet_study.py ";
        for (const PlannedRun &run : plan->runs) {
            if (run.command.empty())
                continue;
            const std::string command = torchrunCommand(run);
            const bool ddp = run.config.method == Method::Ddp;
            QVERIFY2(command.starts_with(
                         (ddp ? "torchrun --nproc-per-node " + std::to_string(deviceCount(run.config)) + " " + path
                              : "python3 " + path)),
                     command.c_str());
            QVERIFY2(command.find_first_of("{}'") == std::string::npos, command.c_str());
            QVERIFY2(command.find("--data-dir") == std::string::npos, command.c_str());
        }
    }

    void torchrunWouldDoTheSame() {
        RunConfig config;
        config.method = Method::Ddp;
        config.devices = {"0", "1"};
        config.dataDir = "/data/it's here";
        const std::string command = torchrunCommand(config);
        QVERIFY(command.starts_with("torchrun --no-python --nproc-per-node 2 lockstep-trainer "));
        QVERIFY(command.find("--method ddp") != std::string::npos || command.find("--method=ddp") != std::string::npos);
        QVERIFY(command.find("'/data/it'\"'\"'s here'") != std::string::npos ||
                command.find("it'\"'\"'s") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(CoreRecipeTest)
#include "recipe_test.moc"
