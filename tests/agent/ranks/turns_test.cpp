// SPDX-License-Identifier: MIT
// Runs that take turns on the same cores: real agents and fake ranks.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "ipc/process_stat.h"
#include "tests/agent/agent_process.h"
#include "trainer/agent/devices/proc_files.h"
#include "trainer/agent/ranks/turns.h"

using namespace lockstep;
using namespace lockstep::agent;
using namespace std::chrono_literals;

namespace {

ServedRun inTurns(const std::string &experiment, const std::string &rank) {
    auto request = launchRequestFromJson(launchRequest(1));
    REQUIRE(request);
    request->record.experiment = experiment;
    request->record.inTurns = true;
    return serveRequest(toJson(*request), {{"FAKE_RANK", rank}});
}

bool standsStill(pid_t pid) {
    const auto stat = processStatOf(pid);
    return !stat || stat->state == 'T';
}

/// CPU time of a process and its threads, to the nanosecond. Unlike its state it does not change while a stopped process waits for a
/// core on which it can notice the stop.
std::int64_t cpuNs(pid_t pid) {
    clockid_t clock{};
    timespec used{};
    REQUIRE(::clock_getcpuclockid(pid, &clock) == 0);
    REQUIRE(::clock_gettime(clock, &used) == 0);
    return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

std::string pausedFileOf(pid_t rank) {
    const std::string environment = readSmallFile("/proc/" + std::to_string(rank) + "/environ");
    const std::string key = "LOCKSTEP_PAUSED=";
    const auto at = environment.find(key);
    return at == environment.npos ? std::string() : environment.c_str() + at + key.size();
}

double pausedSeconds(const std::string &file) {
    const std::string bytes = readSmallFile(file);
    std::uint64_t ns = 0;
    REQUIRE(bytes.size() == sizeof ns);
    std::memcpy(&ns, bytes.data(), sizeof ns);
    return static_cast<double>(ns) * 1e-9;
}

int ofTurnsIn(const std::string &folder) {
    int out = 0;
    for (const auto &file : std::filesystem::directory_iterator(folder))
        out += file.path().extension() == ".turns" || file.path().extension() == ".paused";
    return out;
}

} // namespace

TEST_CASE("of two runs that take turns one stands still while the other goes on, and each counts its pauses") {
    const TestHome home;
    const std::string experiment = makeRunId();
    const ServedRun first = inTurns(experiment, "epochs=1000;burn"), second = inTurns(experiment, "epochs=1000;burn");
    const pid_t a = rankPids(first.folder, 1).at(0), b = rankPids(second.folder, 1).at(0);
    const std::string folder = std::filesystem::path(first.socket).parent_path();
    const double beganA = processCpuSeconds(a).value_or(0), beganB = processCpuSeconds(b).value_or(0);
    const double pausedA = pausedSeconds(pausedFileOf(a)), pausedB = pausedSeconds(pausedFileOf(b));
    const auto start = std::chrono::steady_clock::now();
    int together = 0, apart = 0;
    while (secondsSince(start) < 2) {
        const auto look = std::chrono::steady_clock::now();
        const std::int64_t a0 = cpuNs(a), b0 = cpuNs(b);
        std::this_thread::sleep_for(5ms);
        constexpr std::int64_t computed = 500'000; // more than it takes to notice a stop
        const bool goesA = cpuNs(a) - a0 > computed, goesB = cpuNs(b) - b0 > computed;
        if (std::chrono::steady_clock::now() - look < 20ms) { // else a turn may have passed between two looks
            together += goesA && goesB;
            apart += goesA != goesB;
        }
    }
    CHECK(apart > 20);
    CHECK(together * 3 < apart); // in some of them a turn ends
    const double tookS = secondsSince(start);
    const double pausesA = pausedSeconds(pausedFileOf(a)) - pausedA, pausesB = pausedSeconds(pausedFileOf(b)) - pausedB;
    CHECK(pausesA + pausesB > tookS - 0.5); // each is within a pause that is not counted yet, at most
    CHECK(std::min(pausesA, pausesB) > 0.25 * tookS);
    CHECK(processCpuSeconds(a).value_or(0) > beganA + 0.1);
    CHECK(processCpuSeconds(b).value_or(0) > beganB + 0.1);

    Child({agentBinary(), "stop", first.runId}).wait();
    const RunResult stopped = resultOf(first.folder);
    CHECK(stopped.runTimeS < static_cast<double>(stopped.endWallUs - stopped.startWallUs) * 1e-6 - 0.25 * tookS);
    CHECK_FALSE(stopped.energy);
    // Alone, the other one goes on without a pause.
    CHECK(eventually([&] { return !standsStill(b); }));
    int pauses = 0;
    for (int look = 0; look < 200; ++look) {
        pauses += standsStill(b);
        std::this_thread::sleep_for(2ms);
    }
    CHECK(pauses == 0);
    Child({agentBinary(), "stop", second.runId}).wait();
    (void)resultOf(second.folder);
    CHECK(eventually([&] { return !std::filesystem::exists(folder) || ofTurnsIn(folder) == 0; }));
}

TEST_CASE("what another run does in its turn is no load on a run that stands still meanwhile") {
    const TestHome home;
    const std::string experiment = makeRunId();
    const ServedRun first = inTurns(experiment, "epochs=1000;burn"), second = inTurns(experiment, "epochs=1000;burn");
    std::this_thread::sleep_for(4s); // of which each has some 2
    for (const ServedRun *run : {&first, &second})
        Child({agentBinary(), "stop", run->runId}).wait();
    for (const ServedRun *run : {&first, &second}) {
        const RunResult result = resultOf(run->folder);
        REQUIRE(result.surroundings);
        CHECK(result.surroundings->measuredS < 0.8 * static_cast<double>(result.endWallUs - result.startWallUs) * 1e-6);
        for (const DeviceFrame &sample : bodiesOf<DeviceFrame>(framesOf(run->folder)))
            for (const ProcessSample &rank : sample.processes)
                CHECK(rank.cpuCores.value_or(0) < 1.6); // by its own time; by the clock on the wall it has half of that
    }
}

TEST_CASE("an agent that is killed in its turn holds nobody up") {
    const TestHome home;
    const std::string experiment = makeRunId();
    ServedRun first = inTurns(experiment, "epochs=1000;burn");
    const ServedRun second = inTurns(experiment, "epochs=1000;burn");
    const pid_t a = rankPids(first.folder, 1).at(0), b = rankPids(second.folder, 1).at(0);
    CHECK(eventually([&] { return !standsStill(a); }));
    ::kill(first.agent, SIGKILL);
    CHECK(eventually([&] { return !isAlive(a); }));
    const double before = processCpuSeconds(b).value_or(0);
    CHECK(eventually([&] { return processCpuSeconds(b).value_or(0) > before + 0.3; }));
    Child({agentBinary(), "stop", second.runId}).wait();
    const bool stopped = resultOf(second.folder).state == RunState::Stopped;
    CHECK(stopped);
}

TEST_CASE("a rank that doesn't say that it leaves pauses out may count them as time of training") {
    const TestHome home;
    for (const bool says : {false, true}) {
        CAPTURE(says);
        const ServedRun run = inTurns(makeRunId(), says ? "leaves_pauses_out" : "steps=10");
        const RunResult result = resultOf(run.folder);
        REQUIRE(result.turns);
        CHECK(result.turns->counted != says);
        CHECK_FALSE(result.turns->lost);
    }
}

TEST_CASE("where the file that says whose turn it is is removed, a run makes another one, and says that it was lost") {
    const TestHome home;
    const std::string experiment = makeRunId(), endless = "epochs=1000;burn";
    const ServedRun first = inTurns(experiment, endless);
    const pid_t a = rankPids(first.folder, 1).at(0);
    const std::string file = std::filesystem::path(first.socket).parent_path() / (experiment + ".turns");
    REQUIRE(eventually([&] { return !standsStill(a); }));
    REQUIRE(std::filesystem::remove(file));
    CHECK(eventually([&] { return std::filesystem::exists(file); }));
    const ServedRun second = inTurns(experiment, endless);
    const pid_t b = rankPids(second.folder, 1).at(0);
    for (const pid_t rank : {a, b})
        CHECK(eventually([&] { return pausedSeconds(pausedFileOf(rank)) > 0.3; }));
    for (const ServedRun *run : {&first, &second}) {
        Child({agentBinary(), "stop", run->runId}).wait();
        const RunResult result = resultOf(run->folder);
        REQUIRE(result.turns);
        CHECK(result.turns->lost == (run == &first));
    }
}

TEST_CASE("ranks that cut the files of their pauses short end no agent, and the next pause brings the sums back") {
    const TestHome home;
    const std::string experiment = makeRunId(), endless = "epochs=1000;burn";
    const ServedRun first = inTurns(experiment, endless), second = inTurns(experiment, endless);
    for (const ServedRun *run : {&first, &second}) {
        const std::string file = pausedFileOf(rankPids(run->folder, 1).at(0));
        REQUIRE(eventually([&] { return pausedSeconds(file) > 0.1; }));
        std::filesystem::resize_file(file, 0);
        REQUIRE(eventually([&] { return readSmallFile(file).size() == sizeof(std::uint64_t); }));
        CHECK(pausedSeconds(file) > 0.1);
    }
    for (const ServedRun *run : {&first, &second}) {
        Child({agentBinary(), "stop", run->runId}).wait();
        const bool stopped = resultOf(run->folder).state == RunState::Stopped;
        CHECK(stopped);
    }
}

TEST_CASE("a pause that can't be written is remembered, and written with the next one") {
    const TestHome home;
    auto paused = PausedTime::create(home.path() + "/a.paused");
    REQUIRE(paused);
    paused->add(1'000'000'000);
    CHECK(paused->wroteAll());
    std::filesystem::resize_file(paused->path(), 0);
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit full{0, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &full) == 0);
    paused->add(2'000'000'000);
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
    std::signal(SIGXFSZ, handler);
    CHECK(std::filesystem::file_size(paused->path()) == 0);
    CHECK_FALSE(paused->wroteAll());
    paused->add(4'000'000'000);
    CHECK(pausedSeconds(paused->path()) == doctest::Approx(7));
    CHECK(paused->totalNs() == 7'000'000'000);
    CHECK_FALSE(paused->wroteAll()); // meanwhile the ranks have counted it
}

TEST_CASE("what a killed agent and its keeper have left of a run that took turns is removed by the next such run") {
    const TestHome home;
    const ServedRun living = inTurns(makeRunId(), "epochs=1000;burn");
    const std::string kept = pausedFileOf(rankPids(living.folder, 1).at(0));
    const std::filesystem::path folder = std::filesystem::path(living.socket).parent_path();
    const std::filesystem::path left = folder / (makeRunId() + ".paused"), foreign = folder / "mine.paused";
    for (const std::filesystem::path &file : {left, foreign})
        std::ofstream(file) << "12345678";
    const ServedRun next = inTurns(makeRunId(), "epochs=1000;burn");
    (void)rankPids(next.folder, 1);
    CHECK_FALSE(std::filesystem::exists(left));
    CHECK(std::filesystem::exists(foreign));
    CHECK(std::filesystem::exists(kept));
    for (const ServedRun *run : {&living, &next}) {
        Child({agentBinary(), "stop", run->runId}).wait();
        (void)resultOf(run->folder);
    }
    std::filesystem::remove(foreign);
}

TEST_CASE("a run that belongs to no experiment can't take turns") {
    const TestHome home;
    auto request = launchRequestFromJson(launchRequest(1));
    REQUIRE(request);
    request->record.inTurns = true;
    Child agent({agentBinary(), "serve"});
    agent.write(toJson(*request) + "\n");
    agent.closeInput();
    const std::string answer = agent.readAll() + agent.errors();
    CHECK(agent.wait() != 0);
    CHECK_MESSAGE(answer.find("only runs of an experiment on one machine can take turns") != std::string::npos, answer);
}
