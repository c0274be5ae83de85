// SPDX-License-Identifier: MIT
// What else went on where a run was: others' work on its cores, and clocks held down.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "ipc/cores.h"
#include "tests/agent/agent_process.h"
#include "trainer/agent/devices/earlier_processes.h"
#include "trainer/agent/devices/proc_files.h"
#include "trainer/agent/devices/surroundings_sum.h"
#include "trainer/agent/devices/tree_cpu.h"

using namespace lockstep;
using namespace lockstep::agent;
using namespace std::chrono_literals;

namespace {

/// A process that is none of the run's and keeps a core busy until it is let go.
class OtherProgram {
public:
    OtherProgram() : m_pid(::fork()) {
        if (m_pid == 0)
            for (volatile unsigned sink = 0;;)
                sink = sink + 1;
    }
    ~OtherProgram() {
        ::kill(m_pid, SIGKILL);
        ::waitpid(m_pid, nullptr, 0);
    }
    OtherProgram(const OtherProgram &) = delete;
    OtherProgram &operator=(const OtherProgram &) = delete;
    [[nodiscard]] double cpuSeconds() const { return processCpuSeconds(m_pid).value_or(0); }

private:
    pid_t m_pid;
};

/// Computes until the calling process has used so much.
void burn(double cpuS) {
    while (processCpuSeconds(::getpid()).value_or(cpuS) < cpuS) {
    }
}

/// Of 10 s on one node.
Surroundings around(double otherCpuS, std::optional<int> freeCores) {
    Surroundings out{10, otherCpuS, 0.0, {}, {}};
    out.freeCores = freeCores;
    return out;
}

std::size_t samplesOf(const RunFolder &folder) {
    return bodiesOf<DeviceFrame>(framesOf(folder)).size();
}

} // namespace

TEST_CASE("work of a process that is none of the run's is found, and a rank's own work is not taken for it") {
    const TestHome home;
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1000;burn"}});
    CHECK(eventually([&] { return samplesOf(run.folder) > 6; }));
    double othersS = 0;
    {
        const OtherProgram otherProgram;
        CHECK(eventually([&] { return otherProgram.cpuSeconds() > 2.0; }));
        const std::size_t seen = samplesOf(run.folder);
        CHECK(eventually([&] { return samplesOf(run.folder) > seen + 6; })); // its last is in one more reading
        othersS = otherProgram.cpuSeconds();
    }
    const double rank = processCpuSeconds(rankPids(run.folder, 1).at(0)).value_or(0);
    Child({agentBinary(), "stop", run.runId}).wait();
    const RunResult result = resultOf(run.folder);
    REQUIRE(result.surroundings);
    REQUIRE(result.surroundings->otherCpuS);
    const double others = *result.surroundings->otherCpuS;
    CHECK(others > 0.8 * othersS); // before the first reading nothing is counted
    // Other tests may run beside this one; then the cores are full, and the rank's part is what the others' lack.
    const double cores = static_cast<double>(allowedCores().size());
    CHECK((others < othersS + 0.5 * rank || others + 0.6 * rank < cores * result.surroundings->measuredS + 0.2));
    MESSAGE("other program ", othersS, " s, rank ", rank, " s, counted as others' ", others, " s of ",
            result.surroundings->measuredS, " s");
    CHECK(result.surroundings->measuredS > 2);
    CHECK(result.surroundings->measuredS <= result.runTimeS + 0.5);
}

TEST_CASE("what a process of the run used that began and ended between two readings is the run's") {
    const TestHome home;
    const auto reading = [] { return TreeCpu::Reading{cpuOf(treeOf(::getpid())), {}}; };
    TreeCpu tree;
    const TreeCpu::Reading before = reading();
    const pid_t parent = ::fork();
    if (parent == 0) {
        if (const pid_t child = ::fork(); child == 0) {
            burn(0.3);
            ::_exit(0);
        } else {
            ::waitpid(child, nullptr, 0);
        }
        ::_exit(0);
    }
    ::waitpid(parent, nullptr, 0);
    CHECK(tree.usedBetween(before, reading()) > 0.25); // all but a clock tick or two
}

TEST_CASE("of a process that ends only what is new since the last reading is added, whoever has waited for it") {
    using Reading = TreeCpu::Reading;
    const std::pair agent(pid_t(1), std::uint64_t(10)), rank(pid_t(2), std::uint64_t(20)),
        worker(pid_t(3), std::uint64_t(30)), sameNumber(pid_t(3), std::uint64_t(40)),
        stranger(pid_t(4), std::uint64_t(5));
    const Reading start{{{agent, {1, 0}}, {rank, {5, 0}}, {worker, {7, 2}}}, {{stranger, {100, 0}}}};
    TreeCpu tree;
    CHECK(tree.usedBetween(start, start) == 0);
    // The worker used 0.5 s more, and its rank waited for it; another process got its number.
    const Reading ended{{{agent, {1, 0}}, {rank, {6, 9.5}}, {sameNumber, {0.25, 0}}}, start.earlier};
    CHECK(tree.usedBetween(start, ended) == doctest::Approx(1 + 0.5 + 0.25));

    // It had ended when it was read, but nobody had waited for it: the next reading has what it used.
    const Reading unwaited{{{agent, {1, 0}}, {rank, {5, 0}}}, start.earlier};
    CHECK(tree.usedBetween(start, unwaited) == 0);
    CHECK(tree.usedBetween(unwaited, {{{agent, {1, 0}}, {rank, {5, 9.5}}}, start.earlier}) == doctest::Approx(0.5));

    // A process that ignores SIGCHLD is told of none: that takes nothing from what others use later.
    CHECK(tree.usedBetween(start, unwaited) == 0);
    CHECK(tree.usedBetween(unwaited, unwaited) == 0);
    CHECK(tree.usedBetween(unwaited, {{{agent, {1, 0}}, {rank, {5, 0.5}}}, start.earlier}) == doctest::Approx(0.5));

    // The agent waited for a process that is none of the run's.
    const Reading strangerEnded{{{agent, {1, 100}}, {rank, {5, 0}}, {worker, {7, 2}}}, {}};
    CHECK(tree.usedBetween(start, strangerEnded) == 0);
}

TEST_CASE("what went on around several nodes is that of the node that was affected most, which it names") {
    Surroundings first = around(3, 0), second = around(8, 0);
    first.throttledS = 1;
    first.throttle = {"CPU quota"};
    second.measuredS = 20; // 0.4 cores, and 0.05 of the time
    second.throttledS = 1;
    second.throttle = {"CPU quota", "processor too hot"};
    const auto both = surroundingsOfAll({{"hostA", first}, {"hostB", second}});
    REQUIRE(both);
    CHECK((both->nodes == 2 && both->nodesUnknown == 0));
    CHECK(both->loadedNode == "hostB");
    CHECK(*both->otherCpuS / both->measuredS == doctest::Approx(0.4));
    CHECK(both->heldNode == "hostA");
    CHECK(*both->throttledS / both->measuredS == doctest::Approx(0.1));
    CHECK(both->throttle == std::vector<std::string>{"CPU quota", "processor too hot"});

    // 30 of 60 cores that no rank has are in nobody's way.
    const auto large = surroundingsOfAll({{"hostA", around(3, 0)}, {"hostB", around(300, 60)}});
    CHECK((large->loadedNode == "hostA" && large->freeCores == 0));
    CHECK(surroundingsOfAll({{"hostA", around(3, 60)}, {"hostB", around(300, 60)}})->loadedNode == "hostB");

    const auto part = surroundingsOfAll({{"hostA", {}}, {"hostB", second}, {"hostC", {}}});
    CHECK((part->nodes == 1 && part->nodesUnknown == 2 && part->loadedNode == "hostB"));
    CHECK_FALSE(surroundingsOfAll({{"hostA", {}}, {"hostB", Surroundings{}}}));
}

TEST_CASE("the waiting of all nodes' ranks is added up, and unknown where one node's is") {
    const Watching first{4, 0.5, {}, 0.25, 10.9}, second{0, {}, {}, 0.5, 14.4};
    const auto both = watchingOfAll({first, second});
    REQUIRE(both);
    CHECK(both->nodes == 2);
    CHECK(*both->ranksWaitedS == doctest::Approx(25.3));
    CHECK((both->agentCpuS == 0.25 && both->viewersCpuS == 0.5)); // the first node's
    CHECK_FALSE(watchingOfAll({first, {}})->ranksWaitedS);
    CHECK(watchingOfAll({first, {}})->agentCpuS == 0.25);
}

TEST_CASE("what a rank's own children do is the run's") {
    const TestHome home;
    const pid_t self = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
        const pid_t grandchild = ::fork();
        if (grandchild == 0)
            ::pause();
        ::pause();
    }
    REQUIRE(eventually([&] { return treeOf(self).size() >= 3; }));
    const auto tree = treeOf(self);
    CHECK(std::find(tree.begin(), tree.end(), child) != tree.end());
    for (const pid_t pid : treeOf(child))
        ::kill(pid, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

TEST_CASE(
    "children that are there before the first rank are none of the run's, nor is what they start or leave behind") {
    const TestHome home;
    ::prctl(PR_SET_CHILD_SUBREAPER, 1); // as an agent is
    const auto has = [](const std::vector<pid_t> &all, pid_t pid) { return std::ranges::find(all, pid) != all.end(); };
    const auto parentWithChild = [](bool ownGroup) {
        const pid_t parent = ::fork();
        if (parent == 0) {
            if (ownGroup)
                ::setpgid(0, 0);
            ::fork();
            for (;;)
                ::pause();
        }
        REQUIRE(eventually([&] { return treeOf(parent).size() == 2; }));
        return parent;
    };
    const pid_t earlier = parentWithChild(false), own = parentWithChild(true);
    EarlierProcesses processes;
    processes.note(own);
    const pid_t later = parentWithChild(true); // as a rank
    const pid_t earlierChild = treeOf(earlier).at(1), ownChild = treeOf(own).at(1), laterChild = treeOf(later).at(1);
    const std::vector<pid_t> tree = processes.laterTree();
    CHECK(
        (has(tree, ::getpid()) && has(tree, own) && has(tree, ownChild) && has(tree, later) && has(tree, laterChild)));
    CHECK_FALSE((has(tree, earlier) || has(tree, earlierChild)));
    ::kill(earlier, SIGKILL);
    ::waitpid(earlier, nullptr, 0);
    REQUIRE(has(childrenOf(::getpid()), earlierChild)); // adopted
    CHECK_FALSE(has(processes.laterChildren(), earlierChild));
    CHECK((has(processes.laterChildren(), own) && has(processes.laterChildren(), later)));
    for (const pid_t pid : {earlierChild, own, ownChild, later, laterChild}) {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_CASE("work of a process that the agent's shell had started before it became the agent is another program's") {
    const TestHome home;
    const std::string file = home.path() + "/pid";
    Child agent({"/bin/sh", "-c", R"(sh -c 'while :; do :; done' </dev/null >/dev/null 2>&1 &
echo $! > "$1"
exec "$0" run -- "$2")",
                 agentBinary(), file, fakeRank()},
                {{"FAKE_RANK", "epochs=1000"}});
    REQUIRE(eventually([&] { return !home.runs().empty(); }));
    const RunFolder folder = runFolder(home.runs().front());
    const pid_t burner = std::stoi(contentsOf(file));
    CHECK(eventually([&] { return samplesOf(folder) > 6 && processCpuSeconds(burner).value_or(0) > 3.0; }));
    const double burntS = processCpuSeconds(burner).value_or(0);
    const std::size_t seen = samplesOf(folder);
    CHECK(eventually([&] { return samplesOf(folder) > seen + 6; })); // it is in one more reading
    agent.kill(SIGTERM);
    CHECK(agent.wait() == 130);
    const RunResult result = resultOf(folder);
    CHECK(isAlive(burner));
    ::kill(burner, SIGKILL);
    REQUIRE(result.surroundings);
    CHECK(result.surroundings->otherCpuS.value_or(0) > 0.5 * burntS); // before the first reading nothing is counted
}

TEST_CASE("a GPU that NVML calls throttled is so in the result, with its reason") {
    const TestHome home;
    Child child({agentBinary(), "run", "--", fakeRank()},
                {{"LD_LIBRARY_PATH", FAKE_NVML_FOLDER}, {"FAKE_RANK", "epochs=1;steps=150;step_ms=20"}});
    CHECK(child.wait() == 0);
    const RunResult result = resultOf(runFolder(home.runs().at(0)));
    REQUIRE(result.surroundings);
    REQUIRE(result.surroundings->throttledS);
    CHECK(*result.surroundings->throttledS > 0.5 * result.surroundings->measuredS);
    CHECK(result.surroundings->throttle == std::vector<std::string>{"software thermal slowdown"});
}

TEST_CASE("a control group's quota is read from either version's cpu.stat; without one it is unknown") {
    CHECK(parseQuotaWaited("usage_usec 10\nnr_periods 5\nnr_throttled 2\nthrottled_usec 2500000\n") == 2.5);
    CHECK(parseQuotaWaited("nr_periods 5\nnr_throttled 2\nthrottled_time 1500000000\n") == 1.5);
    CHECK(!parseQuotaWaited("usage_usec 10\nuser_usec 4\n"));
    CHECK(!parseQuotaWaited(""));
}

TEST_CASE("stolen time is told apart from busy time") {
    const auto times = parseProcStat("cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 100 0 50 800 10 0 0 40 0 0\nintr 1\n");
    REQUIRE(times.contains(0));
    CHECK(times.at(0).busy == 150);
    CHECK(times.at(0).stolen == 40);
    CHECK(times.at(0).total == 1000);
}
