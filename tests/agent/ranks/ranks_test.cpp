// SPDX-License-Identifier: MIT
// What becomes of ranks that die, hang, refuse to stop, or fail.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ipc/log.h"
#include "tests/agent/agent_process.h"
#include "tests/figure.h"

using namespace lockstep;
using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

namespace {

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

const ExitFrame *exitOf(const std::vector<Frame> &frames, int rank) {
    for (const Frame &frame : frames)
        if (frame.rank == rank)
            if (const auto *exit = std::get_if<ExitFrame>(&frame.body))
                return exit;
    return nullptr;
}

std::string hostOf(const std::vector<Frame> &frames) {
    return std::get<HeaderFrame>(frames.front().body).host;
}

} // namespace

TEST_CASE("a run whose ranks end well is done, with its summary and every rank's end") {
    const TestHome home;
    const ServedRun run = serve(2, {{"FAKE_RANK", "epochs=2;steps=5"}});
    const RunResult result = resultOf(run.folder);
    CHECK((result.state == RunState::Done));
    CHECK(result.exitCode == 0);
    REQUIRE(result.summary);
    CHECK(result.summary->method == "ddp");
    CHECK(result.summary->epochs.size() == 2);
    CHECK(result.ranks.size() == 2);
    CHECK(result.runTimeS > 0.1);
    const auto frames = framesOf(run.folder);
    CHECK(frames.size() == result.logLines);
    std::vector<RunState> said;
    for (const Frame &frame : frames)
        if (const auto *state = std::get_if<StateFrame>(&frame.body); state && !frame.rank)
            said.push_back(state->state);
    CHECK(said == std::vector{RunState::Init, RunState::Training, RunState::Done});
    CHECK(eventually([&] { return !isAlive(run.agent); }));
}

TEST_CASE("kill -9 of a rank names rank, host and signal, and its siblings go even if they ignore SIGTERM") {
    std::vector<double> named, gone;
    for (int repeat = 0; repeat < 5; ++repeat) {
        const TestHome home;
        const ServedRun run = serve(3, {{"FAKE_RANK", "epochs=1000;ignore_term"}});
        const auto pids = rankPids(run.folder, 3);
        const auto start = Steady::now();
        ::kill(pids.at(1), SIGKILL);
        std::vector<Frame> frames;
        REQUIRE(eventually([&] { return exitOf(frames = framesOf(run.folder), 1) != nullptr; }));
        named.push_back(secondsSince(start));
        REQUIRE(eventually([&] { return !isAlive(pids.at(0)) && !isAlive(pids.at(2)); }));
        gone.push_back(secondsSince(start));

        const ExitFrame *exit = exitOf(frames, 1);
        CHECK(exit->signal == SIGKILL);
        CHECK(exit->signalName == "SIGKILL");
        CHECK(exit->host == hostOf(frames));
        const std::string sentence = "rank 1 on " + hostOf(frames) + " was killed by SIGKILL";
        CHECK(exit->reason == sentence);
        const RunResult result = resultOf(run.folder);
        CHECK((result.state == RunState::Failed));
        CHECK(result.reason == sentence);
        CHECK(result.exitCode == 1);
        const auto alerts = bodiesOf<AlertFrame>(framesOf(run.folder));
        REQUIRE(!alerts.empty());
        CHECK(alerts.front().kind == "rank_died");
        CHECK(alerts.front().message == sentence);
    }
    lockstep::test::printFigureLine("a killed rank named", median(named), 0.5, "s");
    lockstep::test::printFigureLine("its siblings gone", median(gone), 5, "s");
}

TEST_CASE("kill -9 of the agent leaves no rank and no child of a rank, and the run reads 'failed: agent died'") {
    std::vector<double> gone, unwritten;
    for (int repeat = 0; repeat < 5; ++repeat) {
        const TestHome home;
        const ServedRun run = serve(2, {{"FAKE_RANK", "epochs=1000;ignore_term;child"}});
        const auto pids = rankPids(run.folder, 2);
        std::vector<pid_t> all = {pids.at(0), pids.at(1)};
        REQUIRE(eventually([&] {
            for (int rank = 0; rank < 2; ++rank)
                if (!contentsOf(run.folder.console(rank)).starts_with("child "))
                    return false;
            return true;
        }));
        for (int rank = 0; rank < 2; ++rank)
            all.push_back(std::stoi(contentsOf(run.folder.console(rank)).substr(6)));
        REQUIRE(eventually([&] { return !bodiesOf<StepsFrame>(framesOf(run.folder)).empty(); }));
        REQUIRE(std::all_of(all.begin(), all.end(), isAlive));
        CHECK(readRunStatus(run.folder).kind == RunStatus::Kind::Running);
        const auto start = Steady::now();
        const std::int64_t killedUs = SystemClock().wallUs();
        ::kill(run.agent, SIGKILL);
        REQUIRE(eventually([&] { return std::none_of(all.begin(), all.end(), isAlive); }));
        gone.push_back(secondsSince(start));
        // Ranks die with the agent's main thread. Its lock goes when its last thread has ended, which may be a moment later.
        CHECK(eventually([&] { return readRunStatus(run.folder).kind == RunStatus::Kind::AgentDied; }));
        CHECK(readRunStatus(run.folder).sentence == "failed: agent died");
        const auto frames = framesOf(run.folder); // the log is readable to its end
        CHECK(bodiesOf<StepsFrame>(frames).size() > 0);
        unwritten.push_back(std::max(0.0, static_cast<double>(killedUs - frames.back().wallUs) * 1e-6));
    }
    lockstep::test::printFigureLine("end of the log before kill -9 of the agent", median(unwritten), 1, "s");
    lockstep::test::printFigureLine("no rank left after kill -9 of the agent", median(gone), 2, "s");
}

namespace {
/// The children that the ranks have printed, once all have.
std::vector<pid_t> childrenSaid(const RunFolder &folder, int ranks) {
    std::vector<pid_t> children;
    REQUIRE(eventually([&] {
        children.clear();
        for (int rank = 0; rank < ranks; ++rank)
            if (const std::string said = contentsOf(folder.console(rank)); said.starts_with("child "))
                children.push_back(std::stoi(said.substr(6)));
        return static_cast<int>(children.size()) == ranks;
    }));
    return children;
}
} // namespace

TEST_CASE("kill -9 of the agent ends processes that left their rank's session, and its socket goes with it") {
    const TestHome home;
    const ServedRun run = serve(2, {{"FAKE_RANK", "epochs=1000;stray"}});
    const auto strays = childrenSaid(run.folder, 2);
    REQUIRE(std::all_of(strays.begin(), strays.end(), isAlive));
    CHECK(std::filesystem::exists(run.socket));
    ::kill(run.agent, SIGKILL);
    CHECK(eventually([&] { return std::none_of(strays.begin(), strays.end(), isAlive); }));
    CHECK(eventually([&] { return !std::filesystem::exists(run.socket); }));
    CHECK(eventually([&] { return readRunStatus(run.folder).kind == RunStatus::Kind::AgentDied; }));
}

TEST_CASE("without a control group, kill -9 of the agent ends them by their mark alone") {
    if (Child({"/usr/bin/unshare", "--mount", "/bin/true"}).wait() != 0) {
        MESSAGE("skipped: this user may not hide the file system of control groups");
        return;
    }
    const TestHome home;
    const ServedRun run =
        serve(2, {{"FAKE_RANK", "epochs=1000;stray"}}, 0,
              {"/usr/bin/unshare", "--mount", "/bin/sh", "-c", R"(umount -l -a -t cgroup2; exec "$0" "$@")"});
    CHECK(contentsOf("/proc/" + std::to_string(run.agent) + "/mounts").find(" cgroup2 ") == std::string::npos);
    const auto strays = childrenSaid(run.folder, 2);
    REQUIRE(std::all_of(strays.begin(), strays.end(), isAlive));
    ::kill(run.agent, SIGKILL);
    CHECK(eventually([&] { return std::none_of(strays.begin(), strays.end(), isAlive); }));
}

TEST_CASE("the end of a run ends processes that left their rank's session") {
    const TestHome home;
    const ServedRun run = serve(2, {{"FAKE_RANK", "epochs=1;stray"}});
    const auto strays = childrenSaid(run.folder, 2);
    CHECK((resultOf(run.folder).state == RunState::Done));
    CHECK(eventually([&] { return std::none_of(strays.begin(), strays.end(), isAlive); }));
}

TEST_CASE("a killed keeper is said and started again, and still keeps its promise") {
    const TestHome home;
    const ServedRun run = serve(2, {{"FAKE_RANK", "epochs=1000;stray;ignore_term"}});
    const auto strays = childrenSaid(run.folder, 2);
    const pid_t first = keeperOf(run.agent);
    REQUIRE(first > 0);
    ::kill(first, SIGKILL);
    CHECK(eventually([&] {
        const pid_t next = keeperOf(run.agent);
        return next > 0 && next != first;
    }));
    CHECK(eventually([&] {
        const auto alerts = bodiesOf<AlertFrame>(framesOf(run.folder));
        return std::any_of(alerts.begin(), alerts.end(), [](const AlertFrame &a) { return a.kind == "keeper_gone"; });
    }));
    ::kill(run.agent, SIGKILL);
    CHECK(eventually([&] { return std::none_of(strays.begin(), strays.end(), isAlive); }));
}

TEST_CASE("a rank that fails says why in the result, and exit code 2 is a bad argument in its own words") {
    struct Case {
        std::string what, behaviour;
        int code;
        std::string reason;
    };
    for (const Case &c :
         {Case{"failed", "complain=the data file is torn;exit_at=2;exit=1", 1,
               " exited with code 1: the data file is torn"},
          Case{"bad argument", "complain=batch size 63 can't be divided among 2 ranks; use 62 or 64", 2, {}},
          Case{"crash", "crash_at=3", 1, " was killed by SIGABRT"}}) {
        CAPTURE(c.what);
        const TestHome home;
        Child::Environment environment = {{"FAKE_RANK", "epochs=1000"}, {"FAKE_RANK_1", c.behaviour}};
        if (c.code == 2)
            environment = {{"FAKE_RANK", "complain=batch size 63 can't be divided;exit_at=0;exit=2"}};
        const ServedRun run = serve(2, environment);
        const RunResult result = resultOf(run.folder);
        CHECK((result.state == RunState::Failed));
        CHECK(result.exitCode == c.code);
        if (!c.reason.empty())
            CHECK(result.reason == "rank 1 on " + hostOf(framesOf(run.folder)) + c.reason);
        else
            CHECK(result.reason == "batch size 63 can't be divided");
    }
}

TEST_CASE("a stop ends the ranks after their step: stopped, 130") {
    const TestHome home;
    const ServedRun run = serve(2, {{"FAKE_RANK", "epochs=1000"}});
    (void)rankPids(run.folder, 2);
    Child stop({agentBinary(), "stop", run.runId, "--by", "the test"});
    CHECK(stop.wait() == 0);
    const RunResult result = resultOf(run.folder);
    CHECK((result.state == RunState::Stopped));
    CHECK(result.exitCode == 130);
    CHECK(result.reason == "stopped by the test");
    for (const RankExit &exit : result.ranks)
        CHECK(exit.code == 130);
    const auto logs = bodiesOf<LogFrame>(framesOf(run.folder));
    CHECK(std::any_of(logs.begin(), logs.end(),
                      [](const LogFrame &log) { return log.message == "stop asked by the test"; }));
}

TEST_CASE("a stop for an experiment ends only a run whose record names it") {
    const TestHome home;
    const std::string own = makeRunId(), other = makeRunId();
    LaunchRequest request = launchRequestFromJson(launchRequest(1)).value();
    request.record.experiment = own;
    const ServedRun run = serveRequest(toJson(request), {{"FAKE_RANK", "epochs=1000"}});
    (void)rankPids(run.folder, 1);
    const auto stopFor = [&](const std::string &experiment) {
        return Child({agentBinary(), "stop", run.runId, "--experiment", experiment});
    };
    Child refused = stopFor(other);
    CHECK(refused.errors() ==
          "run " + run.runId + " is none of this experiment's: its record names experiment " + own + "\n");
    CHECK(refused.wait() == 1);
    CHECK(isAlive(run.agent));
    CHECK(stopFor(own).wait() == 0);
    CHECK((resultOf(run.folder).state == RunState::Stopped));
    std::ofstream(run.folder.config()) << "{";
    Child unread = stopFor(own);
    CHECK(unread.errors().starts_with("which experiment run " + run.runId + " belongs to is not known"));
    CHECK(unread.wait() == 1);
}

TEST_CASE("a stop during the grace period after a failure keeps the ranks from being started again") {
    const TestHome home;
    const std::string id = makeRunId();
    Child run({agentBinary(), "run", "--nproc-per-node", "2", "--max-restarts", "3", "--run-id", id, "--", fakeRank()},
              {{"FAKE_RANK_0", "epochs=1000;exit_at=100;exit=3"}, {"FAKE_RANK_1", "epochs=1000;ignore_term"}});
    const RunFolder folder = runFolder(id);
    const auto alerts = [&](const std::string &kind) {
        const auto all = bodiesOf<AlertFrame>(framesOf(folder));
        return std::ranges::count(all, kind, &AlertFrame::kind);
    };
    REQUIRE(eventually([&] { return alerts("rank_failed") == 1; }));
    Child stop({agentBinary(), "stop", id});
    CHECK(run.wait() == 3);
    CHECK((resultOf(folder).state == RunState::Failed)); // before the stop
    CHECK(alerts("restart") == 0);
    (void)stop.wait();
}

TEST_CASE("ranks that hear no stop are killed after five seconds, with all they started") {
    const TestHome home;
    const ServedRun run = serve(2, {{"FAKE_RANK", "epochs=1000;ignore_term"}, {"FAKE_RANK_1", "child"}});
    const auto pids = rankPids(run.folder, 2);
    REQUIRE(eventually([&] { return contentsOf(run.folder.console(1)).starts_with("child "); }));
    const pid_t child = std::stoi(contentsOf(run.folder.console(1)).substr(6));
    const auto start = Steady::now();
    Child stop({agentBinary(), "stop", run.runId});
    const RunResult result = resultOf(run.folder);
    CHECK(secondsSince(start) > 4.5);
    lockstep::test::printFigure("ranks that ignore a stop killed", start, 8);
    CHECK((result.state == RunState::Stopped));
    CHECK(result.exitCode == 130);
    CHECK(eventually([&] { return !isAlive(child) && !isAlive(pids.at(0)); }));
    CHECK(stop.wait() == 0);
    const auto alerts = bodiesOf<AlertFrame>(framesOf(run.folder));
    CHECK(std::any_of(alerts.begin(), alerts.end(), [](const AlertFrame &alert) {
        return alert.kind == "stopped_by_kill" &&
               alert.message == "ranks 0, 1 were still running after the grace period and were killed";
    }));
}

TEST_CASE("a rank that only hears SIGTERM stops before it would be killed") {
    const TestHome home;
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1000;ignore_control"}});
    (void)rankPids(run.folder, 1);
    Child stop({agentBinary(), "stop", run.runId});
    const RunResult result = resultOf(run.folder);
    CHECK((result.state == RunState::Stopped));
    REQUIRE(result.ranks.size() == 1);
    CHECK(result.ranks[0].code == 130);
}

TEST_CASE("SIGTERM to the agent is a stop too") {
    const TestHome home;
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1000"}});
    (void)rankPids(run.folder, 1);
    ::kill(run.agent, SIGTERM);
    CHECK((resultOf(run.folder).state == RunState::Stopped));
}

TEST_CASE("a run whose folder is removed says so, ends its ranks, and puts nothing in its place") {
    std::vector<double> over;
    for (const char *what : {"the run's folder", "the whole home", "the folder, moved away"}) {
        CAPTURE(what);
        const TestHome home;
        const ServedRun run = serve(2, {{"FAKE_RANK", "epochs=1000;steps=100"}});
        const auto pids = rankPids(run.folder, 2);
        Child follower({agentBinary(), "attach", run.runId, "--from-seq", "0"});
        REQUIRE(follower.readLine());
        const auto removed = Steady::now();
        const std::string away = home.path() + "-away";
        if (std::string(what) == "the run's folder")
            std::filesystem::remove_all(run.folder.path);
        else
            std::filesystem::rename(std::string(what) == "the whole home" ? home.path() : run.folder.path, away);
        CHECK(eventually([&] { return !isAlive(pids.at(0)) && !isAlive(pids.at(1)); }));
        CHECK(eventually([&] { return !isAlive(run.agent); }));
        over.push_back(secondsSince(removed));
        CHECK(!std::filesystem::exists(run.folder.path)); // above all no result of a run that is nowhere
        const std::string all = follower.readAll();
        CHECK(all.find("\"run_folder_removed\"") != std::string::npos);
        CHECK(all.find("\"state\":\"failed\",\"detail\":\"the run's folder " + run.folder.path +
                       " was removed while it ran\"") != std::string::npos);
        std::filesystem::remove_all(away);
    }
    MESSAGE("folder removed to agent gone, median: ", median(over), " s (promised: said so)");
}
