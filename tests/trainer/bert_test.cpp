// SPDX-License-Identifier: MIT
// BERT against Hugging Face's transformers: a folder's weights, its gradients, 20 steps of fine-tuning, and the folder that comes out.
#include <sys/stat.h>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "ipc/models.h"
#include "ipc/sha256.h"
#include "tests/trainer/peers.h"
#include "tests/trainer/trainer_process.h"
#include "trainer/data/safetensors.h"
#include "trainer/models/bert.h"
#include "trainer/models/bert_folder.h"

using namespace lockstep;
using namespace lockstep::trainer;
using namespace lockstep::trainer::test;

namespace {

void writeText(const std::string &path, const std::string &text) {
    std::ofstream(path, std::ios::binary) << text;
}

/// Letters, and some words of the texts below.
std::string vocabulary() {
    std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    for (char letter = 'a'; letter <= 'z'; ++letter)
        text += std::string(1, letter) + "\n##" + letter + "\n";
    for (const char *word : {"the", "was", "film", "good", "bad", "so", "very", "##ing", "##ly", "not", "!", ",", "."})
        text += std::string(word) + "\n";
    return text;
}

/// `count` texts whose label can be learnt, of 3 to 30 words.
std::string labelledTexts(int count) {
    const std::array<const char *, 3> labels{"negative", "neutral", "positive"}, tells{"bad", "so", "good"};
    std::string text = "label,text\n";
    for (int i = 0; i < count; ++i) {
        const auto kind = static_cast<std::size_t>(i * 7 % 3);
        text += std::string(labels[kind]) + ",\"The film, ";
        for (int word = 0; word < 1 + i * 5 % 9; ++word)
            text += std::string(word % 3 == 0 ? "very " : word % 3 == 1 ? "slowly " : "moving ");
        text += std::string("was ") + tells[kind] + (i % 2 == 0 ? "!" : " indeed.") + "\"\n";
    }
    return text;
}

std::string transformers() {
    return pythonWith("transformers");
}

/// bert_peer.py for all test cases: importing transformers costs more than what is asked of it.
class BertPeer {
public:
    BertPeer() {
        for (const std::string &pipe : {m_asked, m_answers})
            REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
        m_process.emplace(transformers(), std::vector<std::string>{LOCKSTEP_SOURCE_DIR "/tests/trainer/bert_peer.py",
                                                                   "serve", m_asked, m_answers});
        m_in.open(m_asked);
        m_out.open(m_answers);
    }
    /// What it prints, line by line. Paths must have no blanks.
    std::string ask(const std::vector<std::string> &words) {
        for (const std::string &word : words)
            m_in << word << ' ';
        m_in << std::endl;
        std::string text;
        for (std::string line; std::getline(m_out, line) && line != "done";)
            text += line + "\n";
        if (!m_out)
            FAIL_CHECK(m_process->wait().err);
        REQUIRE(m_out.good());
        return text;
    }

private:
    TempFolder m_folder;
    std::string m_asked = m_folder / "asked", m_answers = m_folder / "answers";
    std::optional<Process> m_process;
    std::ofstream m_in;
    std::ifstream m_out;
};

std::string peer(const std::vector<std::string> &words) {
    static BertPeer one;
    return one.ask(words);
}

/// A small BERT in a folder of Hugging Face, made by transformers.
class SmallBert {
public:
    explicit SmallBert(bool oldNames = false) {
        writeText(m_folder / "vocab.txt", vocabulary());
        peer({"folder", m_folder.path(), oldNames ? "1" : "0"});
        writeText(m_folder / "texts.csv", labelledTexts(300));
    }
    [[nodiscard]] std::string path() const { return m_folder.path(); }
    [[nodiscard]] std::string texts() const { return m_folder / "texts.csv"; }

private:
    TempFolder m_folder;
};

const SmallBert &smallBert() {
    static const SmallBert bert;
    return bert;
}

std::shared_ptr<Model> modelOf(const std::string &folder) {
    auto model = makeModel("bert", {.dropout = 0.0, .classes = 3, .folder = folder});
    CAPTURE(model ? std::string() : model.error().message());
    REQUIRE(model.has_value());
    return *model;
}

double relative(const torch::Tensor &found, const torch::Tensor &expected) {
    return ((found - expected).norm() / expected.norm().clamp_min(1e-30)).item<double>();
}

/// A batch of texts of different lengths.
torch::Tensor someTokens() {
    auto tokens = torch::randint(5, 60, {6, 12}, torch::kInt64);
    for (int i = 0; i < 6; ++i)
        tokens[i].narrow(0, 12 - 2 * i, 2 * i).zero_();
    return tokens;
}

/// 20 steps.
std::vector<std::string> fineTuning(const SmallBert &bert) {
    return {"--model=bert",
            "--dataset=text",
            "--bert-dir=" + bert.path(),
            "--data-dir=" + bert.texts(),
            "--train-samples=160",
            "--batch-size=8",
            "--epochs=1",
            "--dropout=0",
            "--optimizer=adamw",
            "--lr=1e-3",
            "--weight-decay=0.01",
            "--decay-biases=false",
            "--lr-schedule=linear",
            "--warmup-steps=4",
            "--clip-grad-norm=1",
            "--max-tokens=24",
            "--oversubscribe"};
}

std::vector<double> lossesIn(const std::string &frames) {
    std::vector<double> losses;
    for (const auto &window : bodiesOf<StepsFrame>(readFrames(frames), 0))
        losses.push_back(window.loss->last);
    return losses;
}

} // namespace

TEST_SUITE("bert") {
    TEST_CASE("a folder's logits, loss and gradients are transformers', in fp32 and fp64" *
              doctest::skip(transformers().empty())) {
        const TempFolder folder;
        torch::manual_seed(1);
        const auto tokens = someTokens(), targets = torch::randint(0, 3, {6}, torch::kInt64);
        TensorFile given;
        given.tensors = {{"tokens", tokens}, {"targets", targets}};
        REQUIRE(writeTensors(folder / "in", given));
        peer({"passes", smallBert().path(), folder / "in", folder / "out"});
        const auto read = readTensors(folder / "out");
        REQUIRE(read.has_value());
        const std::map<std::string, torch::Tensor> expected(read->tensors.begin(), read->tensors.end());
        for (const auto &[name, dtype, nearLogits, nearGradients] :
             {std::tuple("float32", torch::kFloat32, 1e-5, 1e-4),
              std::tuple("float64", torch::kFloat64, 1e-12, 1e-9)}) {
            CAPTURE(name);
            const auto model = modelOf(smallBert().path());
            model->to(dtype);
            const auto logits = model->forward(tokens);
            const auto loss = at::cross_entropy_loss(logits, targets);
            loss.backward();
            const std::string prefix = std::string(name) + ".";
            CHECK((logits - expected.at(prefix + "logits")).abs().max().item<double>() < nearLogits);
            CHECK(std::abs((loss - expected.at(prefix + "loss")).item<double>()) < nearLogits);
            std::size_t compared = 0;
            for (const auto &parameter : model->named_parameters()) {
                CAPTURE(parameter.key());
                // A key's bias adds the same to all scores of a token: its true gradient is 0, and both have rounding's rest.
                if (parameter.key().ends_with("key.bias"))
                    CHECK(parameter.value().grad().abs().max().item<double>() < nearGradients);
                else
                    CHECK(relative(parameter.value().grad(), expected.at(prefix + "grad." + parameter.key())) <
                          nearGradients);
                ++compared;
            }
            CHECK(2 * compared + 4 == expected.size());
        }
    }

    TEST_CASE("20 steps of fine-tuning end where transformers' end, and the folder that comes out is one of theirs" *
              doctest::skip(transformers().empty())) {
        for (const auto &[precision, near] : {std::pair("fp32", 1e-4), std::pair("fp64", 1e-9)}) {
            CAPTURE(precision);
            const TempFolder folder;
            auto options = fineTuning(smallBert());
            options.insert(options.end(),
                           {std::string("--precision=") + precision, "--padding=longest", "--frames=" + (folder / "f"),
                            "--save-final=" + (folder / "tuned"), "--summary=" + (folder / "s")});
            const Ended ended = Process(trainerBinary(), options, {{"LOCKSTEP_STEP_WINDOW_MS", "0"}}).wait();
            CAPTURE(ended.err);
            REQUIRE(ended.code == 0);
            std::istringstream theirs(
                peer({"train", smallBert().path(), smallBert().texts(), folder / "theirs", precision}));
            const std::vector<double> losses = lossesIn(folder / "f");
            REQUIRE(losses.size() == 20);
            for (const double loss : losses) {
                double expected = 0;
                REQUIRE(bool(theirs >> expected));
                CHECK(loss == doctest::Approx(expected).epsilon(near));
            }
            const auto ours = readTensors(folder / "tuned/model.safetensors"),
                       expected = readTensors(folder / "theirs");
            REQUIRE(ours.has_value());
            REQUIRE(expected.has_value());
            const std::map<std::string, torch::Tensor> found(ours->tensors.begin(), ours->tensors.end());
            CHECK(found.size() == expected->tensors.size());
            for (const auto &[name, tensor] : expected->tensors) {
                CAPTURE(name);
                CHECK(relative(found.at(name), tensor.to(torch::kFloat32)) <
                      std::max(near, 1e-6)); // a folder is in fp32
            }
            std::istringstream tested(peer({"test", folder / "tuned", smallBert().texts()}));
            double right = 0, all = 0;
            REQUIRE(bool(tested >> right >> all));
            CHECK(*readSummary(folder / "s").testAccuracy == doctest::Approx(right / all));
            const auto states = bodiesOf<StateFrame>(readFrames(folder / "f"), 0);
            REQUIRE_FALSE(states.empty());
            for (const std::string name : {"config.json", "model.safetensors", "vocab.txt"}) {
                CAPTURE(name);
                const auto digest = states.front().files.find("bert_dir/" + name);
                REQUIRE(digest != states.front().files.end());
                CHECK(digest->second == sha256Hex(readFile(smallBert().path() + "/" + name)));
            }
        }
    }

    TEST_CASE("dp, ddp, the ring, the servers and a pipeline train BERT as the baseline does" *
              doctest::skip(transformers().empty())) {
        const TempFolder folder;
        const auto options = [&](const std::string &name) {
            auto all = fineTuning(smallBert());
            all.insert(all.end(), {"--precision=fp64", "--backend=gloo", "--save-final=" + (folder / name)});
            return all;
        };
        // Servers that update on their own neither clip nor tell biases from other parameters.
        const auto plain = [&](const std::string &name) {
            auto all = options(name);
            std::erase_if(all, [](const std::string &option) {
                return option.starts_with("--clip-grad-norm") || option.starts_with("--decay-biases");
            });
            return all;
        };
        const auto with = [](std::vector<std::string> all, const std::vector<std::string> &more) {
            all.insert(all.end(), more.begin(), more.end());
            return all;
        };
        const auto weightsOf = [&](const std::string &name) {
            const auto file = readTensors(folder / (name + "/model.safetensors"));
            REQUIRE(file.has_value());
            return file->tensors;
        };
        const auto check = [&](const std::string &name, const std::vector<Ended> &ranks,
                               const std::string &reference = "baseline") {
            CAPTURE(name);
            for (const Ended &ended : ranks) {
                CAPTURE(ended.err);
                REQUIRE(ended.code == 0);
            }
            const auto found = weightsOf(name), expected = weightsOf(reference);
            REQUIRE(found.size() == expected.size());
            for (std::size_t i = 0; i < found.size(); ++i)
                CHECK(relative(found[i].second, expected[i].second) < 1e-6); // a folder is in fp32
        };
        check("baseline", {Process(trainerBinary(), options("baseline")).wait()});
        for (const char *workers : {"0", "2"}) {
            const auto loading = std::string("--workers=") + workers;
            check("dp",
                  {Process(trainerBinary(), with(options("dp"), {"--method=dp", "--devices=0,1", loading})).wait()});
            check("ddp", DdpRun(2, with(options("ddp"), {"--devices=0,1", loading})).wait());
        }
        check("ring", DdpRun(2, with(options("ring"), {"--devices=0,1", "--all-reduce=ring"})).wait());
        check("server", DdpRun(2, with(options("server"), {"--devices=0,1", "--method=ps-sync"})).wait());
        for (const char *stages : {"", "2,3"})
            check("pipeline",
                  DdpRun(2, with(options("pipeline"), {"--devices=0,1", "--method=pipeline", "--micro-batches=4",
                                                       std::string("--stage-layers=") + stages}))
                      .wait());
        for (const Ended &refused :
             DdpRun(2, with(options("refused"), {"--devices=0,1", "--method=pipeline", "--stage-layers=2,2"})).wait()) {
            CHECK(refused.code == 2);
            CHECK(refused.err.find("\"2,2\" doesn't share out the 5 layers of bert among 2 devices") !=
                  std::string::npos);
        }
        check("plain", {Process(trainerBinary(), plain("plain")).wait()}, "plain");
        check("async",
              DdpRun(2, with(plain("async"), {"--devices=0,1", "--method=ps-async", "--max-staleness=0"})).wait(),
              "plain");
    }

    TEST_CASE("older folders are read, too: gamma and beta, no head, no prefix" *
              doctest::skip(transformers().empty())) {
        const SmallBert old(true);
        const auto now = modelOf(smallBert().path()), then = modelOf(old.path());
        const auto theirs = then->named_parameters();
        for (const auto &parameter : now->named_parameters()) {
            CAPTURE(parameter.key());
            const bool same = torch::equal(parameter.value(), theirs[parameter.key()]);
            const bool inFile = !parameter.key().starts_with("classifier.");
            CHECK(same == inFile);
        }
    }

    TEST_CASE("a text means the same beside longer ones, and padding is no token") {
        torch::manual_seed(2);
        Bert model({.vocabulary = 60, .hidden = 32, .layers = 2, .heads = 4, .intermediate = 64, .positions = 40}, 3,
                   0.0);
        model.to(torch::kFloat64);
        const auto tokens = someTokens();
        const auto together = model.forward(tokens);
        for (int i = 0; i < 6; ++i)
            CHECK(torch::allclose(model.forward(tokens.narrow(0, i, 1).narrow(1, 0, 12 - 2 * i)),
                                  together.narrow(0, i, 1), 1e-9, 1e-12));
    }

    TEST_CASE("the padding token within a text is one of its tokens, as in transformers") {
        torch::manual_seed(3);
        Bert model({.vocabulary = 60, .hidden = 32, .layers = 2, .heads = 4, .intermediate = 64, .positions = 40}, 3,
                   0.0);
        const auto tokens = torch::tensor({2, 0, 0, 7, 3, 0, 2, 5, 6, 3, 0, 0}, torch::kInt64).view({2, 6});
        const auto before = model.forward(tokens);
        const torch::NoGradGuard noGrad;
        model.named_parameters()["bert.embeddings.word_embeddings.weight"][0].normal_();
        const auto after = model.forward(tokens);
        CHECK_FALSE(torch::allclose(after[0], before[0]));
        CHECK(torch::allclose(after[1], before[1], 1e-6, 1e-9));
    }

    TEST_CASE("a trained head's rows go to the labels that its folder names; one of other labels is used as it stands, "
              "and that is said") {
        const TempFolder source, folder;
        writeText(source / "config.json",
                  R"({"vocab_size": 60, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
                      "intermediate_size": 8, "max_position_embeddings": 16})");
        writeText(source / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n");
        Bert trained({.vocabulary = 60, .hidden = 8, .layers = 1, .heads = 2, .intermediate = 8, .positions = 16}, 3,
                     0.0);
        std::vector<std::pair<std::string, torch::Tensor>> state;
        for (const auto &item : trained.named_parameters())
            state.emplace_back(item.key(), item.value());
        const auto write = [&](const std::vector<std::string> &labels) {
            REQUIRE(writeBertFolder(folder.path(), source.path(), state, labels));
        };
        std::vector<std::string> said;
        const auto headFor = [&](const std::vector<std::string> &labels) {
            const auto made = makeModel(
                "bert", {.classes = 3, .folder = folder.path(), .labels = labels, .warn = [&](const std::string &text) {
                             said.push_back(text);
                         }});
            REQUIRE(made.has_value());
            return (*made)->named_parameters()["classifier.weight"].detach().clone();
        };
        const torch::Tensor own = trained.named_parameters()["classifier.weight"].detach();
        write({"pos", "neg", "neu"});
        const torch::Tensor sorted = headFor({"neg", "neu", "pos"});
        CHECK(torch::equal(sorted[0], own[1]));
        CHECK(torch::equal(sorted[1], own[2]));
        CHECK(torch::equal(sorted[2], own[0]));
        CHECK(torch::equal(headFor({}), own));
        CHECK(said.empty());
        CHECK(torch::equal(headFor({"a", "b", "c"}), own));
        REQUIRE(said.size() == 1);
        CHECK(
            said.front().ends_with("/config.json names its head's labels \"pos\", \"neg\", \"neu\", and the data's are "
                                   "\"a\", \"b\", \"c\": the head's rows are used for these in their order"));
        write({"LABEL_0", "LABEL_1", "LABEL_2"}); // as transformers counts labels that have no names
        CHECK(torch::equal(headFor({"0", "1", "2"}), own));
        CHECK(said.size() == 1);
    }

    TEST_CASE("dropout draws while training, also in attention, and from the model's own generator") {
        Bert model({.vocabulary = 60, .hidden = 32, .layers = 2, .heads = 4, .intermediate = 64, .positions = 40}, 3,
                   {});
        const auto tokens = someTokens();
        CHECK_FALSE(torch::equal(model.forward(tokens), model.forward(tokens)));
        const auto own = [&](std::uint64_t seed) {
            model.drawFrom(at::detail::createCPUGenerator(seed));
            return model.forward(tokens);
        };
        CHECK(torch::equal(own(5), own(5)));
        CHECK_FALSE(torch::equal(own(5), own(6)));
        model.eval();
        CHECK(torch::equal(model.forward(tokens), model.forward(tokens)));
    }

    TEST_CASE("a folder that is no BERT, or not whole, is refused in one sentence") {
        const TempFolder folder;
        const auto refusal = [&] {
            const auto read = readBertFolder(folder.path());
            REQUIRE_FALSE(read);
            CHECK(read.error().kind == ErrorKind::BadArgument);
            return read.error().message();
        };
        CHECK(refusal().find("config.json of BERT is not in " + folder.path()) != std::string::npos);
        CHECK(refusal().find("lockstepctl get-data bert") != std::string::npos);
        writeText(folder / "config.json", "{");
        CHECK(refusal().find("config.json: it is not valid JSON from line 1 on") != std::string::npos);
        writeText(folder / "config.json", R"({"x": )" + std::string(100'000, '[') + std::string(100'000, ']') + "}");
        CHECK(refusal().find("nested too deeply") != std::string::npos);
        writeText(folder / "config.json", R"({"model_type": "roberta"})");
        CHECK(refusal().find("its model_type is roberta") != std::string::npos);
        writeText(folder / "config.json", R"({"hidden_act": "relu"})");
        CHECK(refusal().find("its hidden_act is relu") != std::string::npos);
        writeText(folder / "config.json", R"({"hidden_size": 30, "num_attention_heads": 4})");
        CHECK(refusal().find("hidden_size 30") != std::string::npos);
        writeText(folder / "config.json", R"({"is_decoder": true})");
        CHECK(refusal().find("its is_decoder is true, and only false is supported") != std::string::npos);
        writeText(folder / "config.json", R"({"num_hidden_layers": -1})");
        CHECK(refusal().find("a size of -1") != std::string::npos);
        writeText(folder / "config.json",
                  R"({"num_hidden_layers": 67108864, "hidden_size": 1, "num_attention_heads": 1})");
        CHECK(refusal().find("its num_hidden_layers is 67108864, and at most 1024 are supported") != std::string::npos);
        writeText(folder / "config.json", R"({"vocab_size": 2000001})");
        CHECK(refusal().find("its vocab_size is 2000001, and at most 2000000 are supported") != std::string::npos);
        writeText(folder / "config.json", R"({"hidden_size": 67108864})");
        CHECK(refusal().find("parameters, and at most 8589934592 are supported") != std::string::npos);
        for (const auto &[number, says] :
             {std::pair(R"("hidden_dropout_prob": 5)",
                        "its hidden_dropout_prob is 5, and a dropout is 0 (off) or more"),
              std::pair(R"("attention_probs_dropout_prob": 1)", "its attention_probs_dropout_prob is 1, and a dropout"),
              std::pair(R"("classifier_dropout": -0.5)", "its classifier_dropout is -0.5, and a dropout"),
              std::pair(R"("initializer_range": -3)", "its initializer_range is -3, and only 0 or more is supported"),
              std::pair(R"("layer_norm_eps": -1)", "its layer_norm_eps is -1, and only 0 or more is supported")}) {
            CAPTURE(number);
            writeText(folder / "config.json", "{" + std::string(number) + "}");
            CHECK(refusal().find(says) != std::string::npos);
        }
        writeText(folder / "config.json", "{}");
        CHECK(refusal().find("model.safetensors of BERT is not in") != std::string::npos);
        TensorFile wrong;
        wrong.tensors = {{"embeddings.word_embeddings.weight", torch::zeros({4, 4})}};
        REQUIRE(writeTensors(folder / "model.safetensors", wrong));
        const auto made = makeModel("bert", {.folder = folder.path()});
        REQUIRE_FALSE(made);
        CHECK(made.error().message().find("bert.embeddings.word_embeddings.weight is 4 x 4, expected 30522 x 384") !=
              std::string::npos);
        writeText(folder / "config.json",
                  R"({"vocab_size": 2000000})"); // 3 GB that are not made for a file of 16 numbers
        CHECK(refusal().find("it holds 16 numbers, and the sizes in config.json need 778992768") != std::string::npos);
    }

    TEST_CASE("a vocabulary is read up to 16 MiB, and a longer one refused before it is read") {
        const TempFolder folder;
        writeText(folder / "config.json", "{}");
        writeText(folder / "vocab.txt", vocabulary());
        writeText(folder / "tokenizer_config.json", R"({"do_lower_case": true, "strip_accents": false})");
        const auto read = readVocabulary(folder.path(), 128);
        REQUIRE(read);
        CHECK(read->text == vocabulary());
        CHECK_FALSE(read->rules.stripsAccents());
        writeText(folder / "tokenizer_config.json", R"({"tokenizer_class": "BertJapaneseTokenizer"})");
        CHECK_FALSE(readVocabulary(folder.path(), 128));
        std::filesystem::remove(folder / "tokenizer_config.json");
        writeText(folder / "config.json", R"({"pad_token_id": 1})");
        const auto other = readVocabulary(folder.path(), 128);
        REQUIRE_FALSE(other);
        CHECK(other.error().message().find("its [PAD] is token 0, but config.json's pad_token_id is 1") !=
              std::string::npos);
        writeText(folder / "config.json", R"({"vocab_size": 3})");
        writeText(folder / "vocab.txt", "[PAD]\r\na\nb\n");
        CHECK(readVocabulary(folder.path(), 128));
        writeText(folder / "vocab.txt", "[PAD]\na\n\nb");
        const auto longer = readVocabulary(folder.path(), 128);
        REQUIRE_FALSE(longer);
        CHECK(longer.error().message().find("it has 4 tokens, but config.json's vocab_size is 3") != std::string::npos);
        std::filesystem::resize_file(folder / "vocab.txt", (std::uintmax_t{16} << 20) + 1);
        const auto huge = readVocabulary(folder.path(), 128);
        REQUIRE_FALSE(huge);
        CHECK(huge.error().kind == ErrorKind::BadArgument);
        CHECK(huge.error().message().find(folder / "vocab.txt: it is larger than 16 MiB") != std::string::npos);
        CHECK_FALSE(huge.error().wayOut.empty());
    }

    TEST_CASE("a trained folder is written with any labels, and keeps its weights where the rest of it can't be made") {
        const TempFolder source, folder;
        writeText(source / "config.json",
                  R"({"num_labels": 2, "_num_labels": 2, "dtype": "bfloat16", "return_dict": false,
                                              "torchscript": true, "problem_type": "multi_label_classification"})");
        const auto write = [&] {
            return writeBertFolder(folder.path(), source.path(), {{"w", torch::ones({2})}}, {"n\xe9gatif", "positif"});
        };
        writeText(folder / "model.safetensors", "earlier");
        CHECK_FALSE(write()); // no vocabulary
        CHECK(readFile(folder / "model.safetensors") == "earlier");
        writeText(source / "vocab.txt", vocabulary());
        REQUIRE(write());
        CHECK(readTensors(folder / "model.safetensors"));
        const std::string config = readFile(folder / "config.json");
        CHECK(config.find("\"0\": \"n\xef\xbf\xbdgatif\"") != std::string::npos);
        CHECK(config.find("\"problem_type\": \"single_label_classification\"") != std::string::npos);
        for (const char *key : {"num_labels", "\"dtype\"", "return_dict", "torchscript"})
            CHECK(config.find(key) == std::string::npos); // transformers would load another model by them
    }
}
