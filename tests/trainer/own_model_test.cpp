// SPDX-License-Identifier: MIT
// A model in a file: what Python makes of a trained one, how it goes on, and what is refused. What it computes: strategy_parity_test.cpp.
#include <doctest/doctest.h>

#include <map>

#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "tests/trainer/peers.h"
#include "trainer/data/safetensors.h"
#include "trainer/models/model.h"

using namespace lockstep;
using namespace lockstep::trainer::test;
using lockstep::trainer::readTensors;
using lockstep::trainer::TensorFile;

namespace {

using Flags = std::vector<std::string>;

constexpr const char *imagesOf10 = R"({"input": {"values": "pixels", "shape": [1, 28, 28]}, "classes": 10)";

/// Makes NAME.pt of each class, and for each what its state_dict holds, "NAME TYPE" a line, into NAME.state.
constexpr const char *makeModules = R"(
import sys, torch
from torch import nn
import torch.nn.functional as F

class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.flat = nn.Flatten()
        self.head = nn.Linear(784, 10)
        self.tail = nn.Linear(10, 10)
    def forward(self, x):
        return self.tail(F.relu(self.head(self.flat(x))))

class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(1, 4, 5), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(4), nn.Flatten())
        self.second = nn.Sequential(nn.Linear(144, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 10))
    def forward(self, x):
        return self.second(self.first(x))

class Dropping(Normed):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Flatten(), nn.Linear(784, 144), nn.Dropout(0.5))
        self.second = nn.Linear(144, 10)

class Bare(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.MaxPool2d(2)
        self.features = nn.Sequential(nn.Conv2d(1, 4, 5), nn.ReLU())
        self.flat = nn.Flatten()
        self.head = nn.Linear(400, 10)
    def forward(self, x):
        return self.head(self.flat(self.features(self.pool(x))))

class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(784, 784, bias=False)
        self.b = nn.Linear(784, 784, bias=False)
        self.b.weight = self.a.weight
        self.c = nn.Linear(784, 10)
    def forward(self, x):
        return self.c(self.b(self.a(torch.flatten(x, 1))))

class Unused(Plain):
    def forward(self, x):
        return self.head(self.flat(x))

class Pair(Plain):
    def forward(self, x):
        return self.head(self.flat(x)), self.tail(self.head(self.flat(x)))

class Fixed(Plain):
    def __init__(self):
        super().__init__()
        self.tail.weight.requires_grad = False

class Narrow(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(100, 10)
    def forward(self, x):
        return self.head(torch.flatten(x, 1))

class Five(Narrow):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(784, 5)

class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(40, 8, padding_idx=0)
        self.head = nn.Linear(8, 3)
    def forward(self, tokens):
        return self.head(self.words(tokens).sum(1))

class After(nn.Module):  # of a vocabulary whose [PAD] is token 1
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(40, 8, padding_idx=1)
        self.head = nn.Linear(8, 3)
    def forward(self, tokens):
        if not bool((tokens != 1).any(1).all()):
            raise ValueError("a text of padding alone")
        return self.head(self.words(tokens).sum(1))

class Functional(Plain):
    def forward(self, x):
        return self.tail(F.dropout(self.head(self.flat(x)), 0.5, self.training))

class Still(nn.Module):  # computes the same in both modes, as it should
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(784, track_running_stats=False)
        self.none = nn.Dropout(0.0)
        self.head = nn.Linear(784, 10)
    def forward(self, x):
        return self.head(self.none(self.norm(torch.flatten(x, 1))))

class Skipping(Still):  # draws in both modes, and uses it in training alone
    def forward(self, x):
        drawn = float(torch.rand([1]))
        x = self.norm(torch.flatten(x, 1))
        if self.training and drawn < 0.9:
            x = torch.dropout(x, 0.5, True)
        return self.head(x)

torch.manual_seed(3)
for name, kind in [("plain", Plain), ("normed", Normed), ("dropping", Dropping), ("bare", Bare), ("tied", Tied),
                   ("unused", Unused), ("pair", Pair), ("fixed", Fixed), ("narrow", Narrow), ("words", Words),
                   ("five", Five), ("after", After), ("skipping", Skipping)]:
    module = kind()
    torch.jit.script(module).save(name + ".pt")
    with open(name + ".state", "w") as file:
        file.writelines(f"{key} {str(value.dtype)}\n" for key, value in sorted(module.state_dict().items()))
torch.jit.trace(Plain(), torch.zeros(2, 1, 28, 28)).save("traced.pt")
for name, kind in [("normed", Normed), ("dropping", Dropping), ("functional", Functional), ("still", Still)]:
    for mode in (True, False):
        module = torch.jit.trace(kind().train(mode), torch.zeros(2, 1, 28, 28), check_trace=False)
        module.save(name + ("-traced-training.pt" if mode else "-traced-evaluating.pt"))
torch.jit.freeze(torch.jit.script(Plain().eval())).save("frozen.pt")
torch.save(Plain().state_dict(), "weights.pt")
open("broken.pt", "w").write("no module")
)";

/// Modules that Python made, once for all cases.
class Modules {
public:
    /// Null: there is no Python with torch.
    static const Modules *get() {
        static const Modules modules;
        return modules.m_made ? &modules : nullptr;
    }
    /// The module by that name, with the description given; one of its own for each call, since descriptions differ.
    [[nodiscard]] std::string describe(const std::string &name, const std::string &description) const {
        const std::string base = m_folder / (name + "-" + std::to_string(m_count++));
        std::filesystem::copy_file(m_folder / (name + ".pt"), base + ".pt");
        if (!description.empty())
            writeFile(base + ".json", description);
        return base + ".pt";
    }
    [[nodiscard]] std::string images(const std::string &name, const std::string &more = {}) const {
        return describe(name, imagesOf10 + more + "}");
    }
    [[nodiscard]] std::string path(const std::string &name) const { return m_folder / name; }

private:
    Modules() {
        const std::string python = pythonWith("torch");
        if (python.empty()) {
            MESSAGE("skipped: no Python that imports torch");
            return;
        }
        writeFile(m_folder / "make.py", makeModules); // TorchScript reads the source of a class
        const Ended ended =
            Process("/bin/sh", {"-c", R"(cd "$1" && exec "$0" -W ignore make.py)", python, m_folder.path()}).wait();
        CAPTURE(ended.err);
        REQUIRE(ended.code == 0);
        m_made = true;
    }
    TempFolder m_folder;
    mutable int m_count = 0;
    bool m_made = false;
};

Flags both(Flags left, const Flags &right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

/// One process; as the first of `ranks` if there are any.
Ended trainAlone(const Flags &options, int ranks = 0) {
    const std::string count = std::to_string(ranks);
    const Environment first{{"RANK", "0"},
                            {"LOCAL_RANK", "0"},
                            {"WORLD_SIZE", count},
                            {"LOCAL_WORLD_SIZE", count},
                            {"MASTER_ADDR", "127.0.0.1"},
                            {"MASTER_PORT", "1"}};
    return Process(trainerBinary(), withSmallRun(options), ranks > 0 ? first : Environment()).wait();
}

/// Trains and gives the last parameters and buffers; `ranks` 0: one process without any.
TensorFile lastTensors(int ranks, const Flags &options) {
    const TempFolder folder;
    const Flags own = both(options, Flags{"--save-final=" + (folder / "w")});
    std::vector<Ended> all;
    if (ranks > 0)
        all = DdpRun(ranks, own).wait();
    else
        all.push_back(trainAlone(own));
    for (const Ended &ended : all) {
        CAPTURE(ended.err);
        REQUIRE(ended.code == 0);
    }
    return *readTensors(folder / "w");
}

/// What exit 2 said, in one line.
std::string refusalOf(const Flags &options, int ranks) {
    const Ended ended = trainAlone(options, ranks);
    CAPTURE(ended.err);
    CHECK(ended.code == exitBadArguments);
    CHECK(ended.sentences() == 1);
    return ended.err;
}

const std::string twoStages = R"(, "layers": ["first", "second"])";

/// The phases in a trace of a rank, one after another.
std::string phasesOfTrace(const std::string &path) {
    std::string names;
    const auto trace = nlohmann::json::parse(readFile(path));
    for (const auto &event : trace.at("traceEvents"))
        if (const std::string name = event.at("name");
            std::ranges::find(additivePhases(), name) != additivePhases().end())
            names += name + " ";
    return names;
}

} // namespace

TEST_SUITE("own_model") {
    TEST_CASE(
        "a trained module has the names and types of Python's state_dict, running means included, under every method") {
        const Modules *modules = Modules::get();
        if (!modules)
            return;
        std::istringstream lines(readFile(modules->path("normed.state")));
        std::map<std::string, std::string> expected, found;
        for (std::string name, type; lines >> name >> type;)
            expected[name] = type;
        REQUIRE(expected.contains("first.1.num_batches_tracked"));
        const std::string file = modules->images("normed", twoStages);
        const std::pair<std::string, int> ways[] = {{"baseline", 0}, {"dp", 0},       {"ddp", 2},
                                                    {"ps-sync", 2},  {"ps-async", 2}, {"pipeline", 2}};
        for (const auto &[method, ranks] : ways) {
            CAPTURE(method);
            found.clear();
            const TensorFile end = lastTensors(
                ranks, {"--model=" + file, "--method=" + method, method == "dp" ? "--devices=0,1" : "--devices=0"});
            for (const auto &[name, tensor] : end.tensors) {
                found[name] = tensor.scalar_type() == torch::kInt64 ? "torch.int64" : "torch.float32";
                if (name.ends_with("num_batches_tracked")) // 10 steps; a pipeline passes 4 micro-batches in each
                    CHECK(tensor.item<std::int64_t>() == (method == "pipeline" ? 40 : 10));
            }
            CHECK(found == expected);
        }
    }

    TEST_CASE("the first parameters are the file's whatever the seed, --init replaces them, and a traced module trains "
              "like a scripted one") {
        const Modules *modules = Modules::get();
        if (!modules)
            return;
        const std::string plain = modules->images("plain");
        const Flags still{"--lr=1e-30", "--epochs=1"};
        const TensorFile one = lastTensors(0, both(still, Flags{"--model=" + plain, "--seed=1"}));
        CHECK(relativeDifference(one, lastTensors(0, both(still, Flags{"--model=" + plain, "--seed=2"}))) < 1e-12);
        const TempFolder folder;
        TensorFile zeros = one;
        for (auto &[name, tensor] : zeros.tensors)
            tensor = torch::full_like(tensor, 0.25);
        REQUIRE(trainer::writeTensors(folder / "quarter", zeros));
        CHECK(
            relativeDifference(lastTensors(0, both(still, Flags{"--model=" + plain, "--init=" + (folder / "quarter")})),
                               zeros) < 1e-12);
        CHECK(lastTensors(0, {"--model=" + modules->images("traced")}).tensors.size() == one.tensors.size());
    }

    TEST_CASE("resumed from a checkpoint it ends with the bits of a run in one go, and bf16 and channels last train "
              "it, too") {
        const Modules *modules = Modules::get();
        if (!modules)
            return;
        const TempFolder folder;
        const Flags common{"--model=" + modules->images("normed", twoStages)};
        const TensorFile whole = lastTensors(0, both(common, Flags{"--epochs=2"}));
        (void)lastTensors(0, both(common, Flags{"--epochs=1", "--checkpoint-dir=" + (folder / "c")}));
        CHECK(relativeDifference(
                  lastTensors(0, both(common, Flags{"--epochs=2", "--checkpoint-dir=" + (folder / "c"), "--resume"})),
                  whole) == 0);
        const TensorFile fp32 = lastTensors(0, both(common, Flags{"--epochs=1"}));
        CHECK(relativeDifference(lastTensors(0, both(common, Flags{"--epochs=1", "--channels-last"})), fp32) < 1e-2);
        const double bf16 =
            relativeDifference(lastTensors(0, both(common, Flags{"--epochs=1", "--precision=bf16"})), fp32);
        CHECK(bf16 > 1e-6); // else nothing was computed in bf16
        CHECK(bf16 < 0.5);
    }

    TEST_CASE("after an epoch all ranks evaluate with the same running means: those that a checkpoint has") {
        const Modules *modules = Modules::get();
        if (!modules)
            return;
        const std::string file = modules->images("normed", twoStages);
        for (const std::string method : {"ddp", "ps-async", "pipeline"}) {
            CAPTURE(method);
            const TempFolder folder;
            const Flags common{"--model=" + file, std::string("--method=") + method,
                               "--checkpoint-dir=" + (folder / "c")};
            std::vector<double> losses;
            for (const bool resumes : {false, true}) { // after its last epoch a resumed run evaluates, and no more
                const std::string frames = folder / (resumes ? "again" : "first");
                (void)lastTensors(2, both(common, Flags{"--frames=" + frames, resumes ? "--resume" : "--epochs=1"}));
                for (const EvalFrame &frame : bodiesOf<EvalFrame>(readFrames(frames), 0))
                    losses.push_back(frame.loss.value_or(0));
            }
            REQUIRE(losses.size() == 2);
            CHECK(losses[0] > 0);
            CHECK(losses[0] == losses[1]);
        }
    }

    TEST_CASE(
        "stages without parameters train in one pipeline and in two, with clipped gradients, and go on from their "
        "checkpoint") {
        const Modules *modules = Modules::get();
        if (!modules)
            return;
        const Flags common{"--model=" + modules->images("bare", R"(, "layers": ["pool", "features", "flat", "head"])"),
                           "--precision=fp64", "--optimizer=adam", "--lr=0.002", "--clip-grad-norm=0.1"};
        const TensorFile expected = lastTensors(0, both(common, Flags{"--epochs=2"}));
        for (const Flags &way : {Flags{"--stages=4"}, Flags{"--stages=2", "--stage-layers=1,3"}}) {
            CAPTURE(way.front());
            const TempFolder folder;
            const Flags own =
                both(both(common, way), Flags{"--method=pipeline", "--checkpoint-dir=" + (folder / "c"), "--resume"});
            (void)lastTensors(4, both(own, Flags{"--epochs=1"}));
            CHECK(relativeDifference(lastTensors(4, both(own, Flags{"--epochs=2"})), expected) < 1e-9);
        }
    }

    TEST_CASE(
        "to share BatchNorm's buffers before a step of DDP is exposed communication, not forward, and a rank's wait "
        "there for one that comes late is known") {
        const Modules *modules = Modules::get();
        if (!modules)
            return;
        const TempFolder folder;
        DdpRun run(2,
                   {"--model=" + modules->images("normed"), "--loader=item", "--augment=affine", "--trace=3",
                    "--frames=" + (folder / "f")},
                   {{"LOCKSTEP_TRACES", folder / "traces"}, {"LOCKSTEP_TEST_DELAY", "0:load:100"}});
        for (const Ended &ended : run.wait()) {
            CAPTURE(ended.err);
            REQUIRE(ended.code == 0);
        }
        const std::string step = "load exposed forward backward exposed optimizer other ";
        for (const char *file : {"traces/rank-0.json", "traces/rank-1.json"})
            CHECK(phasesOfTrace(folder / file) == step + step + step);
        const auto frames = readFrames(folder / "f");
        const auto late = bodiesOf<EpochFrame>(frames, 0), waits = bodiesOf<EpochFrame>(frames, 1);
        REQUIRE(late.size() == 1);
        REQUIRE(waits.size() == 1);
        // Nearly all that rank 0 takes to load, in which rank 1 has nothing else to do.
        CHECK(waits[0].phases.at("wait").sumS > 0.5 * late[0].phases.at("load").sumS);
        CHECK(waits[0].phases.at("exposed").sumS > 0.5 * late[0].phases.at("load").sumS);
    }

    TEST_CASE("a forecast knows the bytes of a module's buffers, those of each type together") {
        const Modules *modules = Modules::get();
        if (!modules)
            return;
        const Ended asked = trainAlone({"--model=" + modules->images("normed", twoStages), "--model-costs=4"});
        CAPTURE(asked.err);
        REQUIRE(asked.code == 0);
        // Two counts of batches; means and variances of 4 and of 16 channels.
        const std::vector<std::int64_t> bytes{2 * 8, 2 * (4 + 16) * 4};
        CHECK(nlohmann::json::parse(asked.out).at("buffer_bytes").get<std::vector<std::int64_t>>() == bytes);
    }

    TEST_CASE("a module of texts learns them from tokens by the vocabulary in --bert-dir, and is saved as one file") {
        const Modules *modules = Modules::get();
        if (!modules)
            return;
        const TempFolder folder;
        writeFile(folder / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nbad\nso\ngood\nvery\n");
        writeFile(folder / "config.json", R"({"model_type": "bert", "vocab_size": 40, "max_position_embeddings": 16})");
        std::string texts = "label,text\n";
        for (int i = 0; i < 300; ++i)
            texts += std::string(i % 3 == 0   ? "no,bad"
                                 : i % 3 == 1 ? "well,so"
                                              : "yes,good") +
                     (i % 2 == 0 ? " very\n" : "\n");
        writeFile(folder / "texts.csv", texts);
        const std::string description = R"({"input": {"values": "text"}, "classes": )";
        const Flags common{"--dataset=text",
                           "--bert-dir=" + folder.path(),
                           "--data-dir=" + (folder / "texts.csv"),
                           "--max-tokens=8",
                           "--batch-size=8",
                           "--train-samples=0",
                           "--epochs=20",
                           "--lr=0.05",
                           "--summary=" + (folder / "s")};
        const std::string three = "--model=" + modules->describe("words", description + "3}");
        CHECK(lastTensors(0, both(common, Flags{three})).tensors.size() == 3);
        CHECK(readSummary(folder / "s").testAccuracy == 1);
        const std::vector<std::string> labels{"no", "well", "yes"};
        CHECK(readSummary(folder / "s").classNames == labels);
        CHECK(lastTensors(2, both(common, Flags{three, "--method=ddp"})).tensors.size() == 3);
        const Flags four = both(common, Flags{"--model=" + modules->describe("words", description + "4}")});
        CHECK(refusalOf(four, 0).find("says 4 classes, and the data have 3; use other data") != std::string::npos);
        // A forecast goes by the samples and classes of these texts, too.
        const Ended asked = trainAlone(both(common, Flags{three, "--model-costs=4"}));
        CAPTURE(asked.err);
        REQUIRE(asked.code == 0);
        CHECK(nlohmann::json::parse(asked.out).at("train_samples") == 270);
        CHECK(refusalOf(both(four, Flags{"--model-costs=4"}), 0).find("and the data have 3") != std::string::npos);
        // What is tried before training is not of padding alone, whichever token that is.
        writeFile(folder / "vocab.txt", "[UNK]\n[PAD]\n[CLS]\n[SEP]\n[MASK]\nbad\nso\ngood\nvery\n");
        writeFile(folder / "config.json",
                  R"({"model_type": "bert", "vocab_size": 40, "max_position_embeddings": 16, "pad_token_id": 1})");
        const std::string after = "--model=" + modules->describe("after", description + "3}");
        CHECK(lastTensors(0, both(common, Flags{after})).tensors.size() == 3);
    }

    TEST_CASE("dropout under DP on CPU devices is warned of, and trained") {
        const Modules *modules = Modules::get();
        if (!modules)
            return;
        const Flags options{"--model=" + modules->images("dropping", twoStages), "--method=dp", "--devices=0,1"};
        const Ended ended = trainAlone(options);
        CHECK(ended.code == 0);
        CHECK(ended.err.find("draws random numbers") != std::string::npos);
        CHECK(trainAlone({"--model=" + modules->images("dropping", twoStages)}).err.find("draws random numbers") ==
              std::string::npos);
    }

    TEST_CASE("dropout and BatchNorm that a trace keeps in one mode are refused; what should be alike in both trains") {
        const Modules *modules = Modules::get();
        if (!modules)
            return;
        const std::pair<const char *, const char *> traces[] = {
            {"normed-traced-training", "the BatchNorm first.1 of normed-traced-training"},
            {"normed-traced-evaluating", "the BatchNorm first.1 of normed-traced-evaluating"},
            {"dropping-traced-training", ".pt draws random numbers in evaluation, too"},
            {"dropping-traced-evaluating", "the dropout first.2 of dropping-traced-evaluating"},
            {"functional-traced-training", ".pt draws random numbers in evaluation, too"},
            {"functional-traced-evaluating", "the dropout of functional-traced-evaluating"}};
        for (const auto &[name, sentence] : traces) {
            const std::string said = refusalOf({"--model=" + modules->images(name)}, 0);
            CAPTURE(said);
            CHECK(said.find(sentence) != std::string::npos);
            CHECK(said.find("; save it in Python with torch.jit.script(model).save(") != std::string::npos);
        }
        for (const char *name : {"still-traced-training", "still-traced-evaluating", "skipping", "dropping"}) {
            const Ended ended = trainAlone({"--model=" + modules->images(name)});
            CAPTURE(ended.err);
            CHECK(ended.code == 0);
        }
    }

    TEST_CASE(
        "a file or description that can't be trained is refused in one sentence with a way out, before training") {
        const Modules *modules = Modules::get();
        if (!modules)
            return;
        struct Bad {
            std::string file, sentence;
            Flags more = {};
            int ranks = 0;
        };
        const auto with = [&](const std::string &description) { return modules->describe("plain", description); };
        const Flags pipeline{"--method=pipeline", "--devices=0,1"};
        const Bad rows[] = {
            {modules->path("none.pt"), "can't read " + modules->path("none.pt") + ": No such file"},
            {modules->describe("plain", ""), ".json: No such file or directory; describe there what the model takes"},
            {modules->images("broken"), "is no TorchScript module"},
            {modules->images("weights"), "is no TorchScript module"},
            {modules->images("frozen"), "has no parameters to train; save it without torch.jit.freeze"},
            {with("{"), "is not valid JSON from line 1 on"},
            {with("[]"), "should be a JSON object"},
            {with(R"({"classes": 10})"), "input is missing"},
            {with(R"({"input": {"values": "sound"}, "classes": 10})"), R"(values is "sound"; give "pixels" or "text")"},
            {with(R"({"input": {"values": "pixels", "shape": [28, 28]}, "classes": 10})"),
             "shape is no list of three numbers"},
            {with(R"({"input": {"values": "pixels", "shape": [1, 28, 0]}, "classes": 10})"), "shape has 0 in it"},
            {with(R"({"input": {"values": "pixels", "shape": [1, 28, 28]}, "classes": 0})"),
             "classes is 0; give a whole number from 2 on"},
            {with(R"({"input": {"values": "pixels", "shape": [1, 28, 28]}, "classes": "ten"})"), "classes is \"ten\""},
            {with(std::string(imagesOf10) + R"(, "layer": ["head"]})"),
             "layer is no key of a model's description; did you mean \"layers\"?"},
            {with(std::string(imagesOf10) + R"(, "layers": []})"), "layers is no list of submodules"},
            {with(std::string(imagesOf10) + R"(, "layers": ["flat", "flat"]})"), "has \"flat\" twice"},
            {with(std::string(imagesOf10) + R"(, "layers": ["flat", "haed", "tail"]})"), "has no submodule haed"},
            {with(std::string(imagesOf10) + R"(, "layers": ["flat", "head"]})"), "leave out the parameter tail.weight"},
            {with(std::string(imagesOf10) + R"(, "layers": ["flat", "head", "tail"]})"),
             "don't compute what it computes"},
            {with(std::string(imagesOf10) + R"(, "parameters": 7})"),
             "has 7960 parameters, and its description says 7"},
            {with(R"({"input": {"values": "pixels", "shape": [3, 32, 32]}, "classes": 10})"),
             "takes images of 32 × 32 pixels in 3 channels in 10 classes, and fashion-mnist holds images of 28 × 28 "
             "pixels in 10 classes"},
            {with(R"({"input": {"values": "pixels", "shape": [1, 28, 28]}, "classes": 5})"),
             "in 5 classes, and fashion-mnist holds"},
            {modules->images("five"), "puts out Float of shape [2, 5] for 2 samples of 10 classes; let it put out"},
            {modules->images("tied"), "one tensor for two parameters, a.weight and b.weight"},
            {modules->images("unused"), "the parameter tail.weight of "},
            {modules->images("pair"), "it puts out a Tuple and not a tensor"},
            {modules->images("fixed"), "has a parameter that is not trained, tail.weight"},
            {modules->images("narrow"),
             "can't be trained on two images of 28 × 28 pixels: mat1 and mat2 shapes cannot be multiplied"},
            {modules->images("plain"),
             "is one layer, which pipeline can't share out among 2 devices; name the submodules", pipeline, 2},
            {modules->images("normed", twoStages),
             "has 2 layers for 3 devices",
             {"--method=pipeline", "--devices=0,1,2"},
             3},
            {modules->images("plain"), "a CUDA graph can't hold the steps of", {"--cuda-graph", "--device=cuda"}}};
        for (const Bad &bad : rows) {
            CAPTURE(bad.sentence);
            const std::string said = refusalOf(both(bad.more, Flags{"--model=" + bad.file}), bad.ranks);
            CAPTURE(said);
            CHECK(said.find(bad.sentence) != std::string::npos);
            CHECK(said.find("; ") != std::string::npos); // a way out
        }
    }

    TEST_CASE("ranks whose files differ refuse to train, each in one sentence") {
        const Modules *modules = Modules::get();
        if (!modules)
            return;
        const TempFolder folder;
        const std::string files[] = {modules->images("plain"), modules->images("traced")};
        std::vector<std::unique_ptr<Process>> ranks;
        for (const int rank : {0, 1}) {
            const std::string r = std::to_string(rank);
            ranks.push_back(std::make_unique<Process>(
                trainerBinary(),
                withSmallRun({"--method=ddp", "--model=" + files[rank], "--init-method=file://" + (folder / "store")}),
                Environment{{"RANK", r}, {"LOCAL_RANK", r}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "2"}}));
        }
        for (const auto &rank : ranks) {
            const Ended ended = rank->wait();
            CAPTURE(ended.err);
            CHECK(ended.code == exitBadArguments);
            CHECK(ended.err.find("is another file on rank 1 than on rank 0; copy both files to every node") !=
                  std::string::npos);
        }
    }

    TEST_CASE("a module is one layer where none are named, and of what is not finite the parameter is named") {
        const Modules *modules = Modules::get();
        if (!modules)
            return;
        const auto loaded = trainer::makeModel(modules->images("plain"), {});
        REQUIRE(loaded);
        const auto &model = *loaded;
        CHECK(model->layerCount() == 1);
        CHECK(model->layerOf("head.weight") == 0);
        CHECK(model->firstNotFinite(torch::zeros({1, 1, 28, 28})).empty());
        model->named_parameters()["head.bias"].data().fill_(NAN);
        CHECK(model->firstNotFinite(torch::zeros({1, 1, 28, 28})) == "the parameter bias of layer head");
    }
}
