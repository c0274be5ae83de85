// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "tests/trainer/peers.h"
#include "trainer/models/bert.h"
#include "trainer/models/bert_folder.h"

using namespace lockstep;
using namespace lockstep::trainer;
using namespace lockstep::trainer::test;

namespace {

using NodeOptions = std::vector<std::string>;

/// Two ranks of one run, each on a node of its own as far as it knows, and with options of its own.
std::vector<Ended> onTwoNodes(const NodeOptions &common, const NodeOptions &first, const NodeOptions &second) {
    const TempFolder meeting;
    std::vector<std::unique_ptr<Process>> ranks;
    for (const NodeOptions *own : {&first, &second}) {
        NodeOptions options = *own;
        options.insert(options.end(), common.begin(), common.end());
        options.insert(options.end(),
                       {"--method=ddp", "--interface=lo", "--init-method=file://" + (meeting / "store")});
        ranks.push_back(std::make_unique<Process>(trainerBinary(), withSmallRun(options),
                                                  Environment{{"RANK", std::to_string(ranks.size())},
                                                              {"LOCAL_RANK", "0"},
                                                              {"WORLD_SIZE", "2"},
                                                              {"LOCAL_WORLD_SIZE", "1"}}));
    }
    std::vector<Ended> all;
    for (const auto &rank : ranks)
        all.push_back(rank->wait());
    return all;
}

/// A small BERT of random weights in a folder of Hugging Face; `more` ends its config.json.
class BertFolderOnNode {
public:
    explicit BertFolderOnNode(const std::string &more = {}, const std::string &tokenizer = {}) {
        writeFile(m_source / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\ngood\nbad\nGood\nBad\n");
        writeFile(m_source / "config.json",
                  R"({"vocab_size": 8, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
                      "intermediate_size": 8, "max_position_embeddings": 16)" +
                      more + "}");
        if (!tokenizer.empty())
            writeFile(m_source / "tokenizer_config.json", tokenizer);
        Bert bert({.vocabulary = 8, .hidden = 8, .layers = 1, .heads = 2, .intermediate = 8, .positions = 16}, 2, 0.0);
        std::vector<std::pair<std::string, torch::Tensor>> state;
        for (const auto &item : bert.named_parameters())
            state.emplace_back(item.key(), item.value());
        REQUIRE(writeBertFolder(m_folder.path(), m_source.path(), state, {"no", "yes"}));
    }
    [[nodiscard]] std::string option() const { return "--bert-dir=" + m_folder.path(); }

private:
    TempFolder m_source, m_folder;
};

/// The sentence in which both refuse to train.
void checkRefused(const std::vector<Ended> &ranks, const std::string &sentence) {
    for (const Ended &rank : ranks) {
        CAPTURE(rank.err);
        CHECK(rank.code == exitBadArguments);
        CHECK(rank.sentences() == 1);
        CHECK(rank.err.find(sentence) != std::string::npos);
    }
}

void checkDone(const std::vector<Ended> &ranks) {
    for (const Ended &rank : ranks) {
        CAPTURE(rank.err);
        CHECK(rank.code == exitDone);
    }
}

} // namespace

TEST_SUITE("engine_alike") {
    TEST_CASE("ranks with other settings refuse to train, and name the setting, its values and the rank") {
        struct Way {
            const char *first, *second, *sentence;
        };
        for (const Way &way :
             {Way{"--lr=0.01", "--lr=0.03", "--lr is 0.01 on rank 0 and 0.03 on rank 1"},
              Way{"--seed=1", "--seed=2", "--seed is 1 on rank 0 and 2 on rank 1"},
              Way{"--epochs=2", "--epochs=3", "--epochs is 2 on rank 0 and 3 on rank 1"},
              Way{"--train-samples=640", "--train-samples=320", "--train-samples is 640 on rank 0 and 320 on rank 1"},
              Way{"--test-samples=100", "--test-samples=200", "--test-samples is 100 on rank 0 and 200 on rank 1"}}) {
            CAPTURE(way.sentence);
            checkRefused(onTwoNodes({}, {way.first}, {way.second}), way.sentence);
        }
    }

    TEST_CASE("ranks with other labels refuse to train, and name the file and the rank") {
        const SmallData data(640), other(640);
        other.changeTrainLabels();
        checkRefused(onTwoNodes({}, {data.option()}, {other.option()}),
                     "rank 1 reads other data than rank 0: train-labels-idx1-ubyte has sha256 ");
    }

    TEST_CASE("ranks whose BERT folders make other tokens, or have other sizes or rates, refuse to train") {
        const TempFolder texts, others;
        std::string file = "text,label\n", swapped = file;
        for (int i = 0; i < 40; ++i) {
            file += i % 2 == 0 ? "Good,yes\n" : "Bad,no\n";
            swapped += i % 2 == 0 ? "Good,no\n" : "Bad,yes\n";
        }
        writeFile(texts / "texts.csv", file);
        writeFile(others / "texts.csv", swapped);
        NodeOptions common{"--model=bert", "--dataset=text", "--train-samples=0", "--max-tokens=16", "--batch-size=8"};
        const BertFolderOnNode plain, named({}, R"({"do_lower_case": true})"), cased({}, R"({"do_lower_case": false})"),
            dropping(R"(, "hidden_dropout_prob": 0.5)");
        const std::string data = "--data-dir=" + (texts / "texts.csv"), other = "--data-dir=" + (others / "texts.csv");
        checkRefused(onTwoNodes(common, {data, plain.option()}, {other, named.option()}), // their tokens are the same
                     "rank 1 reads other data than rank 0: texts.csv has sha256 ");
        common.push_back(data);
        const auto ranks = onTwoNodes(common, {plain.option()}, {cased.option()});
        checkRefused(ranks,
                     "rank 1 makes other tokens than rank 0: bert_dir/tokenizer_config.json has sha256 none on rank 0");
        checkRefused(ranks, "give all ranks the same BERT folder");
        checkRefused(onTwoNodes(common, {plain.option()}, {dropping.option()}),
                     "BERT's config.json has hidden_dropout_prob 0.1 on rank 0 and 0.5 on rank 1");
        checkDone(onTwoNodes(common, {plain.option()}, {named.option()}));
    }

    TEST_CASE("ranks train together where their nodes differ, and their data are only packed in another way") {
        const SmallData data(640), packed(640);
        packed.packTrainLabels();
        checkDone(onTwoNodes({}, {data.option(), "--workers=1"}, {packed.option(), "--threads=1", "--loader=item"}));
    }

    TEST_CASE(
        "nodes with disks of their own that have changed places go on from the newest checkpoint of their training") {
        const SmallData data(640);
        const TempFolder a, b, c;
        const NodeOptions common{data.option(), "--optimizer=adam", "--lr=0.001"};
        const auto train = [&](int epochs, const TempFolder &first, const TempFolder &second, const char *resume) {
            NodeOptions options = common;
            options.insert(options.end(), {"--epochs=" + std::to_string(epochs), "--summary=" + (a / "summary")});
            if (*resume)
                options.emplace_back(resume);
            auto ranks =
                onTwoNodes(options, {"--checkpoint-dir=" + (first / "c")}, {"--checkpoint-dir=" + (second / "c")});
            checkDone(ranks);
            return ranks;
        };
        const std::string ten = "checkpoint-000000000010.safetensors", twenty = "checkpoint-000000000020.safetensors";
        train(1, a, b, "");
        train(2, a, b, "--resume"); // b gets the first checkpoint, and does not have the second
        REQUIRE(std::filesystem::exists(b / ("c/" + ten)));
        REQUIRE_FALSE(std::filesystem::exists(b / ("c/" + twenty)));
        const Ended first = train(3, b, a, "--resume").front();
        CAPTURE(first.err);
        CHECK(first.err.find("goes on from " + (b / ("c/" + twenty))) != std::string::npos);
        const std::string resumed = readSummary(a / "summary").parametersSha256;
        CHECK(train(4, c, b, "--resume").front().err.find("goes on from") != std::string::npos); // c had none
        const TempFolder fresh;
        train(3, fresh, fresh, "");
        CHECK(!resumed.empty());
        CHECK(resumed == readSummary(a / "summary").parametersSha256);
    }
}
