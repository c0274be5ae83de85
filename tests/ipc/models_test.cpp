// SPDX-License-Identifier: MIT
// The tables of data sets and models: names lead to rows, rows are whole, and what doesn't fit is refused in a sentence.
#include <filesystem>
#include <fstream>
#include <set>

#include "ipc/model_facts.h"
#include "ipc/run_config.h"
#include "ipc/thousands.h"
#include "tests/ipc/test_folder.h"
#include "tests/qt_test.h"

using namespace lockstep;

namespace {

constexpr SampleSpec words{.values = Values::Tokens, .sizes = {16}, .classes = 4};

void writeText(const std::string &path, const std::string &text) {
    std::ofstream(path, std::ios::trunc) << text;
}

/// Writes another text of the same length, which only somebody sees who reads the file again.
void writeUnseen(const std::string &path, const std::string &text) {
    const auto time = std::filesystem::last_write_time(path);
    QCOMPARE(std::filesystem::file_size(path), text.size());
    writeText(path, text);
    std::filesystem::last_write_time(path, time);
}

std::string describedWith(int classes) {
    return R"({"input": {"values": "text"}, "classes": )" + std::to_string(classes) + "}";
}

int classesOf(const std::string &model) {
    const auto facts = modelFacts(model);
    return facts && *facts ? (*facts)->sample.classes : 0;
}

/// As json.dump(…, indent=2) writes it.
std::string describedWithLayers(int layers) {
    std::string text = "{\n  \"input\": {\n    \"values\": \"text\"\n  },\n  \"classes\": 3,\n  \"layers\": [";
    for (int i = 0; i < layers; ++i) {
        const std::string number = std::to_string(i);
        text += (i > 0 ? ",\n    \"" : "\n    \"") + std::string(100 - number.size(), 'a') + number + '"';
    }
    return text + "\n  ]\n}";
}

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

    void aDescriptionIsReadAgainOnlyOnceItWasWritten() {
        const auto folder = test::makeFolder();
        const auto model = [&](int i) { return folder->path().toStdString() + "/" + std::to_string(i) + ".pt"; };
        const std::string first = descriptionOf(model(0));
        writeText(first, describedWith(3));
        QCOMPARE(classesOf(model(0)), 3);
        writeUnseen(first, describedWith(4));
        RunConfig config;
        config.model = model(0);
        for (int run = 0; run < 1000; ++run)
            (void)validate(config);
        QCOMPARE(classesOf(model(0)), 3);
        writeText(first, describedWith(12));
        QCOMPARE(classesOf(model(0)), 12);
        for (int i = 1; i <= 100; ++i) { // more than are kept
            writeText(descriptionOf(model(i)), describedWith(5));
            QCOMPARE(classesOf(model(i)), 5);
        }
        writeUnseen(first, describedWith(13));
        QCOMPARE(classesOf(model(0)), 13);
        std::filesystem::remove(first);
        QVERIFY(!modelFacts(model(0)).value());
    }

    void aWrongDescriptionIsReadOnceToo() {
        const auto folder = test::makeFolder();
        const std::string model = folder->filePath(QStringLiteral("net.pt")).toStdString();
        writeText(descriptionOf(model), describedWith(1));
        QVERIFY(!modelFacts(model));
        writeUnseen(descriptionOf(model), describedWith(2));
        QVERIFY(!modelFacts(model));
        writeText(descriptionOf(model), describedWith(10));
        QCOMPARE(classesOf(model), 10);
    }

    void aDescriptionHasRoomForAThousandLayersAndALargerOneIsNotRead() {
        const auto folder = test::makeFolder();
        const std::string model = folder->filePath(QStringLiteral("net.pt")).toStdString();
        writeText(descriptionOf(model), describedWithLayers(1000));
        QCOMPARE(modelFacts(model).value().value().layers, 1000);
        writeText(descriptionOf(model), describedWithLayers(2000));
        const auto facts = modelFacts(model);
        QVERIFY(!facts);
        QCOMPARE(facts.error().what,
                 "can't read " + descriptionOf(model) + ": it is larger than 128 KiB, which no such file is");
        QCOMPARE(facts.error().where, std::string("model"));
    }

    void whatADescriptionNamesIsCutInASentence() {
        const std::string longName(1'000'000, 'a'), begins = "{\"input\": {\"values\": \"text\"}, \"classes\": 3, \"";
        for (const std::string &text :
             {begins + longName + "\": 1}", begins + "layers\": [\"" + longName + "\", \"" + longName + "\"]}"}) {
            const auto facts = modelFactsFromJson(text, "net.pt", "net.json");
            QVERIFY(!facts);
            QVERIFY2(facts.error().message().size() < 500, facts.error().message().substr(0, 500).c_str());
        }
    }

    void aSuggestionIsValidatedWithoutReadingADescription() {
        const auto folder = test::makeFolder();
        RunConfig config;
        config.model = folder->filePath(QStringLiteral("net.pt")).toStdString();
        writeText(descriptionOf(config.model), "{}");
        QVERIFY(!validate(config).empty());
        QVERIFY(validate(config, Descriptions::Leave).empty());
        config.model = "bert"; // a row needs no file
        QVERIFY(!validate(config, Descriptions::Leave).empty());
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
