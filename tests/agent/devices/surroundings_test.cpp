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
