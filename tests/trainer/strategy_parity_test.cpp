// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <set>

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

using Options = std::vector<std::string>;

Options operator+(Options left, const Options &right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

using Case = std::pair<std::string, Options>; ///< a training in Python, by name

/// Trainings in Python, all done by one process: importing torch costs more than most of them.
class Reference {
public:
    /// In the order of `cases`, but those of DDP first. `folder` must outlive it.
    Reference(const TempFolder &folder, const std::vector<Case> &cases) : m_folder(folder) {
        const std::string python = pythonWith("torch");
        if (python.empty()) {
            MESSAGE("skipped: no Python that imports torch");
            return;
        }
        std::ofstream list(m_folder / "cases");
        for (const auto &[name, options] : cases) {
            for (const auto &option : options)
                list << option << ' ';
            list << "--out=" << m_folder / (name + ".json") << " --save-final=" << weights(name)
                 << " --gradients=" << gradients(name) << '\n';
        }
        list.close();
        const Ended ended =
            Process(python, {LOCKSTEP_SOURCE_DIR "/tests/bench/reference.py", "--cases", m_folder / "cases"})
                .wait(std::chrono::seconds(600)); // all of them together
        CAPTURE(ended.err);
        REQUIRE(ended.code == 0);
        m_done = true;
    }
    /// False: there is no Python with torch.
    [[nodiscard]] bool done() const { return m_done; }
    [[nodiscard]] nlohmann::json reported(const std::string &name) const {
        return nlohmann::json::parse(readFile(m_folder / (name + ".json")));
    }
    [[nodiscard]] std::string weights(const std::string &name) const { return m_folder / (name + ".weights"); }
    [[nodiscard]] std::string gradients(const std::string &name) const { return m_folder / (name + ".gradients"); }

private:
    const TempFolder &m_folder;
    bool m_done = false;
};

/// What lockstep-trainer did: each rank's loss and samples of each step, and the last weights.
struct Trained {
    std::vector<std::vector<double>> losses, samples;
    TensorFile weights;
    std::optional<double> epochLoss;
    std::int64_t bytesSentAStep = 0; ///< of all buckets; 0: it has none
};

/// What DDP sends beside the gradients, in its last bucket: the wish to stop, and six own times of each rank.
std::int64_t controlBytes(int ranks, int bytesOfANumber) {
    return (1 + 6 * ranks) * bytesOfANumber;
}

Trained train(int ranks, const Options &options) {
    const TempFolder folder;
    const Environment eachStep{{"LOCKSTEP_STEP_WINDOW_MS", "0"}};
    const Options own = options + Options{"--frames=" + (folder / "f"), "--save-final=" + (folder / "w"),
                                          "--summary=" + (folder / "s")};
    if (ranks > 0) {
        for (const Ended &ended : DdpRun(ranks, own, eachStep).wait()) {
            CAPTURE(ended.err);
            REQUIRE(ended.code == 0);
        }
    } else {
        const Ended ended = Process(trainerBinary(), withSmallRun(own), eachStep).wait();
        CAPTURE(ended.err);
        REQUIRE(ended.code == 0);
    }
    Trained trained;
    const auto frames = readFrames(folder / "f");
    for (int rank = 0; rank < std::max(ranks, 1); ++rank) {
        auto &losses = trained.losses.emplace_back(), &samples = trained.samples.emplace_back();
        for (const auto &window : bodiesOf<StepsFrame>(frames, rank)) {
            REQUIRE(window.count == 1);
            if (rank > 0 && !window.loss)
                continue; // of a pipeline, the first rank says it for all
            losses.push_back(window.loss->last);
            samples.push_back(static_cast<double>(window.samples));
        }
    }
    std::erase(trained.losses, std::vector<double>());
    std::erase(trained.samples, std::vector<double>());
    for (const auto &comm : bodiesOf<CommFrame>(frames, 0))
        for (trained.bytesSentAStep = 0; const auto &bucket : comm.buckets)
            trained.bytesSentAStep += bucket.sizeBytes;
    trained.weights = *readTensors(folder / "w");
    trained.epochLoss = readSummary(folder / "s").epochs.at(0).loss;
    return trained;
}

double relative(double value, double expected) {
    return std::abs(value - expected) / std::abs(expected);
}

double largest(const std::vector<double> &values, const std::vector<double> &expected) {
    REQUIRE(values.size() == expected.size());
    double difference = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
        difference = std::max(difference, relative(values[i], expected[i]));
    return difference;
}

/// The mean of each step over all ranks' samples.
std::vector<double> meanOverRanks(const Trained &trained) {
    std::vector<double> means;
    for (std::size_t step = 0; step < trained.losses[0].size(); ++step) {
        double sum = 0, count = 0;
        for (std::size_t rank = 0; rank < trained.losses.size(); ++rank) {
            sum += trained.losses[rank][step] * trained.samples[rank][step];
            count += trained.samples[rank][step];
        }
        means.push_back(sum / count);
    }
    return means;
}

/// A way to train, and the training in Python that walks the same way.
struct Way {
    std::string name;
    int ranks; ///< processes of a distributed method; 0: one without any
    Options options;
    const char *peer;
};

const Way ways[] = {
    {"baseline", 0, {}, "baseline"},
    {"dp x2", 0, {"--method=dp", "--devices=0,1"}, "baseline"},
    {"dp x3", 0, {"--method=dp", "--devices=0,1,2"}, "baseline"},
    {"dp x2 persistent", 0, {"--method=dp", "--devices=0,1", "--dp-replicas=persistent"}, "baseline"},
    {"ddp x1", 1, {}, "ddp1"},
    {"ddp x2", 2, {}, "ddp2"},
    {"ddp x3", 3, {}, "ddp3"},
    {"ps-sync x2", 2, {"--method=ps-sync"}, "ddp2"},
    {"ps-sync x3", 3, {"--method=ps-sync"}, "ddp3"},
    {"ring x2", 2, {"--all-reduce=ring"}, "ddp2"},
    {"ring x3", 3, {"--all-reduce=ring"}, "ddp3"},
    {"ps-async x2, in step", 2, {"--method=ps-async", "--max-staleness=0"}, "ddp2"},
    {"ps-async x3 on 2 servers, in step", 3, {"--method=ps-async", "--max-staleness=0", "--servers=2"}, "ddp3"},
    {"ps-async x2 beside 2 servers, in step",
     4,
     {"--method=ps-async", "--max-staleness=0", "--server-devices=2"},
     "ddp2"},
    {"pipeline x2", 2, {"--method=pipeline"}, "baseline"},
    {"pipeline x3, gpipe",
     3,
     {"--method=pipeline", "--pipeline-schedule=gpipe", "--micro-batches=5", "--stage-layers=1,1,3"},
     "baseline"},
    {"pipeline 2x2", 4, {"--method=pipeline", "--stages=2", "--micro-batches=3"}, "ddp2"},
    {"baseline in 3 parts", 0, {"--accumulate=3"}, "baseline"},
    {"ddp x2 in 3 parts", 2, {"--accumulate=3"}, "ddp2"},
    {"ps-sync x3 in 5 parts", 3, {"--method=ps-sync", "--accumulate=5"}, "ddp3"},
    {"ps-async x2, in step, in 2 parts", 2, {"--method=ps-async", "--max-staleness=0", "--accumulate=2"}, "ddp2"}};

/// Its optimizer is another way's code, so one says as much as three.
bool isLikeAnother(const Way &way) {
    return way.ranks == 1 || way.ranks >= 3 || way.name == "dp x3" || way.name.starts_with("ps-sync") ||
           way.name.starts_with("ring") || way.name.ends_with("parts");
}

Options optionsOf(const std::string &optimizer) {
    return {"--precision=fp64", "--batch-size=48", "--optimizer=" + optimizer, "--weight-decay=0.01",
            optimizer == "sgd" ? "--lr=0.05" : "--lr=0.002"};
}

const Options optimizers{"sgd", "adam", "adamw"};

/// Two epochs with a smaller last batch, which DP shares out unevenly. Three ranks get a number of samples that they can't share
/// out evenly: the sampler pads. Many steps of it, in one epoch, where `far`.
Options samplesFor(int ranks, bool far) {
    if (ranks == 3 && far)
        return {"--train-samples=3001", "--epochs=1"};
    return {ranks == 3 ? "--train-samples=500" : "--train-samples=490", "--epochs=2"};
}

/// By default one optimizer goes all the way with three ranks.
bool goesFar(const std::string &optimizer, bool whole) {
    return whole || optimizer == "sgd";
}

std::vector<Case> trajectoryCases(const SmallData &data, bool whole) {
    std::vector<Case> cases;
    for (const auto &optimizer : optimizers) {
        const Options common = optionsOf(optimizer) + Options{data.option()};
        // Python's own DataLoader, with and without workers of its own.
        cases.push_back({"baseline-" + optimizer,
                         common + samplesFor(1, true) +
                             Options{"--loader=item", optimizer == "adam" ? "--workers=2" : "--workers=0"}});
        for (const int ranks : {1, 2, 3})
            cases.push_back({"ddp" + std::to_string(ranks) + "-" + optimizer,
                             common + samplesFor(ranks, goesFar(optimizer, whole)) +
                                 Options{"--method=ddp", "--world-size=" + std::to_string(ranks)}});
    }
    return cases;
}

/// One way against its peer in Python: each step's loss and number of samples on each rank, and the last weights.
void checkAgainst(const Reference &reference, const std::string &peer, const Way &way, const Options &options) {
    CAPTURE(way.name);
    CAPTURE(peer);
    const auto reported = reference.reported(peer);
    const auto trained = train(way.ranks, way.options + options);
    double loss = 0;
    const std::vector<std::vector<double>> losses = reported.at("rank_losses"), counts = reported.at("rank_samples");
    REQUIRE(losses.size() == trained.losses.size());
    for (std::size_t rank = 0; rank < losses.size(); ++rank) {
        CHECK(trained.samples[rank] == counts[rank]); // padded duplicates left out
        loss = std::max(loss, largest(trained.losses[rank], losses[rank]));
    }
    const double weights = relativeDifference(trained.weights, *readTensors(reference.weights(peer)));
    MESSAGE(way.name << ", " << peer << ", " << losses[0].size() << " steps: loss " << loss << ", weights " << weights);
    CHECK(loss < 1e-9);
    CHECK(weights < 1e-9);
    CHECK(relative(*trained.epochLoss, reported.at("epochs")[0].at("loss")) < 1e-9);
}

void checkTrajectory(const Reference &reference, const SmallData &data, const Way &way, const std::string &optimizer,
                     int workers, bool whole) {
    const int shares = way.peer == std::string("baseline") ? 1 : way.ranks;
    CAPTURE(workers);
    checkAgainst(reference, std::string(way.peer) + "-" + optimizer, way,
                 optionsOf(optimizer) + samplesFor(shares, goesFar(optimizer, whole)) +
                     Options{data.option(), "--workers=" + std::to_string(workers)});
}

/// The models of docs/own-model.md: what Python calls them, and what lockstep-trainer does.
struct OwnModel {
    std::string name, peer, ours;
};

std::vector<OwnModel> ownModels(const TempFolder &folder) {
    return {{"file", folder / "net.py", folder / "net.pt"}, {"mlp", "mlp", "mlp"}};
}

Options ownModelOptions(const SmallData &data) {
    return optionsOf("sgd") + samplesFor(2, false) + Options{data.option()};
}

/// A model as the seed makes it, in a file.
void writeFresh(const std::string &model, const std::string &path) {
    torch::manual_seed(1);
    TensorFile file;
    for (const auto &item : (*trainer::makeModel(model, {.dropout = 0.0}))->named_parameters())
        file.tensors.emplace_back(item.key(), item.value().detach());
    REQUIRE(trainer::writeTensors(path, file).has_value());
}

/// What the cases that run by default are compared with, made once: data, first weights, and Python's trainings.
struct Peers {
    SmallData data{3200};
    TempFolder folder;
    Options fp32{"--batch-size=64", "--lr=0.01", data.option(), "--train-samples=3200"};
    Options oneStep{"--batch-size=48", "--train-samples=48", data.option(), "--momentum=0", "--dropout=0"};
    std::optional<Reference> python;

    static Options compressed(const std::string &format) { return {"--method=ddp", "--compress-gradients=" + format}; }
    Peers() {
        for (const char *model : {"lenet", "convnet"})
            writeFresh(model, folder / model);
        std::vector<Case> cases = trajectoryCases(data, false);
        cases.push_back({"fp32", fp32});
        cases.push_back({"fp32-halves", fp32 + Options{"--accumulate=2"}});
        cases.push_back({"fp32-ddp2", fp32 + Options{"--method=ddp", "--world-size=2"}});
        for (const char *format : {"fp16", "bf16"})
            cases.push_back({format, fp32 + compressed(format) + Options{"--world-size=2"}});
        cases.push_back({"lenet", oneStep + Options{"--init=" + (folder / "lenet")}});
        cases.push_back({"convnet", oneStep + Options{"--init=" + (folder / "convnet"), "--model=convnet"}});
        cases.push_back({"after-training", oneStep + Options{"--init=" + (folder / "baseline-sgd.weights")}});
        if (const std::string found = pythonWith("torch"); !found.empty())
            makeOwnModel(found, folder);
        for (const OwnModel &model : ownModels(folder)) {
            const Options common = ownModelOptions(data) + Options{"--model=" + model.peer};
            cases.push_back({"baseline-" + model.name, common});
            cases.push_back({"ddp2-" + model.name, common + Options{"--method=ddp", "--world-size=2"}});
        }
        python.emplace(folder, cases);
    }
    /// Null: there is no Python with torch.
    static const Peers *get() {
        static const Peers peers;
        return peers.python->done() ? &peers : nullptr;
    }
};

} // namespace

TEST_SUITE("strategy_parity") {
    TEST_CASE("in fp64, baseline, DP, DDP, the ring, the servers and pipelines walk the trajectory of PyTorch's own "
              "training, step by step") {
        const Peers *peers = Peers::get();
        if (!peers)
            return;
        // Each way and each optimizer meets 0 and 2 loading workers; every combination of the three: strategy_parity_whole.
        for (std::size_t w = 0; w < std::size(ways); ++w)
            for (std::size_t o = 0; o < optimizers.size(); ++o)
                if (!isLikeAnother(ways[w]) || o == w % 3)
                    checkTrajectory(*peers->python, peers->data, ways[w], optimizers[o], (w + o) % 2 == 0 ? 0 : 2,
                                    false);
    }

    TEST_CASE(
        "the TorchScript file and the C++ class of docs/own-model.md walk the trajectory of PyTorch's own training, "
        "under baseline, DP, DDP, the ring, the servers and a pipeline") {
        const Peers *peers = Peers::get();
        if (!peers)
            return;
        // One model goes every way, the other those that do something with its layers or its copies.
        const std::set<std::string> ofClasses{"baseline", "dp x2", "ddp x2", "pipeline x2"};
        for (const OwnModel &model : ownModels(peers->folder))
            for (const Way &way : ways)
                if (way.ranks <= 2 && way.name != "dp x3" && way.name != "ddp x1" &&
                    (model.name == "file" || ofClasses.contains(way.name)))
                    checkAgainst(*peers->python, std::string(way.peer) + "-" + model.name, way,
                                 ownModelOptions(peers->data) + Options{"--model=" + model.ours});
    }

    TEST_CASE("in fp64, every way with every optimizer, with and without workers" * doctest::skip()) {
        const SmallData data(3001);
        const TempFolder folder;
        const Reference reference(folder, trajectoryCases(data, true));
        if (!reference.done())
            return;
        for (const Way &way : ways)
            for (const auto &optimizer : optimizers)
                for (const int workers : {0, 2})
                    checkTrajectory(reference, data, way, optimizer, workers, true);
    }

    TEST_CASE("in fp32, the losses of 50 SGD steps are PyTorch's to 1e-5") {
        const Peers *peers = Peers::get();
        if (!peers)
            return;
        // Gradients of halves of a batch are rounded otherwise than those of the whole, and 50 steps let that grow: by how much depends on
        // the processor's kernels. So DP and DDP are held to trainings of PyTorch by the same halves.
        const std::pair<Way, std::string> held[] = {
            {ways[0], "fp32"}, {ways[1], "fp32-halves"}, {ways[5], "fp32-ddp2"}};
        for (const auto &[way, peer] : held) {
            CAPTURE(way.name);
            const std::vector<double> expected = peers->python->reported(peer).at("losses");
            REQUIRE(expected.size() == 50);
            const double difference = largest(meanOverRanks(train(way.ranks, peers->fp32 + way.options)), expected);
            MESSAGE(way.name << ", fp32, 50 steps: loss " << difference);
            CHECK(difference < 1e-5);
        }
    }

    TEST_CASE("gradients that are sent in fp16 or bf16 are those of PyTorch's compression hooks, in half the bytes") {
        const Peers *peers = Peers::get();
        if (!peers)
            return;
        const std::vector<double> plain = peers->python->reported("fp32-ddp2").at("losses");
        for (const std::string format : {"fp16", "bf16"}) {
            CAPTURE(format);
            const std::vector<double> expected = peers->python->reported(format).at("losses");
            const Trained trained = train(2, peers->fp32 + Peers::compressed(format));
            const double difference = largest(meanOverRanks(trained), expected), without = largest(plain, expected);
            MESSAGE(format << ", 50 steps: loss " << difference << ", uncompressed " << without);
            CHECK(difference < 1e-5);
            CHECK(without > 1e-5); // else the first check says nothing
            CHECK(trained.bytesSentAStep == 61'706 * 2 + controlBytes(2, 2));
        }
        CHECK(train(2, peers->fp32 + Options{"--method=ddp"}).bytesSentAStep == 61'706 * 4 + controlBytes(2, 4));
    }

    TEST_CASE("in fp32, the gradients of one step from equal weights are PyTorch's to 1e-5") {
        const Peers *peers = Peers::get();
        if (!peers)
            return;
        struct Start {
            std::string name, file, model;
            std::vector<Way> ways;
        };
        const Start starts[] = {
            {"lenet", peers->folder / "lenet", "lenet", {ways[0], ways[2], ways[3], ways[4], ways[6]}},
            {"after-training", peers->python->weights("baseline-sgd"), "lenet", {ways[1], ways[5]}},
            {"convnet", peers->folder / "convnet", "convnet", {ways[0], ways[5]}}};
        for (const Start &start : starts) {
            const auto before = *readTensors(start.file), expected = *readTensors(peers->python->gradients(start.name));
            for (const Way &way : start.ways) {
                CAPTURE(way.name);
                CAPTURE(start.name);
                // A learning rate of 2^20 leaves the gradient's bits in the weights: rounding is relative to the gradient.
                auto after =
                    train(way.ranks, way.options + peers->oneStep +
                                         Options{"--init=" + start.file, "--model=" + start.model, "--lr=1048576"})
                        .weights;
                for (std::size_t i = 0; i < after.tensors.size(); ++i) {
                    const auto start32 = before.tensors[i].second.to(torch::kFloat32); // some were trained in fp64
                    auto &weight = after.tensors[i].second;
                    weight = (start32.to(torch::kFloat64) - weight.to(torch::kFloat64)) / 1048576;
                }
                const double difference = relativeDifference(after, expected);
                MESSAGE(way.name << ", fp32, " << start.name << ": gradients " << difference);
                CHECK(difference < 1e-5);
            }
        }
    }

    TEST_CASE("every rank of a DDP run ends with the same bits, and two equal runs with the same again") {
        const TempFolder folder;
        std::vector<std::string> ends;
        for (const char *name : {"a", "b"}) {
            for (const Ended &ended : DdpRun(2, {"--frames=" + (folder / name)}).wait())
                REQUIRE(ended.code == 0);
            for (const int rank : {0, 1})
                for (const auto &line : bodiesOf<LogFrame>(readFrames(folder / name), rank))
                    if (line.message.starts_with("parameters sha256"))
                        ends.push_back(line.message);
        }
        REQUIRE(ends.size() == 4);
        for (const auto &end : ends)
            CHECK(end == ends.front());
    }

    TEST_CASE("DP with dropout ends with the same bits each time: its replicas do not share a generator") {
        const TempFolder folder;
        const Options options{"--model=convnet", "--batch-size=48", "--train-samples=480", "--epochs=1"};
        for (const std::string mode : {"each-step", "persistent"}) {
            std::vector<std::string> ends;
            for (int run = 0; run < 2; ++run) {
                const Ended ended =
                    Process(trainerBinary(),
                            withSmallRun(options + Options{"--method=dp", "--devices=0,1,2", "--dp-replicas=" + mode,
                                                           "--summary=" + (folder / "s")}))
                        .wait();
                CAPTURE(ended.err);
                REQUIRE(ended.code == 0);
                ends.push_back(readSummary(folder / "s").parametersSha256);
            }
            CHECK(!ends[0].empty());
            CHECK(ends[0] == ends[1]);
        }
    }
}
