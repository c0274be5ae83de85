// SPDX-License-Identifier: MIT
// Experiments as a matrix: every combination before anything starts, rounds in random but seeded order, time of the whole.
#include <set>

#include <QElapsedTimer>

#include "core_support.h"
#include "experiment/experiment.h"
#include "experiment/experiment_time.h"
#include "experiment/key_reader.h"
#include "experiment/more_rounds.h"
#include "experiment/plan.h"
#include "ipc/run_title.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

Recipe recipeOf(const std::string &matrix, const std::string &more = {}) {
    const auto recipe = recipeFromJson(
        "{\"name\": \"grid\", \"base\": {\"epochs\": 2, \"batch_size\": 64},\n \"matrix\": " + matrix + more + "}");
    if (!recipe)
        qFatal("%s", joinErrors(recipe.error()).c_str());
    return *recipe;
}

std::vector<std::string> mistakes(const std::string &text) {
    std::vector<std::string> out;
    if (const auto recipe = recipeFromJson(text, "grid.json"); !recipe)
        for (const Error &error : recipe.error())
            out.push_back(error.message());
    return out;
}

/// So many runs that differ in the seed, on so many nodes with these devices each.
std::string onNodes(int runs, int nodes, const std::string &devices, int batchSize) {
    std::string places, seeds;
    for (int node = 0; node < nodes; ++node)
        places += (node > 0 ? ";n" : "n") + std::to_string(node) + "%ib0:" + devices;
    for (int seed = 1; seed <= runs; ++seed)
        seeds += (seed > 1 ? "," : "") + std::to_string(seed);
    return "{\"name\": \"nodes\", \"base\": {\"method\": \"ddp\", \"batch_size\": " + std::to_string(batchSize) +
           ", \"nodes\": \"" + places + "\"}, \"matrix\": {\"seed\": [" + seeds + "]}}";
}

std::set<std::string> names(const Plan &plan) {
    std::set<std::string> out;
    for (const PlannedRun &run : plan.runs)
        out.insert(run.name);
    return out;
}

/// Every combination of method, devices, workers and seed; baselines are no other runs on two devices.
constexpr const char *grid =
    "{\"method\": [\"baseline\", \"ddp\"], \"devices\": [1, 2], \"workers\": [0, 2], \"seed\": [1, 2]}";

Experiment experimentOf(int repeats, std::uint64_t orderSeed, std::optional<double> estimateS = 10.0) {
    PlanOptions options;
    options.repeats = repeats;
    options.orderSeed = orderSeed;
    if (estimateS)
        options.estimate = [estimateS](const RunConfig &, const std::vector<std::string> &) { return estimateS; };
    const Recipe recipe = recipeOf("{\"method\": [\"baseline\", \"ddp\"], \"workers\": [0, 2]}");
    return makeExperiment(*expand(recipe, machine(4), options), recipe, false, {});
}

} // namespace

class CoreMatrixTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aMatrixIsEveryCombinationWithoutDoubles() {
        const Recipe recipe = recipeOf(grid);
        QCOMPARE(recipe.runs.size(), std::size_t(12)); // 16, of which a baseline on two devices is one on one
        QCOMPARE(recipe.varies, (std::vector<std::string>{"workers", "seed"}));
        const auto plan = expand(recipe, machine(4));
        QVERIFY2(plan.has_value(), plan ? "" : joinErrors(plan.error()).c_str());
        QCOMPARE(plan->runs.size(), std::size_t(12));
        const auto all = names(*plan);
        QCOMPARE(all.size(), std::size_t(12)); // each has a name of its own
        for (const char *name :
             {"baseline", "baseline, seed 2", "DDP on 1 device, seed 2, 2 workers", "DDP on 2 devices, 2 workers"})
            QVERIFY2(all.contains(name), name);
    }

    void whatTheMachineLacksIsListedAndNotRun() {
        const auto plan = expand(recipeOf("{\"method\": [\"ddp\"], \"devices\": [1, 2, 8]}"), machine(2));
        QVERIFY(plan.has_value());
        QCOMPARE(plan->runnableCount(), 2);
        QCOMPARE(plan->runs.back().notRunReason, std::string("not run: needs 8, has 2"));
    }

    void runsMayStandBesideAMatrixAndItIsTheSameReadAgain() {
        const Recipe recipe = recipeOf("{\"workers\": [0, 4]}", ", \"runs\": [{\"name\": \"mine\", \"method\": \"dp\", "
                                                                "\"devices\": 2}], \"order_seed\": 7");
        QCOMPARE(recipe.runs.size(), std::size_t(3));
        QCOMPARE(recipe.orderSeed, std::optional<std::uint64_t>(7));
        const auto again = recipeFromJson(toJson(recipe));
        QVERIFY(again.has_value() && *again == recipe);
    }

    void aNameHasWhatDiffersAndNoDefaults() {
        const auto plan = expand(recipeOf("{\"method\": [\"baseline\", \"ddp\"], \"channels_last\": [false, true], "
                                          "\"precision\": [\"fp32\", \"bf16\"], \"lr\": [0.02]}"),
                                 machine(4));
        QVERIFY(plan.has_value());
        QCOMPARE(names(*plan),
                 (std::set<std::string>{"baseline", "baseline, bf16", "baseline, channels last",
                                        "baseline, bf16, channels last", "DDP on 1 device", "DDP on 1 device, bf16",
                                        "DDP on 1 device, channels last", "DDP on 1 device, bf16, channels last"}));
    }

    void coresOfWorkersNeedNoPlaceInAName() {
        const auto plan = expand(recipeOf("{\"workers\": [0, 2], \"worker_cores\": [\"auto\"]}"), machine(4));
        QVERIFY(plan.has_value());
        QCOMPARE(names(*plan), (std::set<std::string>{"baseline", "baseline, 2 workers"}));
        QCOMPARE(plan->runs[1].config.workerCores, std::string("1-2"));
    }

    void coresOfWorkersNeedNoPlaceInANameEither_WhenALaterKeyVaries() {
        const auto plan = expand(recipeOf("{\"workers\": [0, 2], \"worker_cores\": [\"auto\"], \"precision\": "
                                          "[\"fp32\", \"fp64\"], \"augment\": [\"none\", \"affine\"]}"),
                                 machine(4));
        QVERIFY(plan.has_value());
        const auto all = names(*plan);
        QCOMPARE(all.size(), std::size_t(8));
        for (const std::string &name : all)
            QVERIFY2(name.find("cores") == std::string::npos, name.c_str());
        QVERIFY(all.contains("baseline, 2 workers, affine, fp64") || all.contains("baseline, 2 workers, fp64, affine"));
    }

    void whereNothingElseTellsRunsApartTheirWorkersCoresDo() {
        RunConfig anywhere, bound;
        anywhere.workers = bound.workers = 2;
        bound.workerCores = "2-3";
        const auto plan = expand(recipeFromConfigs("mine", {anywhere, bound}, 1), machine(4));
        QVERIFY2(plan.has_value(), plan ? "" : joinErrors(plan.error()).c_str());
        QCOMPARE(names(*plan), (std::set<std::string>{"baseline", "baseline, worker cores 2-3"}));
    }

    void aReferenceThatNamesNoRunIsReported() {
        const Recipe recipe =
            recipeOf("{\"workers\": [0, 2], \"worker_cores\": [\"auto\"]}", ", \"reference\": \"baseline, 4 workers\"");
        const auto plan = expand(recipe, machine(4));
        QVERIFY(!plan.has_value());
        QCOMPARE(plan.error().size(), std::size_t(1));
        const std::string errors = plan.error().front().message();
        QVERIFY2(errors.find("no run is named \"baseline, 4 workers\"") != std::string::npos, errors.c_str());
        QVERIFY2(errors.find("\"baseline\", \"baseline, 2 workers\"") != std::string::npos, errors.c_str());
        PlanOptions options; // the person's own setting renames them: no mistake of the recipe's
        options.set = {{"workers", "2"}};
        QVERIFY(expand(recipe, machine(4), options).has_value());
        options.set = {{"lr", "0.5"}};
        QVERIFY(!expand(recipe, machine(4), options).has_value());
    }

    void aReferenceNamedByAnOlderVersionIsFound() {
        const std::string matrix =
            "{\"method\": [\"baseline\", \"ddp\"], \"workers\": [0, 2], \"precision\": [\"fp32\", \"bf16\"]}";
        for (const auto &[former, now] : std::initializer_list<std::pair<std::string, std::string>>{
                 {"baseline, 0 workers, fp32", "baseline"}, // when defaults were named, too
                 {"baseline, 2 workers, fp32", "baseline, 2 workers"},
                 {"DDP ×1, 0 workers, bf16", "DDP on 1 device, bf16"},
                 {"DDP ×1", "DDP on 1 device"},
                 {"baseline", "baseline"}}) {
            const auto plan = expand(recipeOf(matrix, ", \"reference\": \"" + former + "\""), machine(4));
            QVERIFY2(plan.has_value(), former.c_str());
            QCOMPARE(plan->reference, now);
        }
        const auto unknown = expand(recipeOf(matrix, ", \"reference\": \"DDP ×3\""), machine(4));
        QVERIFY(!unknown.has_value());
        const std::string message = unknown.error().front().message();
        QVERIFY2(message.find("no run is named \"DDP on 3 devices\"") != std::string::npos, message.c_str());
        QVERIFY2(message.find("\"DDP on 1 device\"") != std::string::npos, message.c_str());
    }

    void runsThatAnOlderVersionNamedReadAsTheyAreNamedNow() {
        const auto recipe = recipeFromJson(R"({"name": "old", "reference": "DDP ×1 gloo", "runs": [
            {"name": "DDP ×1 gloo", "method": "ddp"}, {"name": "Mine", "method": "baseline"}]})");
        QVERIFY(recipe.has_value());
        QCOMPARE(recipe->runs[0].name, std::string("DDP on 1 device, gloo"));
        QCOMPARE(expand(*recipe, machine(4))->reference, std::string("DDP on 1 device, gloo"));
        const std::string now = toJson(experimentOf(1, 1));
        std::string old = now;
        for (std::size_t at = old.find("DDP on 1 device"); at != std::string::npos; at = old.find("DDP on 1 device"))
            old.replace(at, std::string_view("DDP on 1 device").size(), "DDP ×1");
        QVERIFY(old != now);
        const Result<Experiment> read = experimentFromJson(old);
        QVERIFY(read.has_value());
        QCOMPARE(toJson(*read), now);
    }

    void whatMultipliesToMoreThanAnExperimentCanHaveIsRefused() {
        const std::string seeds = "{\"seed\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], \"lr\": [0.01, 0.02]}";
        PlanOptions options;
        options.repeats = 500;
        QVERIFY(expand(recipeOf(seeds), machine(4), options).has_value()); // 10,000
        options.repeats = 501;
        const auto many = expand(recipeOf(seeds), machine(4), options);
        QVERIFY(!many);
        QVERIFY2(many.error().front().message().find("20 runs, 501 times each, are more than the 10000 runs") !=
                     std::string::npos,
                 many.error().front().message().c_str());
        options.repeats = 1000;
        QVERIFY(!expand(recipeOf("{\"method\": [\"ddp\"], \"devices\": [4096], \"batch_size\": [4096]}"), machine(4),
                        options)); // 4 million devices
    }

    void nodesAndDevicesOfAllRunsAreCountedWhileARecipeIsRead() {
        const auto nodes = mistakes(onNodes(1000, mostNodes, "0", 4096));
        QCOMPARE(nodes.size(), std::size_t(1));
        QVERIFY2(nodes[0].find("the first 74 runs name 606282 nodes and devices, more than the 600000 that") !=
                     std::string::npos,
                 nodes[0].c_str());
        const auto devices = mistakes(R"({"name": "d", "base": {"method": "ddp", "batch_size": 4096, "devices": 4096},
            "matrix": {"lr": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8], "seed": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
            13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32]}})");
        QCOMPARE(devices.size(), std::size_t(1));
        QVERIFY2(devices[0].find("the first 147 runs name 602112 nodes and devices") != std::string::npos,
                 devices[0].c_str());
        const auto some = recipeFromJson(onNodes(2, mostNodes, "0", 4096));
        QVERIFY2(some, some ? "" : joinErrors(some.error()).c_str());
        PlanOptions options;
        options.repeats = 100;
        const auto repeated = expand(*some, machine(4), options);
        QVERIFY(!repeated);
        const std::string message = joinErrors(repeated.error());
        QVERIFY2(message.find("2 runs, 100 times each, name 1638600 nodes and devices") != std::string::npos,
                 message.c_str());
        options.repeats = 1; // what a person sets for all runs is counted as well
        options.set = {{"nodes", toText(some->runs[0].config.nodes)}};
        const auto set =
            expand(recipeOf("{\"method\": [\"ddp\"], \"batch_size\": [4096], \"epochs\": [1, 2, 3, 4, 5], "
                            "\"seed\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, "
                            "20, 21, 22, 23, 24, 25]}"),
                   machine(4), options);
        QVERIFY(!set);
        QVERIFY2(joinErrors(set.error()).find("the first 74 runs name 606282") != std::string::npos,
                 joinErrors(set.error()).c_str());
    }

    void aThousandRunsOnALabsNodesAndHundredsOfManyRanksHaveRoom_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<int>("runs");
        QTest::newRow("64 nodes of 8 GPUs")
            << QByteArray::fromStdString(onNodes(1000, 64, "0,1,2,3,4,5,6,7 kind=cuda", 4096)) << 1000;
        QTest::newRow("1,200 nodes") << QByteArray::fromStdString(onNodes(200, 1200, "0", 4800)) << 200;
    }
    void aThousandRunsOnALabsNodesAndHundredsOfManyRanksHaveRoom() {
        QFETCH(QByteArray, text);
        QFETCH(int, runs);
        const auto recipe = recipeFromJson(text.toStdString());
        QVERIFY2(recipe, recipe ? "" : joinErrors(recipe.error()).c_str());
        const auto plan = expand(*recipe, machine(4));
        QVERIFY2(plan, plan ? "" : joinErrors(plan.error()).c_str());
        QCOMPARE(plan->runnableCount(), runs);
        QCOMPARE(int(names(*plan).size()), runs);
        const Result<std::string> document = documentOf(makeExperiment(*plan, *recipe, false, {}));
        QVERIFY2(document, document ? "" : document.error().message().c_str());
        const auto read = experimentFromJson(*document);
        QVERIFY2(read, read ? "" : read.error().message().c_str());
        QCOMPARE(int(read->entries.size()), runs);
    }

    void runsOfOneLongNameAreToldApartAsTheyAreReadAgain() {
        const std::string run = "{\"name\": \"" + std::string(longestTitle - 2, 'n') +
                                "\", \"method\": \"ddp\", \"devices\": 2, \"seed\": ";
        const auto recipe = recipeFromJson("{\"name\": \"long\", \"runs\": [" + run + "8}, " + run + "9}]}");
        QVERIFY2(recipe, recipe ? "" : joinErrors(recipe.error()).c_str());
        const auto plan = expand(*recipe, machine(2));
        QVERIFY2(plan, plan ? "" : joinErrors(plan.error()).c_str());
        QCOMPARE(names(*plan).size(), std::size_t(2));
        const auto read = experimentFromJson(toJson(makeExperiment(*plan, *recipe, false, {})));
        QVERIFY2(read, read ? "" : read.error().message().c_str());
        QCOMPARE(read->entries.size(), std::size_t(2));
        for (const ExperimentEntry &entry : read->entries)
            QVERIFY2(names(*plan).contains(entry.planned.name), entry.planned.name.c_str());
    }

    void whatCantRunComesLastAndTheOthersTakeTurns() {
        PlanOptions options;
        options.repeats = 3;
        options.estimate = [](const RunConfig &config, const std::vector<std::string> &) {
            return double(config.seed);
        };
        const auto plan =
            expand(recipeOf("{\"method\": [\"ddp\"], \"devices\": [8, 2], \"seed\": [1, 2]}"), machine(2), options);
        QVERIFY2(plan, plan ? "" : joinErrors(plan.error()).c_str());
        std::vector<std::uint64_t> seeds;
        std::vector<int> repeats;
        for (int i = 0; i < 6; ++i) {
            const PlannedRun &run = plan->runs[std::size_t(i)];
            seeds.push_back(run.config.seed);
            repeats.push_back(run.repeat);
            QCOMPARE(run.repeats, 3);
            QCOMPARE(run.estimateS, std::optional(double(run.config.seed)));
        }
        QCOMPARE(seeds, (std::vector<std::uint64_t>{1, 2, 1, 2, 1, 2}));
        QCOMPARE(repeats, (std::vector<int>{1, 1, 2, 2, 3, 3}));
        QCOMPARE(plan->runs.size(), std::size_t(8));
        QVERIFY(!plan->runs[6].runnable() && !plan->runs[7].runnable());
    }

    void whatMultipliesToMoreBytesThanAnExperimentCanHaveIsRefused() {
        const auto text = [](std::size_t word, int seeds) {
            std::string list;
            for (int seed = 0; seed < seeds; ++seed)
                list += (seed ? "," : "") + std::to_string(seed);
            return "{\"name\": \"big\", \"base\": {\"device\": \"cpu\", \"command\": [\"python3\", \"" +
                   std::string(word, 'A') + "\"]}, \"matrix\": {\"seed\": [" + list + "]}}";
        };
        const auto real = recipeFromJson(text(4096, 1000)); // as large as real ones are
        QVERIFY2(real, real ? "" : joinErrors(real.error()).c_str());
        PlanOptions options;
        options.repeats = 10;
        QVERIFY(expand(*real, machine(4), options).has_value());
        const auto word = mistakes(text(300'000, 10));
        QCOMPARE(word.size(), std::size_t(1));
        QVERIFY(word.front().find("a word of the command is longer") != std::string::npos);
        const auto recipe = mistakes(text(100'000, 1000));
        QCOMPARE(recipe.size(), std::size_t(1));
        QVERIFY2(recipe[0].find("take more than the 33554432 bytes that a recipe can have") != std::string::npos,
                 recipe[0].c_str());
        const auto large = recipeFromJson(text(100'000, 100));
        QVERIFY(large && expand(*large, machine(4), options).has_value());
        options.repeats = 100;
        const auto many = expand(*large, machine(4), options);
        QVERIFY(!many);
        QVERIFY2(many.error().front().message().find("more than the 134217728 that an experiment can have") !=
                     std::string::npos,
                 many.error().front().message().c_str());
        const auto filled = recipeFromJson(R"({"name": "ph", "runs": [{"method": "baseline", "command":
            ["python3", "{data_dir}{data_dir}"]}]})");
        options.set = {{"data_dir", "/" + std::string(99'999, 'a')}};
        QVERIFY(filled && !expand(*filled, machine(4), options));
    }

    void unknownKeysAreNamedUpToALimit() {
        std::string text = R"({"name": "k", "runs": [{"method": "baseline"}])";
        for (int i = 0; i < 300'000; ++i)
            text += ",\"k" + std::to_string(i) + "\":1";
        QElapsedTimer timer;
        timer.start();
        const auto errors = mistakes(text + ",\"" + std::string(500'000, 'x') + "\":1}");
        QVERIFY(timer.elapsed() < 20'000); // minutes, where each key is compared with all before it
        QCOMPARE(errors.size(), std::size_t(21));
        QVERIFY2(errors.back().find("and 299981 more keys are unknown or there twice") != std::string::npos,
                 errors.back().c_str());
        std::string flags = R"({"name": "k", "base": {"command": ["x"]}, "matrix": {"seed": [1])";
        for (int i = 0; i < 100'000; ++i)
            flags += ",\"--k" + std::to_string(i) + "\":[1]";
        timer.start();
        (void)recipeFromJson(flags + "}}");
        QVERIFY(timer.elapsed() < 20'000);
    }

    void anOrderOfMillionsIsRefusedAndDoublesCostNothing() {
        Experiment experiment = experimentOf(3, 1);
        const std::vector<int> order = experiment.order;
        while (experiment.order.size() <= mostRunsRead)
            experiment.order.insert(experiment.order.end(), order.begin(), order.end());
        QCOMPARE(experiment.queued(), order);
        const auto read = experimentFromJson(toJson(experiment));
        QVERIFY(!read && read.error().what.find("its order has more than 20000 entries") != std::string::npos);
        experiment.order.resize(mostRunsRead);
        QVERIFY(experimentFromJson(toJson(experiment)).has_value());
    }

    void everyMistakeIsReportedAtOnce() {
        const auto errors = mistakes("{\"name\": \"grid\",\n \"matrix\": {\n  \"method\": [\"ddp\", \"bazeline\"],\n"
                                     "  \"worker\": [1],\n  \"epochs\": [],\n  \"lr\": 0.1\n }}");
        QCOMPARE(errors.size(), std::size_t(4));
        const auto has = [&](const char *where, const char *what) {
            return std::any_of(errors.begin(), errors.end(), [&](const std::string &one) {
                return one.find(where) != std::string::npos && one.find(what) != std::string::npos;
            });
        };
        QVERIFY2(has("grid.json:3: method", "did you mean \"baseline\"?"), errors[0].c_str());
        QVERIFY2(has("grid.json:4: worker", "did you mean \"workers\"?"), errors[0].c_str());
        QVERIFY2(has("grid.json:5: epochs", "at least one value"), errors[0].c_str());
        QVERIFY2(has("grid.json:6: lr", "must be a list"), errors[0].c_str());
    }

    void aCombinationThatCantRunIsNamed() {
        const auto errors = mistakes("{\"name\": \"grid\", \"base\": {\"batch_size\": 64}, \"matrix\": {\"method\": "
                                     "[\"baseline\", \"ddp\"], \"devices\": [2, 3], \"seed\": [1, 2, 3]}}");
        QCOMPARE(errors.size(), std::size_t(1)); // once, not once a seed
        QVERIFY2(errors[0].find("DDP on 3 devices") != std::string::npos, errors[0].c_str());
    }

    void ofCountlessMistakesThatOnlyThisMachineShowsAHundredAreNamed_data() {
        QTest::addColumn<std::size_t>("devices");
        QTest::addColumn<std::size_t>("reported");
        QTest::newRow("as many as are named") << mostMistakesNamed << mostMistakesNamed;
        QTest::newRow("one more") << mostMistakesNamed + 1 << mostMistakesNamed + 1;
        QTest::newRow("very many") << std::size_t(2000) << mostMistakesNamed + 1;
    }
    void ofCountlessMistakesThatOnlyThisMachineShowsAHundredAreNamed() {
        QFETCH(std::size_t, devices);
        QFETCH(std::size_t, reported);
        std::string gpus;
        for (std::size_t i = 0; i < devices; ++i)
            gpus += (i > 0 ? ",\"GPU-" : "\"GPU-") + std::to_string(i) + "\"";
        const auto recipe = recipeFromJson(
            "{\"name\": \"gpus\", \"until_width\": \"5%\", \"base\": {\"method\": \"ddp\", \"device\": \"auto\", "
            "\"batch_size\": " +
            std::to_string(devices) + ", \"devices\": [" + gpus + "]}, \"matrix\": {\"seed\": [1, 2, 3]}}");
        QVERIFY2(recipe.has_value(), recipe ? "" : joinErrors(recipe.error()).c_str());
        const auto plan = expand(*recipe, machine(4)); // which has no GPU
        QVERIFY(!plan);
        QCOMPARE(plan.error().size(), reported); // each once, not once a seed
        QCOMPARE(plan.error().front().message(), std::string("devices: GPU-0 is a GPU, the device kind is cpu; use "
                                                             "numbers like 0,1 or the device kind cuda"));
        QCOMPARE(plan.error().back().message() == "there are more mistakes; correct those above first",
                 reported > mostMistakesNamed);
    }

    void moreThanAThousandRunsAreRefused() {
        std::string seeds;
        for (int i = 0; i < 40; ++i)
            seeds += (i > 0 ? "," : "") + std::to_string(i);
        const auto errors = mistakes("{\"name\": \"grid\", \"matrix\": {\"seed\": [" + seeds +
                                     "], \"lr\": [0.1,0.2], " + "\"epochs\": [" + seeds.substr(2) + "]}}");
        QCOMPARE(errors.size(), std::size_t(1));
        QVERIFY2(errors[0].find("more than 1000 runs") != std::string::npos, errors[0].c_str());
    }

    void roundsTakeTurnsInAnOrderThatIsRandomAndSeeded() {
        const Experiment one = experimentOf(5, 1), same = experimentOf(5, 1), other = experimentOf(5, 2);
        QCOMPARE(one.order, same.order);
        QVERIFY(one.order != other.order);
        std::set<std::vector<int>> rounds;
        for (int round = 0; round < 5; ++round) {
            std::vector<int> runs;
            std::set<std::string> seen;
            for (int i = 0; i < 4; ++i) {
                const int entry = one.order[std::size_t(4 * round + i)];
                QCOMPARE(one.entries[std::size_t(entry)].planned.repeat, round + 1);
                seen.insert(one.entries[std::size_t(entry)].planned.name);
                runs.push_back(entry % 4);
            }
            QCOMPARE(seen.size(), std::size_t(4)); // every run once a round
            rounds.insert(runs);
        }
        QVERIFY2(rounds.size() > 1, "rounds differ in order");
        QCOMPARE(one.queued(), one.order);
        const auto back = experimentFromJson(toJson(one));
        QVERIFY(back && back->order == one.order && back->orderSeed == 1);
    }

    void everyRunComesFirstAboutAsOften() {
        std::map<int, int> first;
        const Experiment many = experimentOf(400, 3);
        for (int round = 0; round < 400; ++round)
            ++first[many.order[std::size_t(4 * round)] % 4];
        for (const auto &[run, count] : first)
            QVERIFY2(count > 60 && count < 140, qPrintable(QString::number(count)));
    }

    void aSingleRoundAndSeedZeroRunAsListed() {
        for (const Experiment &listed : {experimentOf(1, 9), experimentOf(3, 0)})
            QVERIFY(std::is_sorted(listed.order.begin(), listed.order.end()));
    }

    void theTimeOfTheWholeComesFromEarlierRunsAndFromThisExperimentsOwn() {
        Experiment experiment = experimentOf(3, 0);
        ExperimentClock clock;
        QCOMPARE(*leftS(experiment, clock), 120.0);
        QCOMPARE(*progressOf(experiment, clock), 0.0);
        experiment.entries[0].state = EntryState::Done; // it took 20 s, so its other repeats will
        clock.runTimeS = [](int entry) { return entry == 0 ? std::optional(20.0) : std::nullopt; };
        QCOMPARE(*leftS(experiment, clock), 130.0);
        QCOMPARE(*progressOf(experiment, clock), 20.0 / 150);
        experiment.entries[1].state = EntryState::Running;
        QCOMPARE(*leftS(experiment, clock), 130.0); // just begun: nothing of its own is known
        clock.leftS = [](int) { return std::optional(4.0); };
        clock.fraction = [](int) { return std::optional(0.5); };
        QCOMPARE(*leftS(experiment, clock), 124.0);
        QCOMPARE(*progressOf(experiment, clock), 25.0 / 150);
    }

    void aRunOfUnknownLengthLeavesTheWholeUnknownUntilItsFirstRepeat() {
        Experiment experiment = experimentOf(2, 0, std::nullopt);
        ExperimentClock clock;
        clock.runTimeS = [](int) { return std::optional(7.0); };
        QVERIFY(!leftS(experiment, clock));
        for (int i = 0; i < 4; ++i) {
            experiment.entries[std::size_t(i)].state = EntryState::Done;
            QVERIFY(leftS(experiment, clock).has_value() == (i == 3));
        }
        QCOMPARE(*leftS(experiment, clock), 28.0);
        QCOMPARE(*progressOf(experiment, clock), 0.5);
    }

    void eachFinishedRunIsAskedForItsTimeOnce() {
        Experiment experiment = experimentOf(50, 0);
        for (int i = 0; i < 100; ++i)
            experiment.entries[std::size_t(i)].state = EntryState::Done;
        int asked = 0;
        ExperimentClock clock;
        clock.runTimeS = [&asked](int) { return std::optional(double(++asked)); };
        QVERIFY(progressOf(experiment, clock).has_value());
        QCOMPARE(asked, 100);
        QVERIFY(leftS(experiment, clock).has_value());
        QCOMPARE(asked, 200);
        QVERIFY(roundS(experiment, clock).has_value());
        QCOMPARE(asked, 300);
    }
};

QTEST_GUILESS_MAIN(CoreMatrixTest)
#include "matrix_test.moc"
