// SPDX-License-Identifier: MIT
// What ranks send and say: checked, sealed, completed with what only the agent measures; the bad put aside.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "ipc/clock.h"
#include "ipc/file_system.h"
#include "ipc/log.h"
#include "tests/agent/agent_process.h"
#include "trainer/agent/log/frame_intake.h"
#include "trainer/agent/log/run_journal.h"

using namespace lockstep;
using namespace std::chrono_literals;

namespace {
std::vector<AlertFrame> alertsOf(const std::vector<Frame> &frames, const std::string &kind) {
    std::vector<AlertFrame> alerts = bodiesOf<AlertFrame>(frames);
    std::erase_if(alerts, [&](const AlertFrame &alert) { return alert.kind != kind; });
    return alerts;
}
} // namespace

namespace {
/// More cores than a rank that only waits uses, and less than one that spins gets on a machine with ten others that do.
constexpr double busyShare = 0.05;
} // namespace

TEST_CASE("an epoch frame carries the mean and largest use of every device of the run in that epoch") {
    const TestHome home;
    const ServedRun run = serve(2, {{"FAKE_RANK", "epochs=2;steps=45;step_ms=20;burn"}});
    (void)resultOf(run.folder);
    const auto frames = framesOf(run.folder);
    const auto epochs = bodiesOf<EpochFrame>(frames);
    REQUIRE(epochs.size() == 4);
    int memoryKnown = 0;
    for (const EpochFrame &epoch : epochs) {
        REQUIRE(epoch.devices.size() == 2);
        CHECK(epoch.devices[0].device == "cpu:0");
        CHECK(epoch.devices[1].device == "cpu:1");
        for (const DeviceEpochUse &use : epoch.devices) {
            REQUIRE(use.utilizationMean);
            REQUIRE(use.utilizationMax);
            CHECK(*use.utilizationMean > busyShare); // it spins
            CHECK(*use.utilizationMax <= 1.0);
            CHECK(*use.utilizationMax >= *use.utilizationMean - 1e-9);
            if (!use.memoryMaxBytes)
                continue; // on a busy machine a rank can end before the agent samples it a second time
            CHECK(*use.memoryMaxBytes > 1e6);
            ++memoryKnown;
        }
    }
    CHECK(memoryKnown > 0);
}

TEST_CASE("devices are sampled about five times a second, ranks and the agent with them") {
    const TestHome home;
    const ServedRun run = serve(2, {{"FAKE_RANK", "epochs=1;steps=130;step_ms=20;burn"}});
    const RunResult result = resultOf(run.folder);
    const auto samples = bodiesOf<DeviceFrame>(framesOf(run.folder));
    CHECK(static_cast<double>(samples.size()) > 1.0 * result.runTimeS);
    CHECK(static_cast<double>(samples.size()) < 7.0 * result.runTimeS);
    // On a busy machine a core may be another program's at any one moment, and a sample may come before a rank has one.
    const auto most = [&](auto figure) { return figure(*std::ranges::max_element(samples, {}, figure)); };
    CHECK(most([](const DeviceFrame &sample) {
              return sample.devices.empty() ? 0 : sample.devices[0].utilization.value_or(0);
          }) > busyShare);
    CHECK(most([](const DeviceFrame &sample) {
              return sample.processes.empty() ? 0 : sample.processes[0].cpuCores.value_or(0);
          }) > busyShare);
    const DeviceFrame &middle = samples[samples.size() / 2];
    REQUIRE(middle.devices.size() == 2);
    CHECK(middle.devices[0].kind == "cpu");
    CHECK(middle.devices[0].cores == "0");
    const auto both = std::ranges::find(samples, 2u, [](const DeviceFrame &sample) { return sample.processes.size(); });
    REQUIRE(both != samples.end());
    CHECK(both->processes[0].rank == 0);
    REQUIRE(middle.agent);
    CHECK(middle.agent->pid == run.agent);
    CHECK(middle.agent->cpuCores.value_or(1) < 0.2);
    CHECK(bodiesOf<HeartbeatFrame>(framesOf(run.folder)).size() >= 2);
}

TEST_CASE("a rank's figures are those of the process that reports as it, not of the shell that started it") {
    const TestHome home;
    Child agent({agentBinary(), "run", "--", "/bin/sh", "-c", "\"$0\"; true", fakeRank()},
                {{"FAKE_RANK", "epochs=1;steps=130;step_ms=20"}});
    CHECK(agent.wait() == 0);
    const RunFolder folder = runFolder(home.runs().at(0));
    const pid_t rank = rankPids(folder, 1).at(0);
    const auto samples = bodiesOf<DeviceFrame>(framesOf(folder));
    const auto isOf = [](const ProcessSample &sample, pid_t pid) { return sample.pid == pid; };
    const auto first = std::ranges::find_if(samples, [&](const DeviceFrame &sample) {
        return std::ranges::any_of(sample.processes, [&](const auto &one) { return isOf(one, rank); });
    });
    REQUIRE(first != samples.end());
    CHECK(std::all_of(first, samples.end(), [&](const DeviceFrame &sample) { // before it said hello nobody knew better
        return std::ranges::all_of(sample.processes, [&](const auto &one) { return isOf(one, rank); });
    }));
}

TEST_CASE("malformed frames are counted and put aside with one alert; the connection and the other rank go on") {
    const TestHome home;
    const ServedRun run = serve(2, {{"FAKE_RANK", "epochs=1;steps=20"}, {"FAKE_RANK_1", "malformed=500"}});
    CHECK((resultOf(run.folder).state == RunState::Done));
    const auto frames = framesOf(run.folder);
    CHECK(bodiesOf<StepsFrame>(frames).size() == 2 * 20);
    const auto alerts = alertsOf(frames, "malformed_frame");
    REQUIRE(alerts.size() == 1);
    CHECK(alerts[0].message.starts_with("rank 1 sent a malformed frame ("));
    const std::string bad = contentsOf(run.folder.path + "/console/rank-1.bad");
    CHECK(std::count(bad.begin(), bad.end(), '\n') == 500);
    CHECK_FALSE(std::filesystem::exists(run.folder.path + "/console/rank-0.bad"));
}

TEST_CASE("quarantine is bounded") {
    const TestHome home;
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1;malformed=60000"}});
    CHECK((resultOf(run.folder).state == RunState::Done));
    CHECK(std::filesystem::file_size(run.folder.path + "/console/rank-0.bad") <= 1 << 20);
}

TEST_CASE("quarantine is bounded over all ranks, and an alert says which rank's lines are no longer kept") {
    const TestHome home;
    const SystemClock clock;
    const RunFolder folder{home.path() + "/run"};
    std::filesystem::create_directories(folder.path + "/console");
    constexpr int ranks = 70, linesOfEach = 17; // 68 MiB
    const std::string line(60'000, 'x');
    {
        auto journal = agent::RunJournal::open(realFileSystem(), clock, folder.log(0), 0, makeRunId(), "host");
        REQUIRE(journal);
        agent::FrameIntake intake(clock, **journal, folder, {}, {});
        for (int i = 0; i < ranks * linesOfEach; ++i)
            intake.takeLine(i / linesOfEach, line);
        CHECK(intake.malformedLines() == ranks * linesOfEach);
    } // waits for the disk
    std::uintmax_t bytes = 0;
    for (const auto &file : std::filesystem::directory_iterator(folder.path + "/console"))
        bytes += file.file_size();
    CHECK(bytes <= 64u << 20);
    CHECK(bytes > 63u << 20);
    const auto alerts = alertsOf(framesOf(folder), "malformed_frame");
    REQUIRE(alerts.size() >= ranks);
    CHECK(alerts.front().message.ends_with("), kept in console/rank-0.bad"));
    CHECK(alerts.back().message.ends_with(
        "), not kept: there are 1 MiB of such lines of this rank, or 64 MiB of all ranks"));
}

TEST_CASE("a line without end closes the rank's connection, not the rank") {
    const TestHome home;
    const ServedRun run = serve(2, {{"FAKE_RANK", "epochs=1;steps=20"}, {"FAKE_RANK_1", "huge"}});
    CHECK((resultOf(run.folder).state == RunState::Done));
    const auto frames = framesOf(run.folder);
    CHECK(bodiesOf<StepsFrame>(frames).size() == 20); // rank 0's
    CHECK(alertsOf(frames, "rank_cut").size() == 1);
}

TEST_CASE("a gap in a rank's numbers is said once, a frame with another rank's number is refused") {
    const TestHome home;
    const ServedRun run = serve(2, {{"FAKE_RANK", "epochs=1"}, {"FAKE_RANK_0", "gap"}, {"FAKE_RANK_1", "wrong_rank"}});
    CHECK((resultOf(run.folder).state == RunState::Done));
    const auto frames = framesOf(run.folder);
    const auto gaps = alertsOf(frames, "frames_lost");
    REQUIRE(gaps.size() == 1);
    CHECK(gaps[0].message == "rank 0 lost 1 frames on the way, rseq 2 to 2");
    const auto wrong = alertsOf(frames, "malformed_frame");
    REQUIRE(wrong.size() == 1);
    CHECK(wrong[0].message.find("rank 4711 in a frame of rank 1") != std::string::npos);
}

TEST_CASE(
    "a process that takes a rank's place counts from 0, though it has or says the same number as the one before") {
    struct Case {
        std::string what, behaviour, script;
    };
    for (const Case &c : {Case{"a script that executes itself", "again;", R"(exec "$0")"},
                          Case{"two containers", "", R"(unshare -pf "$0"; unshare -pf "$0")"}}) {
        if (c.behaviour.empty() && Child({"/usr/bin/unshare", "-pf", "/bin/true"}).wait() != 0) {
            MESSAGE("skipped: this user may not number processes anew");
            continue;
        }
        CAPTURE(c.what);
        const TestHome home;
        Child agent({agentBinary(), "run", "--", "/bin/sh", "-c", c.script, fakeRank()},
                    {{"FAKE_RANK", c.behaviour + "epochs=1;steps=10"}});
        CHECK(agent.wait() == 0);
        const auto frames = framesOf(runFolder(home.runs().front()));
        CHECK(bodiesOf<StepsFrame>(frames).size() == 2 * 10);
        CHECK(alertsOf(frames, "frames_lost").empty());
    }
}

TEST_CASE("ranks that never say hello, or never connect, are run all the same") {
    const TestHome home;
    for (const char *behaviour : {"no_hello;epochs=1", "no_connect;epochs=1"}) {
        const ServedRun run = serve(2, {{"FAKE_RANK", behaviour}});
        CHECK((resultOf(run.folder).state == RunState::Done));
    }
}

TEST_CASE("a rank's console is kept as it is, and its lines become log frames") {
    const TestHome home;
    const std::string odd = "caf\xC3\xA9 \xFF \x1b[31mred\x1b[0m";
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1;complain=careful;say=" + odd}});
    (void)resultOf(run.folder);
    const std::string console = contentsOf(run.folder.console(0));
    CHECK(console.find(odd + "\n") != std::string::npos);
    CHECK(console.find("careful\n") != std::string::npos);
    CHECK(console.find("info: fake rank 0 is ready\n") != std::string::npos); // the trainer's own log frame
    const auto logs = bodiesOf<LogFrame>(framesOf(run.folder));
    const auto has = [&](const char *level, const char *source, const std::string &message) {
        return std::find(logs.begin(), logs.end(), LogFrame{level, message, source}) != logs.end();
    };
    CHECK(has("info", "console", "caf\xC3\xA9 \xEF\xBF\xBD red"));
    CHECK(has("warning", "console", "careful"));
    CHECK(has("info", "trainer", "fake rank 0 is ready"));
}

TEST_CASE("a console in full flood is kept whole in its file and thinned in the log, with what is left out counted") {
    const TestHome home;
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1;print=100000"}});
    (void)resultOf(run.folder);
    const std::string console = contentsOf(run.folder.console(0));
    CHECK(std::count(console.begin(), console.end(), '\n') >= 100'000);
    auto logs = bodiesOf<LogFrame>(framesOf(run.folder));
    std::erase_if(logs, [](const LogFrame &log) { return log.source != "console"; });
    CHECK(logs.size() < 2000);
    long reported = 0, shown = 0;
    for (const LogFrame &log : logs)
        if (const auto at = log.message.find(" lines more in console/rank-0.log"); at != std::string::npos)
            reported += std::stol(log.message);
        else
            ++shown;
    CHECK(reported + shown == 100'000);
}

TEST_CASE("the log a run leaves is whole: every line sealed, no gap") {
    const TestHome home;
    const ServedRun run = serve(2, {{"FAKE_RANK", "epochs=2;flood=2000;malformed=3"}});
    const RunResult result = resultOf(run.folder);
    std::uint64_t lines = 0;
    const auto report = readLog(run.folder.log(0), 0, [&](std::string_view) { ++lines; });
    REQUIRE(report);
    CHECK(report->gaps.empty());
    CHECK(report->damagedLines == 0);
    CHECK_FALSE(report->tornTail);
    CHECK(lines == result.logLines);
}
