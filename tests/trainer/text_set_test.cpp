// SPDX-License-Identifier: MIT
// Texts with labels as a data set: the split, classes, tokens, and batches that are no longer than their texts.
#include <doctest/doctest.h>

#include <array>
#include <fstream>
#include <set>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>

#include "ipc/sha256.h"
#include "tests/trainer/temp_folder.h"
#include "trainer/data/loader.h"
#include "trainer/data/text_set.h"

using namespace lockstep;
using namespace lockstep::trainer;
using namespace lockstep::trainer::test;

namespace {

constexpr const char *fewPieces = "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\n";

/// A file of `count` texts, "a a … a" of 1 to 30 tokens, sorted by label as many files are.
class LabelledTexts {
public:
    explicit LabelledTexts(int count) {
        std::ofstream file(path());
        file << "text,label\n";
        for (int i = 0; i < count; ++i) {
            for (int word = 0; word <= i * 7 % 30; ++word)
                file << (word > 0 ? " a" : "a");
            file << (i < count / 2 ? ",dull\n" : ",bright\n");
        }
    }
    [[nodiscard]] std::string path() const { return m_folder / "some.csv"; }
    [[nodiscard]] Result<DataSets> load(TextOptions options = {}) const {
        options.file = path();
        options.vocabulary = fewPieces;
        return loadTexts(*findDataSet("text"), options);
    }

private:
    TempFolder m_folder;
};

Result<DataSets> loadFile(const std::string &bytes) {
    const TempFolder folder;
    writeFile(folder / "texts.csv", bytes);
    return loadTexts(*findDataSet("text"), {.file = folder / "texts.csv", .vocabulary = fewPieces});
}

/// Padding that the batches of an epoch hold beside their tokens, and their widths.
struct Padded {
    std::int64_t tokens = 0, padding = 0;
    std::set<std::int64_t> widths;
    std::multiset<std::int64_t> lengths;
};

Padded anEpoch(const DataSet &set, LoaderOptions options) {
    Loader loader(set, std::move(options));
    loader.startEpoch(0, 0);
    Padded found;
    while (const auto batch = loader.next()) {
        const auto real = (batch->inputs != 0).sum(1);
        for (std::int64_t i = 0; i < real.size(0); ++i)
            found.lengths.insert(real[i].item<std::int64_t>());
        const auto tokens = real.sum().item<std::int64_t>();
        found.tokens += tokens;
        found.padding += batch->inputs.numel() - tokens;
        found.widths.insert(batch->inputs.size(1));
    }
    return found;
}

} // namespace

TEST_SUITE("text_set") {
    TEST_CASE("every tenth text tests and the others train; both hold every label, though the file is sorted by it") {
        const auto sets = LabelledTexts(400).load();
        REQUIRE(sets.has_value());
        CHECK(sets->train.size() == 360);
        CHECK(sets->test.size() == 40);
        CHECK(sets->train.classNames == std::vector<std::string>{"bright", "dull"});
        CHECK(sets->train.spec.sample.classes == 2);
        for (const DataSet *set : {&sets->train, &sets->test}) {
            const double share = set->targets.to(torch::kFloat64).mean().item<double>();
            CHECK(share > 0.3);
            CHECK(share < 0.7);
            CHECK(std::ssize(set->texts.lengths()) == set->size());
            CHECK(set->sha256.at("some.csv").size() == 64);
        }
        const auto first = LabelledTexts(400).load({.trainLimit = 50, .testLimit = 7});
        REQUIRE(first.has_value());
        CHECK(first->test.size() == 7);
        CHECK(torch::equal(first->train.targets, sets->train.targets.narrow(0, 0, 50)));
    }

    TEST_CASE("samples are records in the order of seed 0, and classes are their labels' places in the alphabet") {
        constexpr std::int64_t count = 40;
        const char *const labels[] = {R"("so ""so""")", "bad", "good"};
        const std::int64_t classes[] = {2, 0, 1};
        std::string file = "label,text\n";
        for (std::int64_t record = 0; record < count; ++record) {
            file += std::string(labels[record % 3]) + ",\"";
            for (std::int64_t word = 0; word <= record; ++word)
                file += "a\n";
            file += "\"\n";
        }
        const auto sets = loadFile(file);
        REQUIRE(sets.has_value());
        CHECK(sets->train.classNames == std::vector<std::string>{"bad", "good", R"(so "so")"});
        const auto order = at::randperm(count, at::detail::createCPUGenerator(0), at::kLong);
        std::int64_t trained = 0, tested = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            const bool tests = i % 10 == 9;
            const DataSet &set = tests ? sets->test : sets->train;
            const std::int64_t sample = tests ? tested++ : trained++, record = order[i].item<std::int64_t>();
            CHECK(std::ssize(set.texts[sample]) == record + 3);
            CHECK(set.targets[sample].item<std::int64_t>() == classes[record % 3]);
        }
    }

    TEST_CASE("a text is its tokens between [CLS] and [SEP], cut where it is too long") {
        const auto sets = LabelledTexts(400).load({.maxTokens = 12});
        REQUIRE(sets.has_value());
        const DataSet &train = sets->train;
        CHECK(train.texts.longest() == 12);
        for (std::int64_t i = 0; i < train.size(); ++i) {
            const auto tokens = train.texts[i];
            const auto length = std::ssize(tokens);
            CHECK(tokens.front() == 2);
            CHECK(tokens.back() == 3);
            const auto row = train.texts.padded(std::array{i}, 12)[0];
            CHECK(row[0].item<std::int64_t>() == 2);
            CHECK(row[length - 1].item<std::int64_t>() == 3);
            CHECK(row.narrow(0, length, 12 - length).sum().item<std::int64_t>() == 0);
        }
    }

    TEST_CASE("one long text among many short ones takes room for its own tokens alone") {
        std::string texts = "text,label\n";
        for (int i = 0; i < 1000; ++i)
            texts += i % 2 == 0 ? "a,dull\n" : "b,bright\n";
        for (int word = 0; word < 100; ++word)
            texts += "a ";
        const auto sets = loadFile(texts + ",dull\n");
        REQUIRE(sets.has_value());
        std::size_t tokens = 0;
        for (const DataSet *set : {&sets->train, &sets->test}) {
            CHECK_FALSE(set->inputs.defined());
            tokens += set->texts.tokens();
        }
        CHECK(tokens == 1000 * 3 + 102);
    }

    TEST_CASE("a checkpoint's digest of texts is that of one matrix, as wide as the longest, and its targets") {
        const auto sets = LabelledTexts(700).load();
        REQUIRE(sets.has_value());
        const DataSet &train = sets->train;
        auto matrix = torch::zeros({train.size(), train.texts.longest()}, torch::kInt64);
        for (std::int64_t i = 0; i < train.size(); ++i)
            for (std::int64_t at = 0; at < std::ssize(train.texts[i]); ++at)
                matrix[i][at] = train.texts[i][static_cast<std::size_t>(at)];
        Sha256 expected;
        for (const torch::Tensor &part : {matrix, train.targets})
            expected.add({static_cast<const char *>(part.const_data_ptr()), part.nbytes()});
        CHECK(contentSha256(train) == expected.hex());
    }

    TEST_CASE("buckets hold the same texts with little padding, in every rank alike; full padding makes one width") {
        const auto sets = LabelledTexts(4000).load();
        REQUIRE(sets.has_value());
        const Padded longest = anEpoch(sets->train, {.batchSize = 16});
        const Padded bucket = anEpoch(sets->train, {.batchSize = 16, .lengthBuckets = true});
        const Padded full = anEpoch(sets->train, {.batchSize = 16, .padFully = true});
        CHECK(longest.lengths == bucket.lengths);
        CHECK(longest.lengths == full.lengths);
        CHECK(full.widths == std::set<std::int64_t>{sets->train.texts.longest()});
        CHECK(bucket.padding * 10 < longest.padding);
        CHECK(longest.padding < full.padding);
        Padded shared; // four ranks of 4: the same batches of 16
        for (int rank = 0; rank < 4; ++rank) {
            const Padded own =
                anEpoch(sets->train,
                        {.batchSize = 4, .worldSize = 4, .rank = rank, .lengthBuckets = true, .workers = rank % 2});
            shared.lengths.insert(own.lengths.begin(), own.lengths.end());
            shared.padding += own.padding;
        }
        CHECK(shared.lengths == bucket.lengths);
        CHECK(shared.padding <= bucket.padding);
    }

    TEST_CASE("a file that can't be trained on is refused with what is wrong and the way out") {
        const auto refusal = [](const Result<DataSets> &loaded) {
            REQUIRE_FALSE(loaded);
            CHECK(loaded.error().kind == ErrorKind::BadArgument);
            return loaded.error().message();
        };
        const auto says = [](const std::string &text, const std::string &part) {
            CAPTURE(text);
            CHECK(text.find(part) != std::string::npos);
        };
        const LabelledTexts texts(40);
        says(refusal(texts.load({.labelColumn = "stars"})), "stars");
        says(refusal(LabelledTexts(1).load()), "its column label holds 1 different labels, expected 2 to 1000");
        std::string ids = "text,label\n";
        for (int id = 0; id < 1001; ++id)
            ids += "a," + std::to_string(id) + "\n";
        says(refusal(loadFile(ids)), "its column label holds more than 1000 different labels, expected 2 to 1000");
        says(refusal(texts.load({.trainLimit = 37})), "37 training samples are asked for");
        says(refusal(LabelledTexts(8).load()), "test samples are asked for");
        TextOptions nowhere{.file = "/no/such.csv", .vocabulary = fewPieces};
        says(refusal(loadTexts(*findDataSet("text"), nowhere)),
             "/no/such.csv of text is not there; give a CSV or TSV file");
        says(refusal(loadTexts(*findDataSet("sentiment"), nowhere)), "lockstepctl get-data bert");
        TextOptions another{
            .file = texts.path(), .textColumn = "text", .labelColumn = "label", .vocabulary = fewPieces};
        says(refusal(loadTexts(*findDataSet("sentiment"), another)), "2 different labels, expected 3");
        for (const char *label : {"", " \t"})
            says(refusal(loadFile("text,label\n\"a\nb\",good\na,bad\nb," + std::string(label) + "\n")),
                 "texts.csv:5: it has no label in its column label; give it one, or remove the record");
        // Only labels go where bytes may not be any.
        const std::string latin = "text,label\n\"a\nb\",good\na,n\xe9gatif\nb,n\xe9gatif\n";
        says(refusal(loadFile(latin)),
             "texts.csv:4: the label \"n\xef\xbf\xbdgatif\" is not UTF-8; save the file as UTF-8");
        std::string many = "text,label\n";
        for (int i = 0; i < 20; ++i)
            many += i % 2 == 0 ? "\xe9 a,n\xc3\xa9gatif\n" : "b,\xef\xbf\xbd\n";
        CHECK(loadFile(many).has_value());
        another.vocabulary = "a\nb\n";
        another.vocabularyFile = "/some/vocab.txt";
        says(refusal(loadTexts(*findDataSet("text"), another)), "/some/vocab.txt");
    }
}
