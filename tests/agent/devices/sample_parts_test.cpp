// SPDX-License-Identifier: MIT
// Samples of thousands of ranks: in lines that every reader takes, and without loss.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "ipc/file_system.h"
#include "tests/agent/agent_process.h"
#include "trainer/agent/devices/sample_parts.h"
#include "trainer/agent/session/run_samples.h"

using namespace lockstep;
using namespace lockstep::agent;

namespace {
constexpr int manyRanks = 4096;
} // namespace

TEST_CASE("a sample of 4,096 ranks is lines of at most 64 KiB with one time, and every device and process is in them") {
    const TestHome home;
    const SystemClock clock;
    const RunFolder folder = runFolder(makeRunId());
    std::filesystem::create_directories(folder.path);
    const std::string run = std::filesystem::path(folder.path).filename();
    {
        auto journal = RunJournal::open(realFileSystem(), clock, folder.log(0), 0, run, "host");
        REQUIRE(journal);
        EventLoop loop;
        auto socket = RunSocket::bindForRun(loop, **journal, run, 0);
        REQUIRE(socket);
        std::vector<DevicePlan> devices;
        std::vector<Sampler::Watched> ranks;
        for (int rank = 0; rank < manyRanks; ++rank) {
            devices.push_back(
                {"cpu:" + std::to_string(rank), "cpu", "A processor with a name of some length", {0}, rank});
            ranks.push_back({rank, ::getpid()});
        }
        EarlierProcesses earlier;
        RunSamples samples(
            clock, **journal, **socket, std::move(devices), nullptr, [&] { return ranks; }, earlier);
        samples.take();
        (*journal)->finish();
        (*journal)->disk().run([] {}).wait();
    }
    std::size_t longest = 0;
    std::istringstream log(contentsOf(folder.log(0)));
    for (std::string line; std::getline(log, line);)
        longest = std::max(longest, line.size() + 1);
    CHECK(longest <= maxFrameBytes);

    std::set<std::string> seenDevices;
    std::set<int> seenRanks;
    std::set<std::int64_t> times;
    int agents = 0;
    for (const Frame &frame : framesOf(folder))
        if (const auto *part = std::get_if<DeviceFrame>(&frame.body)) {
            times.insert(frame.wallUs);
            agents += part->agent ? 1 : 0;
            for (const DeviceSample &device : part->devices)
                CHECK(seenDevices.insert(device.device).second);
            for (const ProcessSample &process : part->processes)
                CHECK(seenRanks.insert(process.rank.value_or(-1)).second);
        }
    CHECK(seenDevices.size() == manyRanks);
    CHECK(seenRanks.size() == manyRanks);
    CHECK(times.size() == 1);
    CHECK(agents == 1);
}

TEST_CASE("a sample of as many ranks as a machine has devices stays one frame") {
    Frame sample;
    DeviceFrame body;
    body.intervalS = 0.2;
    for (int rank = 0; rank < 64; ++rank) {
        body.devices.push_back({"cpu:" + std::to_string(rank), "cpu", "", "0-3", 0.5, {}, {}, {}, {}, {}, {}, {}, {}});
        body.processes.push_back({rank, 1000 + rank, 0.9, 1e8});
    }
    body.agent = ProcessSample{{}, 1, 0.1, 1e6};
    body.viewers.push_back({{}, 2, 0.1, 1e6});
    sample.body = body;
    sample.extra.emplace_back("host_cpu", "0.5000");
    CHECK(partsOf(sample) == std::vector<Frame>{sample});
}
