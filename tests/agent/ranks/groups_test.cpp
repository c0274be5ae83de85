// SPDX-License-Identifier: MIT
// The processes of a rank: those behind a shell, those that leave their group, those of a run within a run.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/agent/agent_process.h"

using namespace lockstep;

namespace {

/// `run` of a shell that has started another one, which runs `script` with "$1" set.
std::vector<std::string> behindAShell(const std::string &script, const std::string &argument) {
    return {agentBinary(), "run",  "--",    "/bin/sh", "-c", R"("$0" -c "$1" inner "$2"; echo the shell goes on)",
            "/bin/sh",     script, argument};
}

/// Whether the one run's ranks were, after their grace period.
bool wasKilled(const TestHome &home) {
    const auto alerts = bodiesOf<AlertFrame>(framesOf(runFolder(home.runs().front())));
    return std::ranges::any_of(alerts, [](const AlertFrame &alert) { return alert.kind == "stopped_by_kill"; });
}

} // namespace

TEST_CASE("a stop gives what a rank's shell has started the time to end by itself") {
    const TestHome home;
    const std::string saved = home.path() + "/saved";
    Child agent(behindAShell(
        R"(trap 'sleep 0.5; echo all > "$1"; exit 0' TERM; echo ready; while :; do sleep 0.1; done)", saved));
    REQUIRE(agent.readLine() == "[rank 0] ready");
    agent.kill(SIGTERM);
    CHECK(agent.wait() == 130);
    CHECK(contentsOf(saved) == "all\n");
    CHECK_FALSE(wasKilled(home)); // nor had the grace period to pass
    CHECK((resultOf(runFolder(home.runs().front())).state == RunState::Stopped));
}

TEST_CASE("what a rank's shell has started, and hears no stop, is killed after the grace period") {
    const TestHome home;
    Child agent(behindAShell(R"(trap '' TERM; echo $$; while :; do sleep 0.1; done)", ""));
    const auto line = agent.readLine();
    REQUIRE(line);
    REQUIRE(line->starts_with("[rank 0] "));
    const pid_t inner = std::stoi(line->substr(9));
    agent.kill(SIGTERM);
    CHECK(agent.wait() == 130);
    CHECK(wasKilled(home));
    CHECK_FALSE(isAlive(inner));
}

TEST_CASE("a rank that has left its process group and hears no stop is killed all the same") {
    const TestHome home;
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1000;ignore_term;leave_group"}});
    const pid_t rank = rankPids(run.folder, 1).at(0);
    ::kill(run.agent, SIGTERM);
    CHECK((resultOf(run.folder).state == RunState::Stopped));
    CHECK_FALSE(isAlive(rank));
}

TEST_CASE("a rank that ends with a code for the SIGTERM that it was sent is not the cause of a failure") {
    const TestHome home;
    const std::string script =
        R"(if [ $RANK = 0 ]; then sleep 1; echo 'recv failed: Connection closed by peer' >&2; exit 1; fi
trap 'exit 143' TERM; while :; do echo step >&2; sleep 0.1; done)";
    Child agent({agentBinary(), "run", "--nproc-per-node", "2", "--", "/bin/sh", "-c", script});
    (void)agent.readAll();
    CHECK(agent.wait() == 1);
    CHECK(resultOf(runFolder(home.runs().front())).reason.starts_with("rank 0 on "));
}

TEST_CASE(
    "kill -9 of an agent ends a run that its rank has started, to its last process, with a control group or without") {
    const std::vector<std::string> inAny = {"/usr/bin/env"}, inNone = {"/usr/bin/unshare", "--mount", "/bin/sh", "-c",
                                                                       R"(umount -l -a -t cgroup2; exec "$0" "$@")"};
    for (std::vector<std::string> command : {inAny, inNone}) {
        CAPTURE(command.front());
        if (command == inNone && Child({"/usr/bin/unshare", "--mount", "/bin/true"}).wait() != 0) {
            MESSAGE("skipped: this user may not hide the file system of control groups");
            continue;
        }
        const TestHome home;
        const std::string id = makeRunId();
        command.insert(command.end(),
                       {agentBinary(), "run", "--", "/bin/sh", "-c",
                        R"(setsid "$0" run --run-id "$1" -- "$2" & sleep 600)", agentBinary(), id, fakeRank()});
        Child outer(command, {{"FAKE_RANK", "epochs=1000;stray"}});
        const RunFolder inner = runFolder(id);
        REQUIRE(eventually([&] { return contentsOf(inner.console(0)).starts_with("child "); }));
        const pid_t stray = std::stoi(contentsOf(inner.console(0)).substr(6));
        const auto socket = runSocketPath(id);
        REQUIRE(socket);
        CHECK(std::filesystem::exists(*socket));
        outer.kill(SIGKILL);
        CHECK(eventually([&] { return !isAlive(stray); }));
        CHECK(eventually([&] { return !std::filesystem::exists(*socket); }));
        if (isAlive(stray))
            ::kill(stray, SIGKILL);
    }
}
