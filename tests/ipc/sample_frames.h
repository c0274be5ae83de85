// SPDX-License-Identifier: MIT
#pragma once
#include <limits>
#include <vector>

#include "ipc/frames.h"

namespace lockstep::test {

/// One full frame of every type, and one with nothing but what it must have.
inline std::vector<Frame> sampleFrames() {
    std::vector<FrameBody> bodies;
    bodies.push_back(HeaderFrame{logFormat, "20260102T030405Z-89abcdef", "box"});
    StateFrame init;
    init.state = RunState::Init;
    init.detail = "joined \"the\" group\n";
    init.epoch = 1;
    init.pid = 4711;
    init.host = "box";
    init.device = "cpu:1";
    init.cores = "2-3";
    init.backend = "gloo";
    init.scheduling = "batch";
    init.version = "0.1.0";
    init.worldSize = 2;
    init.threads = 2;
    init.epochs = 10;
    init.totalSteps = 9380;
    init.stepsPerEpoch = 938;
    init.replicaBatch = {32, 31};
    init.countsAnew = true;
    init.leavesPausesOut = true;
    bodies.push_back(init);
    StateFrame done;
    done.state = RunState::Done;
    bodies.push_back(done);
    StepsFrame steps{3, 100, 112, 13, 832, LossWindow{2.1, 2.2, 2.3, 0.1 + 0.2}, {}};
    steps.phases["load"] = {0.01, 0.002};
    steps.phases["backward"] = {0.5, std::nullopt};
    steps.scalars["grad_norm"] = {16.9, 13, 1.1, 1.6, 1.2};
    steps.scalars["_of_A_script9"] = {-1e300, 0.25, -std::numeric_limits<double>::infinity(), 2, 0.1 + 0.2};
    bodies.push_back(steps);
    bodies.push_back(
        StepsFrame{1, 0, 0, 1, 64, std::nullopt, {}, {{"cpu:0", {{"parallel_forward", {0.5, 0.01}}}}, {"cpu:1", {}}}});
    EpochFrame epoch{2, 0.71, 4.125, 60000, 938, 123456789012345, {}, {}, {{"cpu:1", {{"optimizer", {0.25, {}}}}}}};
    epoch.phases["load"] = {1e-9, 1e-12};
    epoch.readyBatches = 4;
    epoch.before = MadeBefore{1.5, 20000, 312, {}};
    epoch.before->phases["load"] = {5e-10, {}};
    epoch.scalars["grad_norm"] = {1200.5, 938, 0.01, 9, 1.25};
    epoch.devices.push_back({"cpu:0", 0.97, 1.0, 2e9, 2.5e9});
    epoch.devices.push_back({"GPU-1", std::nullopt, std::nullopt, std::nullopt, std::nullopt});
    bodies.push_back(epoch);
    bodies.push_back(EvalFrame{2, 0.8812, 0.33, 10000, {0.8, 0.9, 1.0, 0.0}, 0.4});
    DeviceSample cpu{"cpu:0", "cpu", "Xeon", "0-1", 0.93, {}, 1e9, 2e9, {}, {}, {}, {}, {}};
    DeviceSample gpu{
        "GPU-1", "cuda", "H100", "", 1.0, 0.4, 1e10, 8e10, 350.5, 61.0, 1980.0, 5e6, {"power cap", "thermal"}};
    bodies.push_back(
        DeviceFrame{0.2, {cpu, gpu}, {{0, 12, 0.98, 1e8}}, ProcessSample{{}, 11, 0.01, 5e6}, {{{}, 99, 0.02, 7e7}}});
    bodies.push_back(DeviceFrame{0.2, {}, {}, {}, {}});
    bodies.push_back(
        CommFrame{1, 0, 12, 0.01, 0.02, 0.004, {{0, 246824, 13, 0.02, 0.021, 0.03}, {1, 4, 13, {}, {}, {}}}, {}});
    bodies.push_back(CommFrame{1, 0, 12, 0.01, 0.0, 0.004, {}, {3, 0, 9, 1}});
    bodies.push_back(LogFrame{"warning", "ein Ünïcode-Satz ✓ \x01\t", "trainer"});
    bodies.push_back(AlertFrame{"error", "rank_died", "rank 1 on box was killed by SIGKILL", 77});
    bodies.push_back(HeartbeatFrame{});
    bodies.push_back(HeartbeatFrame{RankPosition{40, "exposed", 1.25, 812, 811, 1.0}});
    bodies.push_back(ExitFrame{13, "box", std::nullopt, 9, "SIGKILL", "killed by SIGKILL"});
    bodies.push_back(ExitFrame{13, "box", 0, std::nullopt, "", ""});
    bodies.push_back(LinkFrame{1, "box2", "lost", "nothing was heard for 6 s", 4711, -0.002, 0.0003});
    bodies.push_back(LinkFrame{2, "", "up", "", {}, {}, {}});

    std::vector<Frame> frames;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
        Frame frame;
        if (i % 3 != 2) {
            frame.rank = static_cast<int>(i);
            frame.rseq = i * 1'000'000'007ull;
        }
        frame.monoNs = 1'234'567'890'123'456 + static_cast<std::int64_t>(i);
        frame.wallUs = 1'767'323'045'000'000;
        frame.body = bodies[i];
        frames.push_back(frame);
    }
    return frames;
}

} // namespace lockstep::test
