// SPDX-License-Identifier: MIT
// What watching takes is measured by the agent and recorded with the run: viewers, the agent itself, the ranks' waiting.
#include <doctest/doctest.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <chrono>

#include "ipc/cores.h"
#include "tests/agent/agent_process.h"
#include "tests/agent/follow_client.h"

using namespace lockstep;
using namespace std::chrono_literals;

namespace {

double ownCpuSeconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// This process follows, and works for so much processor time.
void burn(double seconds) {
    volatile unsigned sink = 0;
    for (const double end = ownCpuSeconds() + seconds; ownCpuSeconds() < end;)
        for (unsigned i = 0; i < 100'000; ++i)
            sink = sink + i;
}

std::vector<DeviceFrame> samplesOf(const ServedRun &run) {
    return bodiesOf<DeviceFrame>(framesOf(run.folder));
}

/// Waits for a sample that knows this viewer, so that what it takes from here on is counted.
bool isMeasured(const ServedRun &run) {
    return eventually([&] {
        const auto samples = samplesOf(run);
        return !samples.empty() && !samples.back().viewers.empty() && samples.back().viewers[0].cpuCores;
    });
}

std::optional<int> freeCoresOf(const ServedRun &run) {
    const auto record = runRecordFromJson(contentsOf(run.folder.config()));
    return record ? record->freeCores : std::nullopt;
}

} // namespace

TEST_CASE("a viewer's processor time and how long it watched are in the result") {
    const TestHome home;
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1000"}});
    const auto watching = std::chrono::steady_clock::now();
    FollowClient viewer(run.socket, 0);
    REQUIRE(isMeasured(run));
    const double before = ownCpuSeconds();
    burn(1.0);
    const std::size_t seen = samplesOf(run).size(); // the last of it is in one more sample
    CHECK(eventually([&] { return samplesOf(run).size() > seen + 1; }));
    const double most = ownCpuSeconds(), longest = secondsSince(watching);
    Child({agentBinary(), "stop", run.runId}).wait();
    const RunResult result = resultOf(run.folder);
    REQUIRE(result.watching);
    CHECK(result.watching->viewersCpuS.value_or(0) >= 0.95);
    CHECK(result.watching->viewersCpuS.value_or(1e9) <= most - before + 0.5); // its own work around it, no more
    CHECK(result.watching->watchedS >= 1.0);
    CHECK(result.watching->watchedS <= longest + 1.0);
    CHECK(result.watching->agentCpuS.value_or(0) > 0);
    CHECK(result.watching->agentCpuS.value_or(1e9) < result.runTimeS);
}

TEST_CASE("a run that nobody watched says so, and not that watching cost nothing") {
    const TestHome home;
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=4;steps=20;step_ms=20"}});
    const RunResult result = resultOf(run.folder);
    REQUIRE(result.watching);
    CHECK(result.watching->watchedS == 0);
    CHECK(!result.watching->viewersCpuS);
    CHECK(!viewersShare(*result.watching));
}

TEST_CASE("who keeps the run's queue watches for nobody: its time is told apart") {
    const TestHome home;
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1000"}});
    FollowClient owner(run.socket, 0, true);
    CHECK(eventually([&] { return samplesOf(run).size() > 12; })); // it has been looked at once
    burn(2.0);
    const std::size_t seen = samplesOf(run).size();
    CHECK(eventually([&] { return samplesOf(run).size() > seen + 12; })); // and once more
    CHECK(samplesOf(run).back().viewers.empty());
    Child({agentBinary(), "stop", run.runId}).wait();
    const RunResult result = resultOf(run.folder);
    REQUIRE(result.watching);
    CHECK(result.watching->watchedS == 0);
    CHECK(!result.watching->viewersCpuS);
    CHECK(result.watching->queueCpuS.value_or(0) >= 0.9); // where cores are short, the first reading comes late
}

TEST_CASE("ranks that share a core have waited for it about as long as the others ran; one alone has not") {
    const int cores = static_cast<int>(allowedCores().size());
    const TestHome home;
    const ServedRun alone = serve(1, {{"FAKE_RANK", "epochs=1;steps=100;step_ms=20"}}); // it sleeps through its steps
    const double idle = resultOf(alone.folder).watching.value_or(Watching{}).ranksWaitedS.value_or(-1);
    CHECK(freeCoresOf(alone) == cores - 1);
    const ServedRun crowd = serve(cores + 1, {{"FAKE_RANK", "epochs=1000;burn"}});
    std::size_t samples = 0;
    CHECK(eventually([&] { return (samples = samplesOf(crowd).size()) > 20; })); // four seconds
    Child({agentBinary(), "stop", crowd.runId}).wait();
    const RunResult result = resultOf(crowd.folder);
    REQUIRE(result.watching);
    CHECK(freeCoresOf(crowd) == 0);
    // One rank more than cores: of each second at least one rank's worth is waited, a last second and the start left out.
    CHECK(result.watching->ranksWaitedS.value_or(0) > 1.0);
    CHECK(idle >= 0);
    CHECK(idle < result.watching->ranksWaitedS.value_or(0));
}
