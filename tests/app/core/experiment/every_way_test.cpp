// SPDX-License-Identifier: MIT
// Every method with every model and data set of the tables goes the whole way: recipe, plan, torchrun's command, Slurm's script, the
// picture of its traffic, results and every export. Who adds a row sees here what was forgotten.
#include <QDir>
#include <QTemporaryDir>

#include "analysis/compare/judgement.h"
#include "core_support.h"
#include "experiment/plan.h"
#include "experiment/recipe.h"
#include "experiment/run_names.h"
#include "export/export.h"
#include "ipc/file_system.h"
#include "ipc/model_facts.h"
#include "ipc/run_title.h"
#include "launch/torchrun_command.h"
#include "nodes/topology.h"
#include "queue/slurm/slurm_script.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

/// The baseline and the method on two devices, of a model on data that fit it.
struct Way {
    std::string name;
    RunConfig baseline, config;
};

/// The rows' models, and one in a file.
std::vector<std::string> everyModel() {
    static const QTemporaryDir folder;
    static const std::string file = folder.filePath(QStringLiteral("net.pt")).toStdString();
    (void)realFileSystem().writeAtomically(descriptionOf(file), R"({"input": {"values": "pixels", "shape": [1, 28, 28]},
        "classes": 10, "layers": ["features", "classifier"], "parameters": 29738})");
    std::vector<std::string> models{file};
    for (const ModelSpec &model : modelTable)
        models.emplace_back(model.name);
    return models;
}

std::vector<Way> everyWay() {
    std::vector<Way> ways;
    for (const std::string &model : everyModel())
        for (const DataSetSpec &set : dataSetTable)
            for (const MethodSpec &method : methodTable) {
                if (mismatch(modelFacts(model).value().value(), set))
                    continue;
                Way way;
                way.name = std::string(method.name) + " of " + modelTitle(model) + " on " + std::string(set.name);
                way.baseline.model = model;
                way.baseline.dataset = set.name;
                way.baseline.trainSamples = 640;
                way.baseline.epochs = 1;
                if (set.download.empty() && set.package.empty())
                    way.baseline.dataDir = "/data/of-mine.csv";
                way.config = way.baseline;
                way.config.method = method.id;
                if (method.severalDevices)
                    way.config.devices = {"0", "1"};
                ways.push_back(std::move(way));
            }
    return ways;
}

RunOutcome outcomeOf(const RunConfig &config, std::string name, double trainingS) {
    RunOutcome run;
    run.run = "20260131T143000Z-0000000" + std::to_string(deviceCount(config));
    run.name = std::move(name);
    run.config = config;
    run.state = RunState::Done;
    MergedEpoch epoch;
    epoch.epoch = 1;
    epoch.complete = true;
    epoch.samples = 640;
    epoch.durationS = trainingS;
    run.epochs = {epoch};
    run.totalTrainingTimeS = trainingS;
    run.runTimeS = trainingS + 1;
    run.testAccuracy = 0.5;
    run.phasesS = {{"load", 0.1 * trainingS}, {"forward", 0.4 * trainingS}, {"backward", 0.5 * trainingS}};
    return run;
}

} // namespace

class EveryWayTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aModelsFileIsNamedAsSeenFromItsRecipe() {
        const QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("mine.json")).toStdString();
        QVERIFY(realFileSystem().writeAtomically(
            path, R"({"name": "mine", "title": "Mine", "runs": [{"model": "nets/a.pt"}, {"model": "/b.pt"}]})"));
        const auto recipe = loadRecipe(path);
        QVERIFY2(recipe.has_value(), recipe ? "" : joinErrors(recipe.error()).c_str());
        QCOMPARE(recipe->runs.front().config.model, folder.path().toStdString() + "/nets/a.pt");
        QCOMPARE(recipe->runs.back().config.model, std::string("/b.pt"));
        // A description that lies where the test runs is none of this recipe's; the one beside the recipe is.
        const std::string wrong = R"({"classes": 10})";
        const QString before = QDir::currentPath();
        const QTemporaryDir elsewhere;
        QVERIFY(QDir::setCurrent(elsewhere.path()));
        QVERIFY(realFileSystem().makeFolders(elsewhere.filePath(QStringLiteral("nets")).toStdString()));
        QVERIFY(
            realFileSystem().writeAtomically(elsewhere.filePath(QStringLiteral("nets/a.json")).toStdString(), wrong));
        const bool reads = loadRecipe(path).has_value() && expand(*loadRecipe(path), machine(2)).has_value();
        QVERIFY(QDir::setCurrent(before));
        QVERIFY(reads);
        QVERIFY(realFileSystem().makeFolders(folder.filePath(QStringLiteral("nets")).toStdString()));
        QVERIFY(realFileSystem().writeAtomically(folder.filePath(QStringLiteral("nets/a.json")).toStdString(), wrong));
        const auto mistakes = expand(*loadRecipe(path), machine(2));
        QVERIFY(!mistakes);
        QVERIFY2(joinErrors(mistakes.error()).find("nets/a.json: input is missing") != std::string::npos,
                 joinErrors(mistakes.error()).c_str());
        PlanOptions options;
        options.set = {{"model", "c.pt"}}; // from a command line
        const auto plan = expand(*recipe, machine(2), options);
        QVERIFY2(plan.has_value(), plan ? "" : joinErrors(plan.error()).c_str());
        QCOMPARE(plan->runs.front().config.model, QDir::currentPath().toStdString() + "/c.pt");
    }

    void aFilesUnknownParametersStayUnknown() {
        QVERIFY(!gradientBytesOf("/nowhere/net.pt"));
        RunConfig config;
        config.model = "/nowhere/net.pt"; // as where only a viewer is
        QCOMPARE(joinErrors(validate(config)), std::string());
        config.method = Method::Pipeline;
        config.devices = {"0", "1"};
        QCOMPARE(joinErrors(validate(config)), std::string());
        QVERIFY(!checkModelFile(config.model));
        QCOMPARE(settingText(config, "model"), std::string("model net.pt"));
    }

    void theParametersOfABertInAFolderAreUnknown() {
        RunConfig config;
        config.model = "bert";
        QCOMPARE(gradientBytesOf(config).value_or(0), 4.0 * 22'714'371);
        config.bertDir = "/nowhere/bert";
        QVERIFY(!gradientBytesOf(config));
        config.model = everyModel().front(); // a file, which takes the folder's vocabulary alone
        QCOMPARE(gradientBytesOf(config).value_or(0), 4.0 * 29'738);
    }

    void everyWay_data() {
        QTest::addColumn<int>("number");
        int number = 0;
        for (const Way &way : ::everyWay())
            QTest::newRow(way.name.c_str()) << number++;
    }
    void everyWay() {
        QFETCH(int, number);
        const Way way = ::everyWay().at(std::size_t(number));
        const MethodSpec &method = specOf(way.config.method);
        const std::vector<Error> errors = validate(way.config);
        QVERIFY2(errors.empty(), joinErrors(errors).c_str());
        const Recipe recipe = recipeFromConfigs("Every way", {way.baseline, way.config}, 1);
        const auto again = recipeFromJson(toJson(recipe));
        QVERIFY2(again.has_value(), again ? "" : joinErrors(again.error()).c_str());
        QVERIFY(*again == recipe);
        const auto plan = expand(*again, machine(4));
        QVERIFY2(plan.has_value(), plan ? "" : joinErrors(plan.error()).c_str());
        const bool isBaseline = method.id == Method::Baseline;
        QCOMPARE(plan->runnableCount(), isBaseline ? 1 : 2);
        const PlannedRun &run = plan->runs.back();
        QVERIFY(run.config.method == way.config.method);
        QVERIFY2(isTitledAs(run.name, method), run.name.c_str());
        QVERIFY(!shortTitle(run.name).empty());

        const std::string command = torchrunCommand(run);
        for (const std::string_view word : {method.name, std::string_view(way.config.model)})
            if (word != RunConfig().model)
                QVERIFY2(command.find(word) != std::string::npos, command.c_str());
        const auto script = slurmScript(slurmTasks(std::vector{run}), {});
        QVERIFY2(script.has_value(), script ? "" : script.error().message().c_str());
        QVERIFY(script->find("--method=" + std::string(method.name)) != std::string::npos);

        Topology topology;
        for (const char *host : {"hostA", "hostB"}) {
            TopologyNode node;
            node.name = node.host = host;
            node.devices = 1;
            node.usable = true;
            topology.nodes.push_back(node);
        }
        TopologyLink link;
        link.b = 1;
        topology.links = {link};
        putOn(topology, method.name, *gradientBytesOf(way.config.model), 1);
        QVERIFY(topology.traffic == method.traffic);
        if (isDistributed(method.id) && !method.splitsModel)
            QVERIFY(topology.links.front().bytesThere > 0);
        QVERIFY(!sentenceOf(method.traffic).empty());

        std::vector<RunOutcome> outcomes{outcomeOf(way.baseline, "baseline", 10)};
        if (!isBaseline)
            outcomes.push_back(outcomeOf(run.config, run.name, 6));
        const ResultTable table = resultTable(outcomes);
        QCOMPARE(table.rows.size(), outcomes.size());
        QCOMPARE(methodOf(table, run.name), std::string(method.name));
        QCOMPARE(table.rows.back().model, modelTitle(way.config.model));
        QCOMPARE(judge(table, outcomes, {}).sentence.empty(), isBaseline); // alone it is compared with nothing
        for (const ExportFormatSpec &format : resultFormats()) {
            const std::string text = exportResults(reportOf(table, outcomes, {}), format.format);
            QVERIFY2(text.find(run.name) != std::string::npos, std::string(format.suffix).c_str());
        }
    }
};

QTEST_GUILESS_MAIN(EveryWayTest)
#include "every_way_test.moc"
