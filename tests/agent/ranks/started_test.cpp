// SPDX-License-Identifier: MIT
// What an agent has from the program that starts it: ignored signals, a limit of file sizes, no stdin, an odd home, a folder in
// which something lies already.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "ipc/socket_folder.h"
#include "tests/agent/agent_process.h"

using namespace lockstep;

namespace {

/// The one run of this home, once it has begun.
RunFolder runOf(const TestHome &home) {
    REQUIRE(eventually([&] { return !home.runs().empty(); }));
    return runFolder(home.runs().front());
}

/// The child that the rank has printed.
pid_t childSaid(const RunFolder &folder) {
    REQUIRE(eventually([&] { return contentsOf(folder.console(0)).starts_with("child "); }));
    return std::stoi(contentsOf(folder.console(0)).substr(6));
}

} // namespace

TEST_CASE("a run ends with its ranks even if the program that started the agent ignores SIGCHLD") {
    const TestHome home;
    Child agent({"/usr/bin/env", "--ignore-signal=CHLD", agentBinary(), "run", "--", "/bin/sh", "-c", "exit 3"});
    CHECK(agent.wait() == 3);
    CHECK(resultOf(runOf(home)).reason.find("exited with code 3") != std::string::npos);
}

TEST_CASE("a process that the agent's shell had started before it became the agent outlives the run and its restarts") {
    const TestHome home;
    const std::string pids = home.path() + "/pids", rank = home.path() + "/rank";
    std::ofstream(rank) << "[ -e " << rank << ".again ] || { : > " << rank << ".again; exit 1; }\n";
    Child agent({"/bin/sh", "-c", R"(sleep 600 </dev/null >/dev/null 2>&1 &
echo $! > "$1"
setsid sleep 600 </dev/null >/dev/null 2>&1 &
echo $! >> "$1"
exec "$0" run --max-restarts 1 -- /bin/sh "$2")",
                 agentBinary(), pids, rank});
    (void)agent.readAll();
    CHECK(agent.wait() == 0);
    std::ifstream file(pids);
    int count = 0;
    for (pid_t pid = 0; file >> pid; ++count) {
        CHECK(isAlive(pid));
        ::kill(pid, SIGKILL);
    }
    CHECK(count == 2);
}

TEST_CASE("an agent that was started to ignore SIGHUP or SIGINT goes on when it comes") {
    for (const auto &[name, signal] : {std::pair("HUP", SIGHUP), std::pair("INT", SIGINT)}) {
        CAPTURE(name);
        const std::string ignore = std::string("--ignore-signal=") + name;
        const TestHome home;
        Child agent({"/usr/bin/env", ignore, agentBinary(), "run", "--", fakeRank()}, {{"FAKE_RANK", "epochs=1000"}});
        const RunFolder folder = runOf(home);
        (void)rankPids(folder, 1);
        agent.kill(signal);
        agent.kill(SIGTERM); // of two that wait, the one with the lower number is read first
        CHECK(agent.wait() == 130);
        CHECK(resultOf(folder).reason == "stopped by SIGTERM");

        Child listener({"/usr/bin/env", ignore, agentBinary(), "listen"});
        REQUIRE(listener.readLine());
        listener.kill(signal);
        listener.kill(SIGTERM);
        CHECK(listener.wait() == 130);
        CHECK(listener.errors().find("before SIGTERM") != std::string::npos);
    }
}

TEST_CASE("a limit of file sizes is to an agent what a full disk is, and its ranks have it, too") {
    const TestHome home;
    Child agent({"/bin/sh", "-c", "ulimit -f 64; exec \"$0\" \"$@\"", agentBinary(), "run", "--", fakeRank()},
                {{"FAKE_RANK", "epochs=1;flood=2000"}});
    (void)agent.readAll();
    const int code = agent.wait();
    CHECK(code >= 0);
    CHECK(code != 128 + SIGXFSZ);
    const RunFolder folder = runOf(home);
    CHECK((resultOf(folder).state == RunState::Done));
    CHECK_FALSE(resultOf(folder).warnings.empty());
    Child limited({"/bin/sh", "-c", "ulimit -f 64; exec \"$0\" \"$@\"", agentBinary(), "run", "--", "/bin/sh", "-c",
                   "exec head -c 1000000 /dev/zero > " + home.path() + "/large"});
    CHECK(limited.wait() == 128 + SIGXFSZ);
}

TEST_CASE("kill -9 of an agent that was started without stdin and stdout leaves neither processes nor a socket") {
    const TestHome home;
    Child agent({"/bin/sh", "-c", "exec \"$0\" \"$@\" <&- >&-", agentBinary(), "run", "--", fakeRank()},
                {{"FAKE_RANK", "epochs=1000;stray"}});
    const RunFolder folder = runOf(home);
    const pid_t stray = childSaid(folder);
    const auto socket = runSocketPath(home.runs().front());
    REQUIRE(socket);
    CHECK(std::filesystem::exists(*socket));
    agent.kill(SIGKILL);
    CHECK(eventually([&] { return !isAlive(stray); }));
    CHECK(eventually([&] { return !std::filesystem::exists(*socket); }));
    if (isAlive(stray))
        ::kill(stray, SIGKILL);
}

namespace {

/// Sets LOCKSTEP_HOME while it lives, and removes the folder for sockets that belongs to it.
class OddHome {
public:
    explicit OddHome(const std::string &path) : m_before(environmentValue("LOCKSTEP_HOME")) {
        ::setenv("LOCKSTEP_HOME", path.c_str(), 1);
    }
    ~OddHome() {
        std::error_code ignored;
        if (const auto sockets = socketFolder())
            std::filesystem::remove_all(*sockets, ignored);
        ::setenv("LOCKSTEP_HOME", m_before.c_str(), 1);
    }
    OddHome(const OddHome &) = delete;
    OddHome &operator=(const OddHome &) = delete;

private:
    std::string m_before;
};

/// Starts an agent, kills it once its rank has said something, and waits until its keeper has done its work.
void startAndKill(const std::vector<std::string> &command) {
    Child agent(command, {{"FAKE_RANK", "epochs=1000;say=here"}});
    REQUIRE(agent.readLine() == "[rank 0] here");
    const pid_t keeper = keeperOf(agent.pid());
    REQUIRE(keeper > 0);
    agent.kill(SIGKILL);
    CHECK(eventually([&] { return !isAlive(keeper); }));
}

} // namespace

TEST_CASE("a home with a newline in its name costs no file of another name when the agent is killed") {
    const TestHome home;
    const std::string precious = home.path() + "/precious";
    std::ofstream(precious) << "kept\n";
    const OddHome odd(precious + "\n" + home.path() + "/home");
    std::filesystem::create_directories(environmentValue("LOCKSTEP_HOME"));
    startAndKill({agentBinary(), "run", "--", fakeRank()});
    CHECK(contentsOf(precious) == "kept\n");
}

TEST_CASE("the socket goes with a killed agent, also the one that it has made elsewhere when the folder for sockets "
          "had gone") {
    const std::string before = environmentValue("XDG_RUNTIME_DIR");
    ::unsetenv("XDG_RUNTIME_DIR"); // here; the agent has one of its own until it is removed
    {
        const TestHome home;
        const std::string runtime = home.path() + "/runtime";
        std::filesystem::create_directory(runtime);
        std::filesystem::permissions(runtime, std::filesystem::perms::owner_all);
        const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1000"}, {"XDG_RUNTIME_DIR", runtime}});
        CHECK(run.socket.starts_with(runtime));
        const auto elsewhere = runSocketPath(run.runId);
        REQUIRE(elsewhere);
        std::filesystem::remove_all(runtime);
        CHECK(eventually([&] { return std::filesystem::exists(*elsewhere); }));
        std::this_thread::sleep_for(std::chrono::milliseconds(100)); // it is bound first and told after that
        ::kill(run.agent, SIGKILL);
        CHECK(eventually([&] { return !std::filesystem::exists(*elsewhere); }));
    }
    if (!before.empty())
        ::setenv("XDG_RUNTIME_DIR", before.c_str(), 1);
}

TEST_CASE("a relative home doesn't make the keeper forget what it is there for") {
    const TestHome home;
    const OddHome whole(home.path() + "/home");
    const std::string id = makeRunId();
    const auto socket = runSocketPath(id);
    REQUIRE(socket);
    const OddHome relative("home");
    startAndKill({"/bin/sh", "-c", "cd " + home.path() + R"(; exec "$0" "$@")", agentBinary(), "run", "--run-id", id,
                  "--", fakeRank()});
    CHECK_FALSE(std::filesystem::exists(*socket));
}

TEST_CASE("a rank that leaves its folder has its agent's home, though that was given as a relative path") {
    const TestHome home;
    const OddHome whole(home.path() + "/home"), relative("home");
    Child agent({"/bin/sh", "-c", "cd " + home.path() + R"(; exec "$0" "$@")", agentBinary(), "run", "--", "/bin/sh",
                 "-c", R"(cd /; echo "$LOCKSTEP_HOME"; echo "$LOCKSTEP_TRACES")"});
    CHECK(agent.readLine() == "[rank 0] " + home.path() + "/home");
    CHECK(agent.readLine().value_or("").starts_with("[rank 0] " + home.path() + "/home/runs/"));
    CHECK(agent.wait() == 0);
}

namespace {

std::string makeRuntimeFolder(const TestHome &home) {
    std::string folder = home.path() + "/runtime";
    std::filesystem::create_directory(folder);
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
    return folder;
}

/// A run whose agent has this runtime folder; empty: none.
ServedRun serveIn(const std::string &runtime) {
    ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1000"}, {"XDG_RUNTIME_DIR", runtime}});
    (void)rankPids(run.folder, 1);
    CHECK(run.socket.starts_with(runtime.empty() ? "/tmp/lockstep-" + std::to_string(::geteuid()) : runtime));
    return run;
}

/// The same for who stops a run.
Child stopFrom(const std::string &runtime, const ServedRun &run) {
    return Child({agentBinary(), "stop", run.runId}, {{"XDG_RUNTIME_DIR", runtime}});
}

} // namespace

TEST_CASE("a stop reaches a run that was started without a runtime folder, also while another run's socket is in one") {
    const TestHome home;
    const std::string runtime = makeRuntimeFolder(home);
    const ServedRun outside = serveIn(""), inside = serveIn(runtime);
    Child stop = stopFrom(runtime, outside);
    CHECK_MESSAGE(stop.wait() == 0, stop.errors());
    CHECK((resultOf(outside.folder).state == RunState::Stopped));
    CHECK(stopFrom(runtime, inside).wait() == 0);
}

TEST_CASE("a stop that reaches no agent fails while the run goes on") {
    const TestHome home;
    const ServedRun run = serveIn(makeRuntimeFolder(home));
    Child stop = stopFrom("", run);
    CHECK(stop.wait() == 1);
    CHECK(stop.errors().find("was not asked to stop: it is running") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(run.folder.result()));
}

TEST_CASE("a link or a pipe in the place of an agent's log is neither written through nor waited for") {
    for (const bool link : {true, false}) {
        CAPTURE(link);
        const TestHome home;
        const std::string id = makeRunId(), victim = home.path() + "/victim.txt";
        const RunFolder folder = runFolder(id);
        std::ofstream(victim) << "mine\n";
        std::filesystem::create_directories(folder.path + "/console");
        if (link)
            std::filesystem::create_symlink(victim, folder.agentConsole());
        else
            REQUIRE(::mkfifo(folder.agentConsole().c_str(), 0600) == 0);
        Child agent({agentBinary(), "run", "--run-id", id, "--", "/bin/true"});
        CHECK(agent.wait() == 0);
        CHECK(agent.errors().find(folder.agentConsole()) != std::string::npos);
        CHECK(contentsOf(victim) == "mine\n");
    }
}

TEST_CASE("a summary that lay in the folder before the ranks started is not the run's") {
    const TestHome home;
    const RunFolder folder = runFolder(makeRunId());
    const std::string id = std::filesystem::path(folder.path).filename();
    std::filesystem::create_directories(folder.path);
    Summary planted;
    planted.method = "ddp";
    planted.testAccuracy = 0.999;
    std::ofstream(folder.summary()) << toJson(planted);
    CHECK(Child({agentBinary(), "run", "--run-id", id, "--", "/bin/true"}).wait() == 0);
    CHECK_FALSE(resultOf(folder).summary);

    const RunFolder own = runFolder(makeRunId()); // what a rank writes is
    const std::string ownId = std::filesystem::path(own.path).filename(), text = home.path() + "/summary";
    std::ofstream(text) << toJson(planted);
    CHECK(Child({agentBinary(), "run", "--run-id", ownId, "--", "/bin/cp", text, own.summary()}).wait() == 0);
    const auto summary = resultOf(own).summary;
    REQUIRE(summary);
    CHECK(summary->testAccuracy == 0.999);
}
