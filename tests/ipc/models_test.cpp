// SPDX-License-Identifier: MIT
// The tables of data sets and models: names lead to rows, rows are whole, and what doesn't fit is refused in a sentence.
#include <set>

#include "ipc/model_facts.h"
#include "ipc/run_config.h"
#include "ipc/thousands.h"
#include "tests/qt_test.h"

using namespace lockstep;

namespace {

constexpr SampleSpec words{.values = Values::Tokens, .sizes = {16}, .classes = 4};

} // namespace

class ModelsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aNameLeadsToItsRow() {
        for (const DataSetSpec &set : dataSetTable)
            QCOMPARE(findDataSet(set.name), &set);
        for (const ModelSpec &model : modelTable)
            QCOMPARE(findModel(model.name), &model);
        QVERIFY(!findDataSet("imagenet") && !findDataSet("") && !findModel("resnet") && !findModel(""));
    }

    void everyRowIsWhole() {
        std::set<std::string_view> names, titles;
        for (const DataSetSpec &set : dataSetTable) {
            QVERIFY(set.sample.count() > 0);
            QVERIFY(set.sample.values == Values::Text || (set.sample.classes > 1 && set.trainSamples > 0));
            QVERIFY(set.sample.values != Values::Pixels || (set.sample.dimensions() == 3 && set.std > 0));
            QVERIFY(!set.inputs.empty() && !set.targets.empty() && set.inputs != set.targets);
            names.insert(set.name);
            titles.insert(set.title);
        }
        QCOMPARE(names.size(), dataSetTable.size());
        QCOMPARE(titles.size(), dataSetTable.size());
        for (const ModelSpec &model : modelTable) {
            QVERIFY(model.parameters > 0);
            QVERIFY2(std::ranges::any_of(dataSetTable,
                                         [&](const DataSetSpec &set) { return !mismatch(factsOf(model), set); }),
                     "every model has a data set");
            for (const std::string_view key : model.keys)
                QVERIFY2(key.empty() || findField(key), std::string(key).c_str());
        }
    }

    void aConfigStartsWithTheFirstRowsWhichFit() {
        QCOMPARE(RunConfig().model, std::string(modelTable.front().name));
        QCOMPARE(RunConfig().dataset, std::string(dataSetTable.front().name));
        QVERIFY(!mismatch(factsOf(modelTable.front()), dataSetTable.front()));
    }

    void aModelForOtherSamplesIsRefusedInOneSentence() {
        DataSetSpec text = dataSetTable.front();
        text.name = "phrases";
        text.sample = words;
        const auto error = mismatch(factsOf(modelTable.front()), text);
        QVERIFY(error.has_value());
        QCOMPARE(error->where, std::string("model"));
        QCOMPARE(error->what, std::string("lenet takes images of 28 × 28 pixels in 10 classes, and phrases holds "
                                          "sequences of 16 tokens in 4 classes"));
        text.sample = grayImages;
        QVERIFY(!mismatch(factsOf(modelTable.front()), text));
        const ModelFacts bert = factsOf(*findModel("bert"));
        QVERIFY(mismatch(bert, text).has_value());
        for (const int classes : {0, 2, 100}) { // a head has as many as the data
            text.sample = {.values = Values::Text, .sizes = {}, .classes = classes};
            QVERIFY(!mismatch(bert, text));
            QVERIFY(mismatch(factsOf(modelTable.front()), text).has_value());
        }
        text.sample = grayImages;
        text.sample.classes = 100;
        QVERIFY(mismatch(factsOf(modelTable.front()), text).has_value());
    }

    void aSampleKnowsItsSize() {
        QCOMPARE(grayImages.count(), 784);
        QCOMPARE(grayImages.dimensions(), 3);
        QCOMPARE(words.count(), 16);
        QCOMPARE(words.dimensions(), 1);
    }

    void aKeyThatSomeModelsNameMeansNothingToTheOthers() {
        QVERIFY(knowsKey("convnet", "dropout") && !knowsKey("lenet", "dropout"));
        QVERIFY(knowsKey("lenet", "batch_size") && knowsKey("a script's", "dropout"));
    }

    void aFileIsToldFromARowByItsEnding() {
        QVERIFY(isModelFile("net.pt") && isModelFile("/a/net.pt") && !isModelFile("lenet") && !isModelFile(".pt"));
        QCOMPARE(modelTitle("/a/b/net.pt"), std::string("net.pt"));
        QCOMPARE(modelTitle("lenet"), std::string("lenet"));
        QCOMPARE(descriptionOf("/a/net.pt"), std::string("/a/net.json"));
        QCOMPARE(modelFrom("/a/b", "../net.pt"), std::string("/a/net.pt"));
        QCOMPARE(modelFrom("/a/b", "/c/net.pt"), std::string("/c/net.pt"));
        QCOMPARE(modelFrom("/a/b", "lenet"), std::string("lenet"));
        QVERIFY(!knowsKey("net.pt", "dropout") && knowsKey("net.pt", "bert_dir") && knowsKey("net.pt", "batch_size"));
        QVERIFY(savesFolder("bert") && !savesFolder("lenet") && !savesFolder("net.pt"));
        RunConfig config;
        QVERIFY(findField("model")->set(config, "a/net.pt"));
        QVERIFY(!findField("model")->set(config, "a\nb.pt") && !findField("model")->set(config, "net.pth"));
        QCOMPARE(config.model, std::string("a/net.pt"));
    }

    void aDescriptionSaysWhatIsKnownAndNoMore() {
        const auto full = modelFactsFromJson(R"({"input": {"values": "pixels", "shape": [3, 32, 40]}, "classes": 7,
            "layers": ["a", "b.0"], "parameters": 12})",
                                             "net.pt", "net.json");
        QVERIFY2(full.has_value(), full ? "" : full.error().message().c_str());
        QCOMPARE(full->title, std::string("net.pt"));
        QVERIFY((full->sample == SampleSpec{.values = Values::Pixels, .sizes = {3, 32, 40}, .classes = 7}));
        QCOMPARE(full->layers, 2);
        QVERIFY(full->parameters == 12);
        QCOMPARE(inWords(full->sample), std::string("images of 32 × 40 pixels in 3 channels"));
        const auto least = modelFactsFromJson(R"({"input": {"values": "text"}, "classes": 3})", "net.pt", "net.json");
        QVERIFY(least && !least->parameters && least->layers == 1 && least->layerNames.empty());
        for (const DataSetSpec &set : dataSetTable)
            QCOMPARE(!mismatch(*least, set), set.sample.values == Values::Text);
        QVERIFY(modelFacts("lenet").value()->parameters == 61'706);
        QVERIFY(!modelFacts("a script's").value() && !modelFacts("/nowhere/net.pt").value());
    }

    void aMistakeInADescriptionIsNamedWithItsLine() {
        const auto error =
            modelFactsFromJson("{\"input\": {\"values\": \"text\"},\n\"clases\": 3}", "net.pt", "net.json");
        QVERIFY(!error);
        QCOMPARE(error.error().what, std::string("net.json, line 2: clases is no key of a model's description"));
        QCOMPARE(error.error().wayOut, std::string("did you mean \"classes\"?"));
        QCOMPARE(error.error().where, std::string("model"));
        QVERIFY(!modelFactsFromJson(R"({"input": {"values": "text", "shape": [1, 2, 3]}, "classes": 3})", "n", "n"));
        QVERIFY(!modelFactsFromJson(R"({"input": {"values": "text"}, "classes": 3, "classes": 3})", "n", "n"));
        QVERIFY(!modelFactsFromJson(R"({"input": {"values": "text"}, "classes": 3.0})", "n", "n"));
    }

    void helpNamesEveryRow() {
        const std::string_view help = findField("model")->help;
        QVERIFY(help.starts_with("Network to train: lenet (61,706 parameters)"));
        QVERIFY(help.find("convnet (1,199,882 parameters, PyTorch's MNIST example)") != std::string_view::npos);
        for (const ModelSpec &model : modelTable)
            QVERIFY(help.find(model.name) != std::string_view::npos);
        for (const DataSetSpec &set : dataSetTable)
            QVERIFY(findField("dataset")->help.find(set.name) != std::string_view::npos);
        QVERIFY(findField("dataset")->help.find("60,000 images of 28 × 28 pixels, 10 classes") !=
                std::string_view::npos);
    }

    void aFieldsChoicesAreTheTablesNames() {
        for (const ModelSpec &model : modelTable)
            QVERIFY(std::ranges::count(findField("model")->choices, model.name) == 1);
        for (const DataSetSpec &set : dataSetTable)
            QVERIFY(std::ranges::count(findField("dataset")->choices, set.name) == 1);
    }

    void longNumbersHaveCommas() {
        QCOMPARE(thousands(0), std::string("0"));
        QCOMPARE(thousands(999), std::string("999"));
        QCOMPARE(thousands(61'706), std::string("61,706"));
        QCOMPARE(thousands(1'199'882), std::string("1,199,882"));
    }
};

QTEST_GUILESS_MAIN(ModelsTest)
#include "models_test.moc"
