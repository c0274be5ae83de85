// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include <torch/torch.h>

#include "ipc/alerts.h"
#include "tests/figure.h"
#include "tests/trainer/peers.h"
#include "trainer/data/data_set.h"
#include "trainer/data/loader.h"
#include "trainer/data/safetensors.h"
#include "trainer/engine/divergence.h"
#include "trainer/models/model.h"

using namespace lockstep;
using namespace lockstep::trainer::test;

namespace {

void checkNumbering(const std::vector<Frame> &frames, int rank) {
    std::uint64_t expected = 0;
    std::int64_t before = 0;
    for (const Frame &frame : frames) {
        if (frame.rank != rank)
            continue;
        REQUIRE(frame.rseq.has_value());
        CHECK(*frame.rseq == expected++);
        CHECK(frame.monoNs >= before);
        before = frame.monoNs;
    }
    CHECK(expected > 0);
}

void checkPhasesAddUp(const EpochFrame &epoch) {
    double sum = 0;
    for (const auto name : additivePhases())
        if (const auto found = epoch.phases.find(name); found != epoch.phases.end())
            sum += found->second.sumS;
    CHECK(sum == doctest::Approx(epoch.durationS).epsilon(0.02));
    for (const char *name : {"load", "forward", "backward", "optimizer", "other"}) {
        CAPTURE(name);
        CHECK(epoch.phases.count(name) == 1);
    }
}

/// The mean loss of an epoch's samples in windows of a step each, without those whose loss is not finite.
double finiteLoss(const std::vector<Frame> &frames, int epoch) {
    double sum = 0, samples = 0;
    for (const auto &window : bodiesOf<StepsFrame>(frames)) {
        REQUIRE(window.count == 1);
        if (window.epoch != epoch || !std::isfinite(window.loss->mean))
            continue;
        sum += window.loss->mean * static_cast<double>(window.samples);
        samples += static_cast<double>(window.samples);
    }
    return sum / samples;
}

int countOfAlerts(const std::vector<Frame> &frames, std::string_view kind) {
    const auto alerts = bodiesOf<AlertFrame>(frames);
    return static_cast<int>(std::ranges::count(alerts, kind, &AlertFrame::kind));
}

/// What a window's stamps leave over, of its time; the median of a rank's windows, so that one disturbed by other work says little.
double medianShareOfOther(const std::vector<Frame> &frames, int rank) {
    std::vector<double> shares;
    for (const auto &window : bodiesOf<StepsFrame>(frames, rank)) {
        double sum = 0;
        for (const auto name : additivePhases())
            if (const auto found = window.phases.find(name); found != window.phases.end())
                sum += found->second.sumS;
        shares.push_back(window.phases.find("other")->second.sumS / sum);
    }
    REQUIRE(shares.size() >= 5);
    std::ranges::nth_element(shares, shares.begin() + std::ptrdiff_t(shares.size() / 2));
    return shares[shares.size() / 2];
}

/// Besides those that every method may report.
std::set<std::string> phasesBesidesCommon(const EpochFrame &epoch) {
    const std::set<std::string_view> common{phase::load,     phase::h2d,       phase::forward,
                                            phase::backward, phase::optimizer, phase::other};
    std::set<std::string> own;
    for (const auto &[name, time] : epoch.phases)
        if (!common.contains(name))
            own.insert(name);
    return own;
}

std::set<std::string> phasesInTable(const std::string &method) {
    std::set<std::string> names;
    for (const std::string_view name : findMethod(method)->phases)
        if (!name.empty())
            names.emplace(name);
    return names;
}

} // namespace

TEST_SUITE("engine_run") {
    TEST_CASE("a baseline run reports every step, epoch and test, in gapless frames") {
        const TempFolder folder;
        Process run(trainerBinary(),
                    withSmallRun({"--epochs=2", "--frames=" + (folder / "f"), "--summary=" + (folder / "s"),
                                  "--data-dir="})); // the whole data set
        const Ended ended = run.wait();
        CAPTURE(ended.err);
        REQUIRE(ended.code == 0);
        const auto frames = readFrames(folder / "f");
        checkNumbering(frames, 0);
        std::int64_t next = 0, samples = 0;
        for (const auto &window : bodiesOf<StepsFrame>(frames)) {
            CHECK(window.firstStep == next);
            CHECK(window.count == window.lastStep - window.firstStep + 1);
            REQUIRE(window.loss);
            CHECK(window.loss->min <= window.loss->mean);
            CHECK(window.loss->mean <= window.loss->max);
            next = window.lastStep + 1;
            samples += window.samples;
        }
        CHECK(next == 20);
        CHECK(samples == 1280);
        const auto epochs = bodiesOf<EpochFrame>(frames);
        REQUIRE(epochs.size() == 2);
        for (const auto &epoch : epochs) {
            checkPhasesAddUp(epoch);
            CHECK(!epoch.readyBatches); // no workers, no ring
        }
        CHECK(*epochs[1].loss < *epochs[0].loss);
        const auto tests = bodiesOf<EvalFrame>(frames);
        REQUIRE(tests.size() == 2);
        CHECK(tests[0].samples == 10000);
        CHECK(tests[0].perClassAccuracy.size() == 10);
        const auto states = bodiesOf<StateFrame>(frames);
        CHECK((states.front().state == RunState::Init));
        CHECK(states.front().totalSteps == 20);
        CHECK((states.back().state == RunState::Done));

        const Summary summary = readSummary(folder / "s");
        CHECK(summary.steps == 20);
        CHECK(summary.epochs.size() == 2);
        CHECK(summary.testAccuracy == tests[1].accuracy);
        CHECK(summary.parametersSha256.size() == 64);
        CHECK(*summary.runTimeS > *summary.totalTrainingTimeS);
        CHECK(*summary.peakRssBytes > 5e7);
    }

    TEST_CASE("what loading workers had ready as an epoch began is reported: evaluation hides their work") {
        const TempFolder folder;
        const Ended ended =
            Process(trainerBinary(), withSmallRun({"--epochs=2", "--workers=1", "--frames=" + (folder / "f")})).wait();
        CAPTURE(ended.err);
        REQUIRE(ended.code == 0);
        const auto epochs = bodiesOf<EpochFrame>(readFrames(folder / "f"));
        REQUIRE(epochs.size() == 2);
        CHECK(epochs[0].readyBatches.value() == 0); // the worker did not know of it
        CHECK(epochs[1].readyBatches.value() == 2); // the whole ring
    }

    TEST_CASE("a run whose parameters can't be saved fails with that sentence, and has its summary") {
        const TempFolder folder;
        const auto runLimited = [](std::vector<std::string> options) {
            std::vector<std::string> words = {"-c", "ulimit -f 100; exec \"$@\"", "sh", trainerBinary()};
            for (const std::string &argument : withSmallRun(std::move(options)))
                words.push_back(argument);
            return Process("/bin/sh", words).wait(); // a file's limit, as a disk that is nearly full
        };
        const Ended run = runLimited({"--summary=" + (folder / "s"), "--save-final=" + (folder / "w")});
        CAPTURE(run.err);
        CHECK(run.code == 1);
        CHECK(run.err.find("can't write " + (folder / "w") + ": File too large") != std::string::npos);
        CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1); // the summary
        const Summary summary = readSummary(folder / "s");
        CHECK(summary.epochs.size() == 1);
        CHECK(summary.testAccuracy.has_value());
        const Ended saving = runLimited({"--checkpoint-dir=" + (folder / "c")});
        CAPTURE(saving.err);
        CHECK(saving.code == 1);
        CHECK(saving.err.find("can't write " + (folder / "c/checkpoint-")) != std::string::npos);
        CHECK(std::filesystem::is_empty(folder / "c"));
    }

    TEST_CASE("two DDP ranks end with the same parameters, count each image once and see the same loss") {
        const TempFolder folder;
        DdpRun run(2, {"--train-samples=650", "--frames=" + (folder / "f"), "--summary=" + (folder / "s"),
                       "--save-final=" + (folder / "w")});
        for (const Ended &ended : run.wait()) {
            CAPTURE(ended.err);
            REQUIRE(ended.code == 0);
        }
        const auto frames = readFrames(folder / "f");
        checkNumbering(frames, 0);
        checkNumbering(frames, 1);
        const auto first = bodiesOf<EpochFrame>(frames, 0), second = bodiesOf<EpochFrame>(frames, 1);
        REQUIRE(first.size() == 1);
        REQUIRE(second.size() == 1);
        CHECK(first[0].samples + second[0].samples == 650);
        CHECK(first[0].loss == second[0].loss);
        checkPhasesAddUp(first[0]);
        checkPhasesAddUp(second[0]);
        for (const char *name : {"exposed", "comm", "wait"})
            CHECK(first[0].phases.count(name) == 1);
        CHECK(bodiesOf<EvalFrame>(frames).size() == 1); // rank 0's, of the whole test set
        CHECK(bodiesOf<EvalFrame>(frames)[0].samples == 301);
        const auto comm = bodiesOf<CommFrame>(frames, 1);
        REQUIRE(!comm.empty());
        CHECK(!comm[0].buckets.empty());
        CHECK(comm[0].waitS.has_value());
        const Summary summary = readSummary(folder / "s");
        CHECK(summary.devices == std::vector<std::string>{"cpu:0", "cpu:1"});
        CHECK(summary.backend == "gloo");
        CHECK(summary.epochs.at(0).samples == 650);
        const ScalarWindow own = first[0].scalars.at("grad_norm"), other = second[0].scalars.at("grad_norm");
        CHECK((own == other)); // of the gradient that both use
        CHECK(own.weight == static_cast<double>(first[0].steps));
        CHECK(own.min > 0);
        CHECK(own.max >= own.last);
        CHECK(summary.metrics.at("grad_norm") == own.mean());
        CHECK(summary.metrics.at("lr") == summary.lr);
        CHECK(first[0].scalars.at("lr").min == *summary.lr);
        Scalars windows;
        for (const auto &window : bodiesOf<StepsFrame>(frames, 0))
            merge(windows, window.scalars);
        CHECK(windows.at("grad_norm").weight == own.weight);
        CHECK(windows.at("grad_norm").mean() == doctest::Approx(own.mean()));
    }

    TEST_CASE("three ranks count each test image once, and more ranks than samples train each sample once") {
        const SmallData data(650); // tested on 301 images: 101, 100 and 100
        for (const int samples : {650, 2}) {
            CAPTURE(samples);
            const TempFolder folder;
            DdpRun run(3,
                       {data.option(), "--precision=fp64", "--batch-size=48",
                        "--train-samples=" + std::to_string(samples), "--frames=" + (folder / "f"),
                        "--summary=" + (folder / "s"), "--save-final=" + (folder / "w")},
                       {{"LOCKSTEP_STEP_WINDOW_MS", "0"}});
            for (const Ended &ended : run.wait()) {
                CAPTURE(ended.err);
                REQUIRE(ended.code == 0);
            }
            const auto frames = readFrames(folder / "f");
            std::int64_t trained = 0;
            for (const auto &epoch : bodiesOf<EpochFrame>(frames))
                trained += epoch.samples;
            CHECK(trained == samples);
            for (const auto &window : bodiesOf<StepsFrame>(frames))
                CHECK(window.loss.has_value() == (window.samples > 0)); // a padded duplicate has no loss to report
            // The same count by one pass over the test images with the saved weights.
            auto model = *trainer::makeModel("lenet", {});
            model->to(torch::kFloat64);
            const auto weights = *trainer::readTensors(folder / "w");
            const torch::NoGradGuard noGrad;
            for (const auto &item : model->named_parameters())
                for (const auto &[name, value] : weights.tensors)
                    if (name == item.key())
                        item.value().copy_(value);
            const auto test = *trainer::loadDataSet("fashion-mnist", "", trainer::Split::Test, 301);
            const auto right =
                model->forward(trainer::normalize(test.inputs, test.spec, torch::kFloat64)).argmax(1) == test.targets;
            const Summary summary = readSummary(folder / "s");
            CHECK(bodiesOf<EvalFrame>(frames).at(0).samples == 301);
            CHECK(*summary.testAccuracy == doctest::Approx(right.sum().item<double>() / 301).epsilon(1e-12));
            for (int c = 0; c < 10; ++c) {
                const auto own = test.targets == c;
                CHECK(summary.perClassAccuracy.at(static_cast<std::size_t>(c)) ==
                      doctest::Approx((right & own).sum().item<double>() / own.sum().item<double>()).epsilon(1e-12));
            }
        }
    }

    TEST_CASE("DP cuts each batch among its devices and says how") {
        const TempFolder folder;
        Process run(trainerBinary(), withSmallRun({"--method=dp", "--devices=0,1", "--train-samples=650",
                                                   "--frames=" + (folder / "f"), "--summary=" + (folder / "s")}));
        const Ended ended = run.wait();
        CAPTURE(ended.err);
        REQUIRE(ended.code == 0);
        const auto frames = readFrames(folder / "f");
        CHECK(bodiesOf<StateFrame>(frames).front().replicaBatch == std::vector<std::int64_t>{32, 32});
        CHECK(readSummary(folder / "s").replicaBatch == std::vector<std::int64_t>{32, 32});
        const auto epochs = bodiesOf<EpochFrame>(frames);
        REQUIRE(epochs.size() == 1);
        CHECK(epochs[0].samples == 650);
        checkPhasesAddUp(epochs[0]);
        for (const char *name :
             {"scatter", "replicate", "parallel_forward", "gather", "loss", "parallel_backward", "reduce"})
            CHECK(epochs[0].phases.count(name) == 1);
    }

    TEST_CASE("little of a step is in no phase, whatever the method") {
        constexpr double promised = 0.02, forgottenPhase = 0.1; // a busy machine takes its share between phases, too
        struct Way {
            const char *title;
            int ranks;
            std::vector<std::string> options;
        };
        const std::vector<Way> ways = {{"baseline", 1, {"--method=baseline"}},
                                       {"affine on the training thread", 1, {"--method=baseline", "--augment=affine"}},
                                       {"a loading worker", 1, {"--method=baseline", "--workers=1"}},
                                       {"DP", 1, {"--method=dp", "--devices=0,1"}},
                                       {"DDP", 2, {"--method=ddp"}},
                                       {"server", 2, {"--method=ps-sync"}},
                                       {"asynchronous server", 2, {"--method=ps-async"}},
                                       {"ring", 2, {"--method=ddp", "--all-reduce=ring"}},
                                       {"pipeline", 2, {"--method=pipeline"}}};
        for (const Way &way : ways) {
            const TempFolder folder;
            std::vector<std::string> options = way.options;
            options.insert(options.end(), {"--train-samples=12800", "--frames=" + (folder / "f")});
            CAPTURE(way.title);
            const std::vector<Ended> all =
                way.ranks > 1 ? DdpRun(way.ranks, options).wait()
                              : std::vector<Ended>{Process(trainerBinary(), withSmallRun(options)).wait()};
            for (const Ended &ended : all) {
                CAPTURE(ended.err);
                REQUIRE(ended.code == 0);
            }
            const auto frames = readFrames(folder / "f");
            for (int rank = 0; rank < way.ranks; ++rank) {
                const double share = medianShareOfOther(frames, rank);
                lockstep::test::printShare(std::string("time of a step in no phase, ") + way.title + ", rank " +
                                               std::to_string(rank),
                                           share, promised);
                CHECK(share <= forgottenPhase);
                CHECK(phasesBesidesCommon(bodiesOf<EpochFrame>(frames, rank).front()) ==
                      phasesInTable(way.options.front().substr(9)));
            }
        }
    }

    TEST_CASE("parameters that are not finite never take a good checkpoint's place") {
        const TempFolder folder;
        const std::string checkpoints = "--checkpoint-dir=" + (folder / "c");
        const auto files = [&] {
            std::map<std::string, std::string> all;
            for (const auto &entry : std::filesystem::directory_iterator(folder / "c"))
                all[entry.path().filename().string()] = readFile(entry.path().string());
            return all;
        };
        Process good(trainerBinary(), withSmallRun({checkpoints}));
        REQUIRE(good.wait().code == 0);
        const auto before = files();
        REQUIRE(before.size() == 1);
        Process bad(trainerBinary(), withSmallRun({"--epochs=3", "--lr=100000", "--on-nonfinite=continue", checkpoints,
                                                   "--frames=" + (folder / "f")}));
        REQUIRE(bad.wait().code == 0);
        CHECK((files() == before));
        int skipped = 0;
        for (const AlertFrame &alert : bodiesOf<AlertFrame>(readFrames(folder / "f")))
            if (alert.kind == "checkpoint_skipped") {
                ++skipped;
                CHECK(alert.message.find("weight is not finite; the last good checkpoint is kept") !=
                      std::string::npos);
            }
        CHECK(skipped == 3);
    }

    TEST_CASE("a diverging run raises an alert, and goes on if it is told so") {
        const TempFolder folder;
        Process run(trainerBinary(),
                    withSmallRun({"--lr=100000", "--on-nonfinite=continue", "--frames=" + (folder / "f")}));
        REQUIRE(run.wait().code == 0);
        const auto alerts = bodiesOf<AlertFrame>(readFrames(folder / "f"));
        REQUIRE(alerts.size() == 1);
        CHECK(alerts[0].kind == "non_finite_loss");
        CHECK(alerts[0].step.has_value());
        CHECK(alerts[0].message.find("training goes on") != std::string::npos);
    }

    TEST_CASE("a run whose loss is no longer finite stops, and says rank, step, tensor and the last good checkpoint") {
        const TempFolder folder;
        const std::vector<std::string> options = {"--epochs=3", "--checkpoint-dir=" + (folder / "c")};
        const Ended alone = Process(trainerBinary(), withSmallRun(options), {{"LOCKSTEP_TEST_NAN", "0:15"}}).wait();
        CHECK(alone.code == 1);
        CAPTURE(alone.err);
        CHECK(
            alone.err.find("training stopped because the loss of rank 0 is NaN since step 15 (the first tensor that is "
                           "not finite: the input); the last good checkpoint is " +
                           (folder / "c") + "/checkpoint-000000000010.safetensors") != std::string::npos);
        const TempFolder others;
        const auto ranks =
            DdpRun(2, {"--epochs=3", "--checkpoint-dir=" + (others / "c")}, {{"LOCKSTEP_TEST_NAN", "1:15"}}).wait();
        for (const Ended &rank : ranks) { // all know whose it was
            CAPTURE(rank.err);
            CHECK(rank.code == 1);
            CHECK(rank.err.find("the loss of rank 1 is NaN since step 15") != std::string::npos);
        }
    }

    TEST_CASE("parameters that overflow are named by their layer") {
        const TempFolder folder;
        const Ended run = Process(trainerBinary(), withSmallRun({"--lr=100000"})).wait();
        CAPTURE(run.err);
        CHECK(run.code == 1);
        CHECK(run.err.find("of layer ") != std::string::npos);
    }

    TEST_CASE("with rollback training goes on from the last good checkpoint, without the batches since") {
        struct Way {
            const char *title;
            int ranks;
            const char *poison; ///< rank and step of ten an epoch
            std::vector<std::string> options;
        };
        for (const Way &way :
             {Way{"baseline", 1, "0:15", {"--method=baseline", "--momentum=0.9"}},
              Way{"DP that keeps its replicas",
                  1,
                  "0:15",
                  {"--method=dp", "--devices=0,1", "--dp-replicas=persistent"}},
              Way{"DDP", 2, "1:15", {"--method=ddp", "--optimizer=adam", "--lr=0.001"}},
              Way{"DDP, in an epoch's last step but one", 2, "1:18", {"--method=ddp"}},
              Way{"asynchronous server", 2, "1:13", {"--method=ps-async", "--optimizer=adam", "--lr=0.001"}},
              Way{"pipeline", 2, "0:15", {"--method=pipeline", "--momentum=0.9"}}}) {
            CAPTURE(way.title);
            const TempFolder folder;
            std::vector<std::string> options = way.options;
            options.insert(options.end(), {"--epochs=3", "--on-nonfinite=rollback",
                                           "--checkpoint-dir=" + (folder / "c"), "--frames=" + (folder / "f")});
            const Environment poison = {{"LOCKSTEP_TEST_NAN", way.poison}};
            const std::vector<Ended> all =
                way.ranks > 1 ? DdpRun(way.ranks, options, poison).wait()
                              : std::vector<Ended>{Process(trainerBinary(), withSmallRun(options), poison).wait()};
            for (const Ended &ended : all) {
                CAPTURE(ended.err);
                CHECK(ended.code == 0);
            }
            int rollbacks = 0;
            for (const AlertFrame &alert : bodiesOf<AlertFrame>(readFrames(folder / "f"))) {
                CHECK(alert.kind != "checkpoint_skipped");
                CHECK(alert.kind != "ranks_differ");
                rollbacks += alert.kind == "rollback" ? 1 : 0;
            }
            CHECK(rollbacks == 1);
            CHECK(std::filesystem::exists(folder / "c/checkpoint-000000000030.safetensors")); // good to its end
        }
    }

    TEST_CASE("all ranks begin an epoch when rank 0 has written the checkpoint before it") {
        const TempFolder folder;
        for (const Ended &ended :
             DdpRun(2, {"--model=convnet", "--optimizer=adam", "--lr=0.001", "--epochs=4", "--train-samples=64",
                        "--frames=" + (folder / "f"), "--checkpoint-dir=" + (folder / "c")})
                 .wait()) {
            CAPTURE(ended.err);
            REQUIRE(ended.code == 0);
        }
        const auto frames = readFrames(folder / "f");
        const auto first = bodiesOf<EpochFrame>(frames, 0), second = bodiesOf<EpochFrame>(frames, 1);
        std::vector<std::int64_t> savedFrom;
        for (const Frame &frame : frames)
            if (const auto *state = std::get_if<StateFrame>(&frame.body);
                state && frame.rank == 0 && state->state == RunState::Checkpointing)
                savedFrom.push_back(frame.monoNs);
        REQUIRE(first.size() == 4);
        REQUIRE(second.size() == 4);
        REQUIRE(savedFrom.size() == 4);
        bool together = false; // in one of them at least: a rank may be waked late
        for (std::size_t epoch = 1; epoch < 4; ++epoch)
            together = together || 2 * std::abs(first[epoch].startMonoNs - second[epoch].startMonoNs) <
                                       first[epoch].startMonoNs - savedFrom[epoch - 1];
        CHECK(together);
    }

    TEST_CASE("each rollback follows an alert, and the epoch's loss is that of its steps whose loss is finite") {
        struct Way {
            const char *title;
            int ranks;
            std::vector<std::string> options;
        };
        for (const Way &way : {Way{"baseline", 1, {"--method=baseline"}}, Way{"DDP", 2, {"--method=ddp"}}}) {
            CAPTURE(way.title);
            const TempFolder folder;
            std::vector<std::string> options = way.options;
            options.insert(options.end(),
                           {"--epochs=2", "--on-nonfinite=rollback", "--checkpoint-dir=" + (folder / "c"),
                            "--frames=" + (folder / "f"), "--summary=" + (folder / "s")});
            // Training goes back after step 16 because of step 15, then after 18 because of 17; 19 is good.
            const Environment poison = {{"LOCKSTEP_TEST_NAN", "0:15:3"}, {"LOCKSTEP_STEP_WINDOW_MS", "0"}};
            const std::vector<Ended> all =
                way.ranks > 1 ? DdpRun(way.ranks, options, poison).wait()
                              : std::vector<Ended>{Process(trainerBinary(), withSmallRun(options), poison).wait()};
            for (const Ended &ended : all) {
                CAPTURE(ended.err);
                REQUIRE(ended.code == 0);
            }
            const auto frames = readFrames(folder / "f");
            CHECK(countOfAlerts(frames, "rollback") == 2);
            CHECK(countOfAlerts(frames, nonFiniteLoss.row().kind) == 2 * way.ranks);
            const auto epochs = readSummary(folder / "s").epochs;
            REQUIRE(epochs.size() == 2);
            REQUIRE(epochs[1].loss);
            CHECK(*epochs[1].loss == doctest::Approx(finiteLoss(frames, 2)).epsilon(1e-5));
            CHECK(epochs[1].samples == 640);
        }
    }

    TEST_CASE("an epoch that is stopped and resumed after a rollback has the loss of its finite steps") {
        const SmallData data(6000);
        const TempFolder folder;
        const auto start = [&](const std::string &frames, Environment more) { // 125 steps an epoch
            more.insert({{"LOCKSTEP_TEST_NAN", "0:130"}, {"LOCKSTEP_STEP_WINDOW_MS", "0"}});
            return std::make_unique<Process>(
                trainerBinary(),
                withSmallRun({data.option(), "--method=baseline", "--train-samples=6000", "--batch-size=48",
                              "--epochs=3", "--on-nonfinite=rollback", "--checkpoint-dir=" + (folder / "c"), "--resume",
                              "--frames=" + frames}),
                more);
        };
        const auto first = start(folder / "f1", {{"LOCKSTEP_TEST_DELAY", "0:forward:20"}}); // time to stop it
        REQUIRE(appears(folder / "f1", "\"first_step\":135,"));
        first->signal(SIGTERM);
        REQUIRE(first->wait().code == 130);
        REQUIRE(bodiesOf<EpochFrame>(readFrames(folder / "f1")).size() == 1); // amid the second
        REQUIRE(start(folder / "f2", {})->wait().code == 0);
        auto frames = readFrames(folder / "f1");
        CHECK(countOfAlerts(frames, "rollback") == 1);
        const auto resumed = readFrames(folder / "f2");
        frames.insert(frames.end(), resumed.begin(), resumed.end());
        const auto epochs = bodiesOf<EpochFrame>(frames);
        REQUIRE(epochs.size() == 3);
        REQUIRE(epochs[1].loss);
        CHECK(*epochs[1].loss == doctest::Approx(finiteLoss(frames, 2)).epsilon(1e-5));
    }

    TEST_CASE("when training goes on, each stretch of losses that are not finite is reported with its own first step") {
        const TempFolder folder;
        const SystemClock clock;
        auto sender = trainer::FrameSender::open(folder / "f", 0, clock, {});
        REQUIRE(sender.has_value());
        trainer::Session session;
        session.config.onNonfinite = "continue";
        session.frames = sender->get();
        session.model = *trainer::makeModel("lenet", {});
        trainer::NamedTensors parameters;
        for (const auto &item : session.model->named_parameters())
            parameters.emplace_back(item.key(), item.value());
        session.optimizer = std::make_unique<trainer::Optimizer>(parameters, trainer::OptimizerOptions());
        trainer::DivergenceWatch watch(session);
        for (const std::int64_t step : {5, 9}) // as the recorder says of a GPU's
            watch.onNonFinite(step, std::nan(""));
        (*sender)->finish(std::chrono::seconds(20));
        const auto alerts = bodiesOf<AlertFrame>(readFrames(folder / "f"));
        REQUIRE(alerts.size() == 2);
        CHECK(alerts[0].message.find("is NaN since step 5 ") != std::string::npos);
        CHECK(alerts[1].message.find("is NaN since step 9 ") != std::string::npos);
    }

    TEST_CASE("rollback without a checkpoint yet stops") {
        const TempFolder folder;
        const Ended run =
            Process(trainerBinary(), withSmallRun({"--on-nonfinite=rollback", "--checkpoint-dir=" + (folder / "c")}),
                    {{"LOCKSTEP_TEST_NAN", "0:3"}})
                .wait();
        CHECK(run.code == 1);
        CHECK(run.err.find("there is no checkpoint yet to go back to") != std::string::npos);
    }

    TEST_CASE("a new training keeps its own checkpoints where another's are, and moves those aside") {
        const TempFolder folder;
        const std::string checkpoints = "--checkpoint-dir=" + (folder / "c");
        REQUIRE(Process(trainerBinary(), withSmallRun({"--epochs=3", checkpoints})).wait().code == 0);
        REQUIRE(Process(trainerBinary(), withSmallRun({"--epochs=1", "--seed=2", checkpoints})).wait().code == 0);
        CHECK(std::filesystem::exists(folder / "c/checkpoint-000000000010.safetensors"));
        CHECK_FALSE(std::filesystem::exists(folder / "c/checkpoint-000000000030.safetensors"));
        CHECK(std::filesystem::exists(folder / "c/earlier-1/checkpoint-000000000030.safetensors"));
        const Ended on =
            Process(trainerBinary(), withSmallRun({"--epochs=2", "--seed=2", "--resume", checkpoints})).wait();
        CAPTURE(on.err);
        CHECK(on.code == 0);
        CHECK(std::filesystem::exists(folder / "c/checkpoint-000000000020.safetensors"));
        CHECK(std::filesystem::exists(folder / "c/checkpoint-000000000010.safetensors"));
    }
}
