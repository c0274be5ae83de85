// SPDX-License-Identifier: MIT
// What is refused before anything starts, and what `run` hands to its ranks.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "ipc/command_template.h"
#include "ipc/log.h"
#include "tests/agent/agent_process.h"

using namespace lockstep;
using namespace std::chrono_literals;

namespace {

/// A TCP port of 127.0.0.1 that this process holds.
class HeldPort {
public:
    HeldPort() : m_fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        REQUIRE(::bind(m_fd.get(), reinterpret_cast<sockaddr *>(&address), length) == 0);
        REQUIRE(::listen(m_fd.get(), 1) == 0);
        ::getsockname(m_fd.get(), reinterpret_cast<sockaddr *>(&address), &length);
        m_port = ntohs(address.sin_port);
    }
    [[nodiscard]] int port() const { return m_port; }

private:
    Fd m_fd;
    int m_port = 0;
};

struct Outcome {
    int code;
    std::string out, errors;
};
Outcome outcomeOf(Child child) {
    Outcome outcome{};
    child.closeInput();
    outcome.out = child.readAll();
    outcome.errors = child.errors();
    outcome.code = child.wait();
    return outcome;
}
Outcome serveOutcome(const std::string &request) {
    Child child({agentBinary(), "serve"});
    child.write(request + "\n");
    return outcomeOf(std::move(child));
}
Outcome runOutcome(std::vector<std::string> arguments, const Child::Environment &environment = {}) {
    arguments.insert(arguments.begin(), {agentBinary(), "run"});
    return outcomeOf(Child(arguments, environment));
}

long lineCount(const std::string &text) {
    return std::count(text.begin(), text.end(), '\n');
}

} // namespace

TEST_CASE("a launch that can't be is one sentence, exit 2, and leaves nothing") {
    struct Case {
        std::string what, request, sentence;
    };
    const std::string good = launchRequest(1);
    for (const Case &c :
         {Case{"no JSON", "hello", "launch request"}, Case{"nothing", "", "there is no launch request on stdin"},
          Case{"indivisible",
               R"({"record":{"config":{"method":"ddp","devices":["0","1"],"batch_size":63,"oversubscribe":true}}})",
               "63"},
          Case{"too many devices", R"({"record":{"config":{"method":"baseline","devices":["4000"]}}})", "4000"},
          Case{"no such interface", R"({"record":{"config":{"method":"baseline","interface":"nope0"}}})", "nope0"},
          Case{"no such model", R"({"record":{"config":{"method":"baseline","model":"/nowhere/net.pt"}}})",
               "can't read /nowhere/net.pt: No such file or directory; give the path"},
          Case{"no config", R"({"record":{}})", "no config"}}) {
        CAPTURE(c.what);
        const TestHome home;
        const Outcome outcome = serveOutcome(c.request);
        CHECK(outcome.code == 2);
        CHECK(outcome.errors.find(c.sentence) != std::string::npos);
        CHECK(lineCount(outcome.errors) == 1);
        CHECK(outcome.out.starts_with("{\"type\":\"error\",\"message\":"));
        CHECK(outcome.out.find("\"exit_code\":2") != std::string::npos);
        CHECK(home.runs().empty());
    }
}

TEST_CASE("a command of more words than a run's record keeps is refused before anything starts") {
    const TestHome home;
    std::vector<std::string> command(mostCommandWords + 1, "x");
    command.front() = "/bin/true";
    command.insert(command.begin(), "--");
    const Outcome outcome = runOutcome(command);
    CHECK(outcome.code == 2);
    CHECK(outcome.errors.find("the command has 65,537 words; a run's has 65,536 at most") != std::string::npos);
    CHECK(home.runs().empty());
}

TEST_CASE("a trainer that is missing or can't be run is one sentence, and no run is left") {
    const TestHome home;
    for (const std::string &trainer : {std::string("/nowhere/lockstep-trainer"), home.path() + "/not-a-program"}) {
        if (trainer.starts_with(home.path())) { // passes for a program until the kernel is asked
            Child({"/bin/sh", "-c", "printf '\\177ELFjunk' > " + trainer + "; chmod +x " + trainer}).wait();
        }
        Child child({agentBinary(), "serve"}, {{"LOCKSTEP_TRAINER", trainer}});
        child.write(launchRequest(1) + "\n");
        const Outcome outcome = outcomeOf(std::move(child));
        CHECK(outcome.code == 2);
        CHECK(outcome.errors.find(trainer) != std::string::npos);
        CHECK(lineCount(outcome.errors) == 1);
        CHECK(home.runs().empty());
    }
}

TEST_CASE("of requests with one run id at the same moment one wins, and the others say who has it") {
    const TestHome home;
    const std::string id = makeRunId();
    std::vector<Child> agents;
    for (int i = 0; i < 6; ++i)
        agents.emplace_back(std::vector{agentBinary(), std::string("serve")},
                            Child::Environment{{"FAKE_RANK", "epochs=1;steps=100"}});
    for (Child &agent : agents)
        agent.write(launchRequest(1, true, id) + "\n");
    int ready = 0;
    for (Child &agent : agents) {
        const std::string answer = agent.readLine().value_or("");
        ready += answer.starts_with("{\"type\":\"ready\"") ? 1 : 0;
        if (!answer.starts_with("{\"type\":\"ready\"")) {
            CHECK(answer.find(id) != std::string::npos);
            CHECK(agent.wait() == 2);
        }
    }
    CHECK(ready == 1);
    CHECK((resultOf(runFolder(id)).state == RunState::Done));
    // And once it is over, the id stays taken.
    REQUIRE(eventually([&] { return !FileLock::isHeld(runFolder(id).lock(0)); }));
    const Outcome again = serveOutcome(launchRequest(1, true, id));
    CHECK(again.code == 2);
    CHECK(again.errors.find("exists already") != std::string::npos);
    CHECK(contentsOf(runFolder(id).result()).find("done") != std::string::npos);
}

TEST_CASE("serve in the foreground ends with the run's own exit code") {
    const TestHome home;
    Child child({agentBinary(), "serve"}, {{"FAKE_RANK", "epochs=1;exit=3"}});
    child.write(launchRequest(1, false) + "\n");
    const Outcome outcome = outcomeOf(std::move(child));
    CHECK(outcome.code == 1);
    CHECK(outcome.out.starts_with("{\"type\":\"ready\""));
}

TEST_CASE("run gives each rank its place, a free port, and the address for frames") {
    const TestHome home;
    const Outcome outcome =
        runOutcome({"--nproc-per-node", "2", "--", fakeRank()}, {{"FAKE_RANK", "show_environment;epochs=1"}});
    CHECK(outcome.code == 0);
    for (const char *line :
         {"[rank 0] RANK=0\n", "[rank 1] RANK=1\n", "[rank 1] LOCAL_RANK=1\n", "[rank 1] WORLD_SIZE=2\n",
          "[rank 0] LOCAL_WORLD_SIZE=2\n", "[rank 0] MASTER_ADDR=127.0.0.1\n", "LOCKSTEP_FRAMES=unix:/"})
        CHECK(outcome.out.find(line) != std::string::npos);
    CHECK(outcome.out.find("LOCKSTEP_MASTER_LISTEN_FD") == std::string::npos); // for our trainer alone
    REQUIRE(home.runs().size() == 1);
    const auto record = runRecordFromJson(contentsOf(runFolder(home.runs()[0]).config()));
    REQUIRE(record);
    CHECK(record->command == std::vector{fakeRank()});
    CHECK(record->processes == 2);
}

TEST_CASE("a number of ranks alone means the first devices, one a rank, in the run's name and lanes too") {
    const TestHome home;
    const Outcome outcome =
        runOutcome({"--nproc-per-node", "2", "--", "lockstep-trainer", "--method=ddp", "--oversubscribe"},
                   {{"LOCKSTEP_TRAINER", fakeRank()}, {"FAKE_RANK", "epochs=1"}});
    CHECK(outcome.code == 0);
    REQUIRE(home.runs().size() == 1);
    const auto record = runRecordFromJson(contentsOf(runFolder(home.runs()[0]).config()));
    REQUIRE(record);
    CHECK(record->name == "DDP on 2 devices");
    CHECK(record->deviceNames == std::vector<std::string>{"cpu:0", "cpu:1"});
    CHECK(record->config->devices == std::vector<std::string>{"0", "1"});
}

TEST_CASE("a served trainer is pinned to its device's cores and rank 0 inherits the listening socket") {
    const TestHome home;
    const ServedRun run = serve(2, {{"FAKE_RANK", "show_environment;epochs=1"}});
    (void)resultOf(run.folder);
    const std::string first = contentsOf(run.folder.console(0)), second = contentsOf(run.folder.console(1));
    CHECK(first.find("LOCKSTEP_MASTER_LISTEN_FD=") != std::string::npos);
    CHECK(second.find("LOCKSTEP_MASTER_LISTEN_FD=") == std::string::npos);
    CHECK(first.find("CORES=0\n") != std::string::npos);
    CHECK(first.find("--method=ddp") != std::string::npos);
    CHECK(first.find("--summary=" + run.folder.summary()) != std::string::npos);
    const auto record = runRecordFromJson(contentsOf(run.folder.config()));
    REQUIRE(record);
    CHECK(record->name == "DDP on 2 devices");
    CHECK(record->deviceNames == std::vector<std::string>{"cpu:0", "cpu:1"});
    REQUIRE(record->machines.size() == 1);
    CHECK(record->machines[0].host.size() > 0);
    CHECK(record->machines[0].threads.value_or(0) > 0);
    CHECK(record->machines[0].memoryTotalBytes.value_or(0) > 1e8);
}

TEST_CASE("a run that can't be started leaves what was in its folder before, and nothing else") {
    const TestHome home;
    const std::string id = makeRunId(), program = home.path() + "/not-a-program";
    const RunFolder folder = runFolder(id);
    std::filesystem::create_directories(folder.checkpoints());
    std::ofstream(folder.checkpoints() + "/one") << "precious\n";
    Child({"/bin/sh", "-c", "printf '\\177ELFjunk' > " + program + "; chmod +x " + program}).wait();
    CHECK(runOutcome({"--run-id", id, "--", program}).code == 2);
    CHECK(contentsOf(folder.checkpoints() + "/one") == "precious\n");
    CHECK(countIn(folder.path) == 3); // ".", ".." and that
}

TEST_CASE("run ends with the first failing rank's code, 128 + signal when it was killed") {
    struct Case {
        std::string script;
        int code;
    };
    for (const Case &c :
         {Case{"exit 0", 0}, Case{"exit 7", 7}, Case{"if [ $RANK = 1 ]; then kill -9 $$; fi; sleep 60", 137},
          Case{"if [ $RANK = 0 ]; then exit 5; fi; trap '' TERM; sleep 60 & wait; sleep 60", 5}}) {
        CAPTURE(c.script);
        const TestHome home;
        const Outcome outcome = runOutcome({"--nproc-per-node", "2", "--", "/bin/sh", "-c", c.script});
        CHECK(outcome.code == c.code);
    }
}

TEST_CASE("interrupting run stops it: 130") {
    const TestHome home;
    Child child({agentBinary(), "run", "--", fakeRank()}, {{"FAKE_RANK", "epochs=1000;say=here"}});
    REQUIRE(child.readLine() == "[rank 0] here");
    REQUIRE(eventually([&] { return !home.runs().empty(); }));
    (void)rankPids(runFolder(home.runs()[0]), 1);
    child.kill(SIGINT);
    CHECK(child.wait() == 130);
    CHECK(resultOf(runFolder(home.runs()[0])).reason == "stopped by SIGINT");
}

TEST_CASE("a named master port in use is a sentence with its holder's pid, exit 2, nothing started") {
    const TestHome home;
    const HeldPort held;
    const Outcome outcome =
        runOutcome({"--master-port", std::to_string(held.port()), "--", "/bin/touch", home.path() + "/started"});
    CHECK(outcome.code == 2);
    CHECK(outcome.errors.find("master port " + std::to_string(held.port()) + " is in use by pid " +
                              std::to_string(::getpid())) != std::string::npos);
    CHECK(lineCount(outcome.errors) == 1);
    CHECK_FALSE(std::filesystem::exists(home.path() + "/started"));
    CHECK(home.runs().empty());
}

TEST_CASE("run refuses what can't be, with a sentence") {
    const TestHome home;
    for (const std::vector<std::string> &arguments :
         {std::vector<std::string>{"--", "no-such-program-anywhere"},
          {"--nnodes", "2", "--", "/bin/true"},
          {"--node-rank", "3", "--", "/bin/true"},
          {"--nproc-per-node", "9", "--cores-per-rank", "64", "--", "/bin/true"},
          {"--nproc-per-node", "0", "--", "/bin/true"},
          {"--nonsense"}}) {
        const Outcome outcome = runOutcome(arguments);
        CHECK(outcome.code == 2);
        CHECK(outcome.errors.size() > 0);
    }
    CHECK(home.runs().empty());
}

TEST_CASE("run refuses our trainer's mistakes before anything starts") {
    const TestHome home;
    for (const auto &[mistake, sentence] :
         {std::pair("--batch-size=63", "63"), std::pair("--model=gone.pt", "/gone.pt: No such file")}) {
        CAPTURE(sentence);
        const Outcome outcome = runOutcome(
            {"--nproc-per-node", "2", "--", "lockstep-trainer", "--method", "ddp", "--devices=0,1", mistake});
        CHECK(outcome.code == 2);
        CHECK(outcome.errors.find(sentence) != std::string::npos);
        CHECK(lineCount(outcome.errors) == 1);
        CHECK(home.runs().empty());
    }
}

TEST_CASE("a failing group is started again as often as asked") {
    const TestHome home;
    const std::string script =
        "echo try $TORCHELASTIC_RESTART_COUNT; if [ $TORCHELASTIC_RESTART_COUNT -lt 2 ]; then exit 1; fi";
    const Outcome good = runOutcome({"--nproc-per-node", "2", "--max-restarts", "2", "--", "/bin/sh", "-c", script});
    CHECK(good.code == 0);
    CHECK(good.out.find("[rank 1] try 2\n") != std::string::npos);
    const Outcome bad = runOutcome({"--max-restarts", "1", "--", "/bin/sh", "-c", script});
    CHECK(bad.code == 1);
}

TEST_CASE("what a rank leaves behind does not outlive the run") {
    const TestHome home;
    const std::string marker = home.path() + "/pid";
    const Outcome outcome =
        runOutcome({"--", "/bin/sh", "-c", "setsid /bin/sh -c 'echo $$ > " + marker + "; exec sleep 600' & sleep 0.3"});
    CHECK(outcome.code == 0);
    CHECK(eventually([&] { return !isAlive(std::stoi(contentsOf(marker))); }));
}

TEST_CASE("unknown runs are one sentence, exit 2") {
    const TestHome home;
    for (const char *command : {"attach", "stop", "status"})
        for (const char *run : {"20260102T030405Z-89abcdef", "../../etc/passwd"}) {
            const Outcome outcome = outcomeOf(Child({agentBinary(), command, run}));
            CHECK(outcome.code == 2);
            CHECK(outcome.errors.find(run) != std::string::npos);
            CHECK(lineCount(outcome.errors) == 1);
        }
}
