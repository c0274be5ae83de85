// SPDX-License-Identifier: MIT
// What only a GPU can show; without one each case says so. tests/bench/gpu.sh runs them on such a machine.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "tests/trainer/trainer_process.h"
#include "trainer/comm/cuda/module.h"
#include "trainer/comm/gpus.h"

using namespace lockstep;
using namespace lockstep::trainer::test;

namespace {

bool noGpu() {
    if (!trainer::visibleGpus().empty())
        return false;
    MESSAGE("skipped: no GPU here");
    return true;
}

using Options = std::vector<std::string>;

struct Ran {
    Summary summary;
    std::vector<Frame> frames;
    std::vector<double> losses; ///< a step
};

/// By default 30 steps an epoch, the last one smaller, two epochs, reported step by step.
Ran train(Options options, int ranks = 0) {
    const TempFolder folder;
    options.insert(options.end(),
                   {"--device=cuda", "--epochs=2", "--frames=" + (folder / "f"), "--summary=" + (folder / "s")});
    addByDefault(options, "--train-samples=1888");
    const Environment eachStep{{"LOCKSTEP_STEP_WINDOW_MS", "0"}, {"LOCKSTEP_TRACES", folder / "traces"}};
    std::vector<Ended> all;
    if (ranks > 0) {
        all = DdpRun(ranks, options, eachStep).wait();
    } else {
        all.push_back(Process(trainerBinary(), withSmallRun(options), eachStep).wait());
    }
    for (const Ended &ended : all) {
        CAPTURE(ended.err);
        REQUIRE(ended.code == 0);
    }
    Ran ran{readSummary(folder / "s"), readFrames(folder / "f"), {}};
    for (const auto &window : bodiesOf<StepsFrame>(ran.frames, 0))
        ran.losses.push_back(window.loss->last);
    return ran;
}

double largestDifference(const std::vector<double> &values, const std::vector<double> &expected) {
    REQUIRE(values.size() == expected.size());
    double most = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
        most = std::max(most, std::abs(values[i] - expected[i]) / std::abs(expected[i]));
    return most;
}

} // namespace

TEST_SUITE("cuda") {
    TEST_CASE("where there is no GPU a run that names one is refused with what there is") {
        if (!trainer::visibleGpus().empty())
            return;
        const Ended ended = Process(trainerBinary(), withSmallRun({"--device=cuda", "--cuda-graph"})).wait();
        CHECK(ended.code == 2);
        const bool built =
            std::filesystem::exists(std::filesystem::path(trainerBinary()).parent_path() / trainer::cudaModuleName);
        // CUDA's error comes first: where its half was built it can be loaded, with a GPU or without one.
        CHECK(ended.err.find(built ? "CUDA finds no GPU: " : "built without CUDA") != std::string::npos);
        CHECK(ended.sentences() == 2);
        CHECK(ended.err.find("this machine has no GPU that this build can use; use the device kind cpu") !=
              std::string::npos);
    }

    TEST_CASE("what GPUs want besides is reported whole, with what cuDNN loads by name at its first convolution") {
        const Ended ended = Process(trainerBinary(), {"--facts"}, {{"LOCKSTEP_FACTS", "cuda"}}).wait();
        REQUIRE(ended.code == 0);
        if (ended.out.find("libcudnn.so") == std::string::npos) {
            MESSAGE("skipped: built without CUDA, or this PyTorch has no cuDNN of its own");
            return;
        }
        for (const char *name :
             {"libcudnn_graph.so", "libcudnn_cnn.so", "libcudnn_ops.so", "libnvrtc.so", "libnvrtc-builtins.so"})
            CHECK(ended.out.find(name) != std::string::npos);
    }

    TEST_CASE("a GPU's phases, from events, add up to its epochs") {
        if (noGpu())
            return;
        for (const Options &options : {Options{}, Options{"--cuda-graph"}}) {
            Options longer = options;
            longer.emplace_back("--train-samples=12800"); // of epochs of some milliseconds 2 % are nothing
            for (const auto &epoch : bodiesOf<EpochFrame>(train(longer).frames, 0)) {
                double sum = 0;
                for (const char *name : {"load", "h2d", "forward", "backward", "optimizer", "other"})
                    sum += epoch.phases.at(name).sumS;
                MESSAGE("phases " << sum << " s of " << epoch.durationS << " s");
                CHECK(std::abs(sum - epoch.durationS) <= 0.02 * epoch.durationS);
            }
        }
    }

    TEST_CASE("launched as CUDA graphs, training walks the way it walks without them") {
        if (noGpu())
            return;
        for (const Options &options :
             {Options{}, Options{"--optimizer=adamw", "--lr=0.001"}, Options{"--model=convnet"},
              Options{"--loader=device"}, Options{"--loader=device", "--augment=affine"},
              Options{"--pin-memory", "--non-blocking", "--workers=1"}, Options{"--channels-last"},
              Options{"--precision=bf16"}}) {
            for (const auto &option : options)
                MESSAGE(option);
            Options graph = options;
            graph.emplace_back("--cuda-graph");
            const Ran eager = train(options), launched = train(graph);
            CHECK(launched.summary.cudaGraph);
            CHECK(!eager.summary.cudaGraph);
            const double difference = largestDifference(launched.losses, eager.losses);
            MESSAGE("largest difference of a step's loss: " << difference);
            CHECK(difference < (options == Options{"--precision=bf16"} ? 5e-2 : 1e-3));
        }
    }

    TEST_CASE("images moved on the GPU train as those that the host moved") {
        if (noGpu())
            return;
        const Options common{"--precision=fp64", "--augment=affine"};
        const auto with = [&](const char *loader) {
            Options options = common;
            options.emplace_back(loader);
            return train(options).losses;
        };
        // In fp64 the GPU's own rounding stays far below this; a pixel taken from elsewhere does not.
        CHECK(largestDifference(with("--loader=device"), with("--loader=batch")) < 1e-7);
    }

    TEST_CASE("a run with CUDA graphs that was stopped goes on where it was") {
        if (noGpu())
            return;
        const TempFolder folder;
        const Options options{"--device=cuda",        "--cuda-graph", "--model=convnet",
                              "--train-samples=1888", "--resume",     "--checkpoint-dir=" + (folder / "c")};
        const auto run = [&](int epochs, const std::string &name) {
            Options own = options;
            own.push_back("--epochs=" + std::to_string(epochs));
            own.push_back("--summary=" + (folder / name));
            const Ended ended = Process(trainerBinary(), withSmallRun(own)).wait();
            CAPTURE(ended.err);
            REQUIRE(ended.code == 0);
            return readSummary(folder / name);
        };
        (void)run(1, "first");
        CHECK(run(2, "second").epochs.size() == 2);
    }

    TEST_CASE("the way of the copies to a GPU is reported, and their time with it") {
        if (noGpu())
            return;
        const std::pair<Options, const char *> kinds[] = {{{}, "pageable, blocking"},
                                                          {{"--non-blocking"}, "pageable, non-blocking"},
                                                          {{"--pin-memory"}, "pinned, blocking"},
                                                          {{"--pin-memory", "--non-blocking"}, "pinned, non-blocking"}};
        std::vector<double> losses;
        for (const auto &[options, said] : kinds) {
            const Ran ran = train(options);
            CHECK(ran.summary.copies == said);
            CHECK(ran.summary.phasesS.at("h2d") > 0);
            if (losses.empty())
                losses = ran.losses;
            CHECK(largestDifference(ran.losses, losses) < 1e-3); // a copy that came late would train on other pixels
        }
        CHECK(train({"--loader=device"}).summary.copies.empty());
    }

    TEST_CASE("under NCCL each bucket has its times from the GPU's streams, and a place in the trace") {
        if (noGpu())
            return;
        const Ran ran = train({"--bucket-mb=0.05", "--trace=5"}, 1);
        CHECK(ran.summary.backend == "nccl");
        std::int64_t steps = 0;
        for (const auto &frame : bodiesOf<CommFrame>(ran.frames, 0)) {
            CHECK(frame.firstStep == steps);
            steps = frame.lastStep + 1;
            CHECK(frame.hiddenS.value() >= 0);
            CHECK(frame.exposedS.value() >= 0);
            CHECK(!frame.waitS);
            double before = 0;
            for (const auto &bucket : frame.buckets) {
                const double ready = bucket.readyS.value(), start = bucket.startS.value(), end = bucket.endS.value();
                CHECK(bucket.sizeBytes > 0);
                CHECK(ready > 0);
                CHECK(start >= ready);
                CHECK(end > start);
                CHECK(end > before);
                before = end;
            }
        }
        CHECK(steps == 60);
        CHECK(ran.summary.phasesS.at("comm") > 0);
    }

    TEST_CASE("two ranks on one GPU train over gloo as one rank does") {
        if (noGpu())
            return;
        const Ran two = train({"--backend=gloo", "--devices=0,0"}, 2), one = train({});
        CHECK(two.summary.worldSize == 2);
        CHECK(two.summary.backend == "gloo");
        CHECK(std::abs(two.summary.epochs.back().loss.value() - one.summary.epochs.back().loss.value()) < 0.02);
    }

    TEST_CASE("DP's persistent replicas on two GPUs step by clipped gradients, too") {
        if (trainer::visibleGpus().size() < 2) {
            MESSAGE("skipped: fewer than two GPUs here");
            return;
        }
        const Options dp{"--method=dp", "--devices=0,1", "--clip-grad-norm=0.05", "--precision=fp64"};
        Options persistent = dp;
        persistent.emplace_back("--dp-replicas=persistent");
        CHECK(largestDifference(train(persistent).losses, train(dp).losses) < 1e-7);
    }

    TEST_CASE("bf16 and channels-last reach nearly fp32's loss") {
        if (noGpu())
            return;
        const Ran plain = train({});
        for (const Options &options : {Options{"--precision=bf16"}, Options{"--channels-last"}})
            CHECK(std::abs(train(options).summary.epochs.back().loss.value() -
                           plain.summary.epochs.back().loss.value()) < 0.05);
    }
}
