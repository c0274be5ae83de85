// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <ATen/Functions.h>
#include <torch/csrc/jit/api/module.h>

#include "ipc/alerts.h"
#include "ipc/phase_sums.h"
#include "tests/trainer/trainer_process.h"
#include "trainer/data/safetensors.h"

using namespace lockstep;
using namespace lockstep::trainer::test;

namespace {

std::int64_t lastStepOf(const std::vector<Frame> &frames, int rank) {
    std::int64_t last = -1;
    for (const auto &window : bodiesOf<StepsFrame>(frames, rank))
        last = std::max(last, window.lastStep);
    return last;
}

/// Parameters' checksum and epochs of a run that was interrupted twice and resumed, by `go(resume)`.
std::string shaOf(const std::string &summary) {
    return readSummary(summary).parametersSha256;
}

/// A file of LeNet's parameters, of which this one is NaN.
std::string lenetWithNaN(const TempFolder &folder, const std::string &parameter) {
    const std::string file = folder / "parameters";
    REQUIRE(Process(trainerBinary(), withSmallRun({"--save-final=" + file})).wait().code == 0);
    auto parameters = *trainer::readTensors(file);
    for (auto &[name, tensor] : parameters.tensors)
        if (name == parameter)
            tensor = at::full_like(tensor, std::nan(""));
    REQUIRE(trainer::writeTensors(file, parameters));
    return file;
}

/// A model whose gradients are 26 MB, more than a connection takes before it is read, and cheap to compute.
std::string modelOfLongMessages(const TempFolder &folder) {
    torch::jit::Module module("LongMessages");
    module.register_parameter("wide", torch::full({8192, 784}, 1e-3).requires_grad_(), false);
    module.register_parameter("narrow", torch::full({10, 8192}, 1e-3).requires_grad_(), false);
    module.define("def forward(self, x):\n    return x.flatten(1).matmul(self.wide.t()).matmul(self.narrow.t())\n");
    const std::string file = folder / "long.pt";
    module.save(file);
    writeFile(folder / "long.json", R"({"input": {"values": "pixels", "shape": [1, 28, 28]}, "classes": 10})");
    return file;
}

} // namespace

TEST_SUITE("engine_stop") {
    TEST_CASE("SIGTERM to one of two ranks ends both after the same step with 130 and a checkpoint") {
        for (const char *method : {"--method=ddp", "--method=ps-async", "--method=pipeline"}) {
            CAPTURE(method);
            const TempFolder folder;
            DdpRun run(2,
                       {method, "--epochs=1000", "--frames=" + (folder / "f"), "--checkpoint-dir=" + (folder / "c")});
            REQUIRE(appears(folder / "f", R"("type":"steps")"));
            run.rank(1).signal(SIGTERM);
            for (const Ended &ended : run.wait()) {
                CAPTURE(ended.err);
                CHECK(ended.code == 130);
            }
            const auto frames = readFrames(folder / "f");
            CHECK(lastStepOf(frames, 0) == lastStepOf(frames, 1));
            CHECK((bodiesOf<StateFrame>(frames, 0).back().state == RunState::Stopped));
            CHECK(!std::filesystem::is_empty(folder / "c"));
        }
    }

    TEST_CASE("the ranks of a server or a pipeline end when one of them is gone, be it the first or another") {
        for (const auto &[method, gone] : {std::pair{"--method=ps-sync", 0u}, std::pair{"--method=ps-sync", 1u},
                                           std::pair{"--method=ps-async", 0u}, std::pair{"--method=ps-async", 1u},
                                           std::pair{"--method=pipeline", 1u}, std::pair{"--method=pipeline", 2u}}) {
            CAPTURE(method);
            CAPTURE(gone);
            const TempFolder folder;
            std::vector<std::string> options{method, "--epochs=1000", "--batch-size=48", "--frames=" + (folder / "f")};
            if (options.front() == "--method=pipeline")
                options.push_back("--stage-layers=1,2,2"); // else rank 0 says how it was cut
            DdpRun run(3, options);
            REQUIRE(appears(folder / "f", R"("type":"steps")"));
            run.rank(gone).signal(SIGKILL);
            const auto all = run.wait();
            for (std::size_t rank = 0; rank < all.size(); ++rank) {
                if (rank == gone)
                    continue;
                CAPTURE(all[rank].err);
                CHECK(all[rank].code == 1);
                CHECK(all[rank].sentences() == 1);
            }
        }
    }

    TEST_CASE("a rank that has sent or received half of a message when the other is gone ends all the same") {
        const TempFolder folder;
        const std::string model = "--model=" + modelOfLongMessages(folder);
        struct Try {
            std::string frames;
            std::size_t gone;
            std::unique_ptr<DdpRun> run;
        };
        std::vector<Try> tries;
        for (const char *method : {"--method=ps-sync", "--method=ps-async"})
            for (const std::size_t gone : {0u, 1u}) {
                const std::string frames = folder / ("frames" + std::to_string(tries.size()));
                tries.push_back({frames, gone,
                                 std::make_unique<DdpRun>(2, std::vector<std::string>{method, model, "--epochs=1000",
                                                                                      "--batch-size=2", "--threads=1",
                                                                                      "--frames=" + frames})});
                REQUIRE(appears(frames, R"("type":"steps")"));
                tries.back().run->rank(gone).signal(
                    SIGKILL); // mostly in the middle of a message: a step is little else
            }
        for (Try &one : tries) {
            const Ended left = one.run->rank(1 - one.gone).wait();
            CAPTURE(left.err);
            CHECK(left.code == 1);
            CHECK(left.sentences() == 1);
        }
    }

    TEST_CASE("of an epoch in whose middle a run goes on, what was made before is told apart") {
        const TempFolder folder;
        const std::vector<std::string> options{"--train-samples=6400", "--batch-size=16", "--epochs=1",
                                               "--checkpoint-dir=" + (folder / "c")};
        auto stopped = options, resumed = options;
        stopped.push_back("--frames=" + (folder / "f"));
        resumed.insert(resumed.end(), {"--resume", "--frames=" + (folder / "g")});
        Process first(trainerBinary(), withSmallRun(stopped), {{"LOCKSTEP_TEST_DELAY", "0:forward:20"}});
        REQUIRE(appears(folder / "f", R"("type":"steps")"));
        first.signal(SIGTERM);
        REQUIRE(first.wait().code == 130);
        const std::int64_t made = lastStepOf(readFrames(folder / "f"), 0) + 1;
        REQUIRE(made < 400);
        const Ended on = Process(trainerBinary(), withSmallRun(resumed)).wait();
        CAPTURE(on.err);
        REQUIRE(on.code == 0);
        const auto frames = readFrames(folder / "g");
        EpochFrame epoch = bodiesOf<EpochFrame>(frames).at(0);
        REQUIRE(epoch.before);
        CHECK(epoch.before->steps == made);
        CHECK(epoch.before->samples == 16 * made);
        CHECK(epoch.steps == 400);
        PhaseTimes own;
        for (const StepsFrame &window : bodiesOf<StepsFrame>(frames))
            add(own, window.phases);
        for (const char *phase : {"forward", "backward"})
            CHECK(epoch.phases[phase].sumS - epoch.before->phases[phase].sumS ==
                  doctest::Approx(own[phase].sumS).epsilon(1e-6));
        CHECK(epoch.durationS - epoch.before->durationS >= additiveSum(own));
    }

    TEST_CASE("an epoch with whose last step a run is stopped is tested when it is resumed") {
        const TempFolder folder;
        const auto options = [&](const std::string &epochs, const std::string &frames) {
            return withSmallRun({"--train-samples=64", "--epochs=" + epochs, "--resume", "--frames=" + frames,
                                 "--checkpoint-dir=" + (folder / "c")});
        };
        const auto tested = [](const std::vector<Frame> &frames) {
            std::vector<int> epochs;
            for (const EvalFrame &frame : bodiesOf<EvalFrame>(frames))
                epochs.push_back(frame.epoch);
            return epochs;
        };
        Process run(trainerBinary(), options("1000", folder / "f"));
        REQUIRE(appears(folder / "f", R"("type":"eval")"));
        run.signal(SIGTERM);
        REQUIRE(run.wait().code == 130);
        const auto frames = readFrames(folder / "f");
        const int last = bodiesOf<EpochFrame>(frames).back().epoch;
        CHECK(tested(frames).back() == last - 1);
        const Ended resumed = Process(trainerBinary(), options(std::to_string(last + 1), folder / "g")).wait();
        CAPTURE(resumed.err);
        REQUIRE(resumed.code == 0);
        CHECK((tested(readFrames(folder / "g")) == std::vector<int>{last, last + 1}));
        const Ended again = Process(trainerBinary(), options(std::to_string(last + 2), folder / "h")).wait();
        CAPTURE(again.err);
        REQUIRE(again.code == 0);
        CHECK((tested(readFrames(folder / "h")) == std::vector<int>{last + 2}));
    }

    TEST_CASE("the first tensor that is not finite is named only where it is known, by ranks that count the samples") {
        struct Way {
            std::vector<std::string> options;
            const char *parameter, *found;
        };
        const std::vector<std::string> pipeline{"--method=pipeline", "--stage-layers=2,3"};
        for (const Way &way :
             {Way{pipeline, "conv2.weight",
                  "(the first tensor that is not finite: the parameter weight of layer conv2)"},
              Way{pipeline, "fc3.weight", "(the first tensor that is not finite: one of a later stage)"},
              Way{{"--method=ps-async", "--max-staleness=0"},
                  "fc3.weight",
                  "(not finite afterwards: the parameter weight of layer conv1)"}}) {
            CAPTURE(way.found);
            const TempFolder folder;
            std::vector<std::string> options = way.options;
            options.insert(options.end(),
                           {"--init=" + lenetWithNaN(folder, way.parameter), "--frames=" + (folder / "f")});
            for (const Ended &ended : DdpRun(2, options).wait()) {
                CAPTURE(ended.err);
                CHECK(ended.code == 1);
                CHECK(ended.err.find("is NaN since step 0 " + std::string(way.found)) != std::string::npos);
            }
            const auto frames = readFrames(folder / "f");
            const bool isPipeline = way.options == pipeline;
            for (const int rank : {0, 1})
                CHECK(std::ranges::count(bodiesOf<AlertFrame>(frames, rank), nonFiniteLoss.row().kind,
                                         &AlertFrame::kind) == (rank == 1 && isPipeline ? 0 : 1));
        }
    }

    TEST_CASE("a burst of signals is one wish: the checkpoint is still written") {
        const TempFolder folder;
        DdpRun run(1, {"--epochs=1000", "--frames=" + (folder / "f"), "--checkpoint-dir=" + (folder / "c")});
        REQUIRE(appears(folder / "f", R"("type":"steps")"));
        for (int i = 0; i < 3; ++i)
            run.rank(0).signal(SIGTERM);
        for (const Ended &ended : run.wait())
            CHECK(ended.code == 130);
        REQUIRE(std::filesystem::exists(folder / "c"));
        CHECK(!std::filesystem::is_empty(folder / "c"));
    }

    TEST_CASE("a run stopped in the middle of an epoch and resumed ends bit for bit as an unbroken one") {
        for (const int ranks : {1, 2}) {
            CAPTURE(ranks);
            const TempFolder folder;
            const std::vector<std::string> options{"--epochs=3", "--train-samples=6400", "--optimizer=adam",
                                                   "--lr=0.001"};
            const auto go = [&](std::vector<std::string> more, bool stop) {
                more.insert(more.end(), options.begin(), options.end());
                DdpRun run(ranks, more);
                if (stop) {
                    REQUIRE(appears(folder / "f", R"("type":"steps")"));
                    run.rank(0).signal(SIGTERM);
                }
                for (const Ended &ended : run.wait()) {
                    CAPTURE(ended.err);
                    CHECK(ended.code == (stop ? 130 : 0));
                }
            };
            go({"--summary=" + (folder / "whole")}, false);
            go({"--frames=" + (folder / "f"), "--checkpoint-dir=" + (folder / "c")}, true);
            go({"--resume", "--checkpoint-dir=" + (folder / "c"), "--summary=" + (folder / "resumed")}, false);
            CHECK(!shaOf(folder / "whole").empty());
            CHECK(shaOf(folder / "resumed") == shaOf(folder / "whole"));
            const Summary whole = readSummary(folder / "whole"), resumed = readSummary(folder / "resumed");
            REQUIRE(resumed.epochs.size() == 3);
            CHECK(resumed.steps == whole.steps);
            for (std::size_t i = 0; i < 3; ++i) {
                CHECK(*resumed.epochs[i].loss == doctest::Approx(*whole.epochs[i].loss).epsilon(1e-12));
                CHECK(resumed.epochs[i].samples == 6400);
            }
        }
    }

    TEST_CASE("a damaged checkpoint is named and the one before it taken") {
        const TempFolder folder;
        const std::string checkpoints = folder / "c";
        Process first(trainerBinary(), withSmallRun({"--epochs=3", "--checkpoint-dir=" + checkpoints}));
        REQUIRE(first.wait().code == 0);
        std::vector<std::string> files;
        for (const auto &entry : std::filesystem::directory_iterator(checkpoints))
            files.push_back(entry.path().string());
        REQUIRE(files.size() == 2); // the newest two are kept
        std::sort(files.begin(), files.end());
        std::filesystem::resize_file(files.back(), 1000);
        Process second(trainerBinary(), withSmallRun({"--epochs=3", "--resume", "--checkpoint-dir=" + checkpoints,
                                                      "--summary=" + (folder / "s")}));
        const Ended ended = second.wait();
        CAPTURE(ended.err);
        CHECK(ended.code == 0);
        CHECK(ended.err.find(files.back()) != std::string::npos);
        CHECK(readSummary(folder / "s").epochs.size() == 3);
    }

    TEST_CASE("a run does not go on with another learning rate") {
        const TempFolder folder;
        const std::string checkpoints = "--checkpoint-dir=" + (folder / "c");
        Process first(trainerBinary(), withSmallRun({checkpoints}));
        REQUIRE(first.wait().code == 0);
        Process second(trainerBinary(), withSmallRun({checkpoints, "--resume", "--lr=0.5"}));
        const Ended ended = second.wait();
        CHECK(ended.code == 2);
        CHECK(ended.err.find("--lr") != std::string::npos);
    }
}
