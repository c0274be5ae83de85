// SPDX-License-Identifier: MIT
// What a frame costs on its way: encode in the rank, seal and append in the agent, check and decode in the viewer.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "ipc/crc32c.h"
#include "ipc/file_system.h"
#include "ipc/frames.h"
#include "ipc/log.h"

using namespace lockstep;

namespace {

/// A window of steps as a DDP rank sends ten times a second.
Frame stepsFrame() {
    Frame frame;
    frame.rank = 1;
    frame.rseq = 4711;
    frame.monoNs = 123456789012345;
    frame.wallUs = 1767225600000000;
    StepsFrame steps{3, 2000, 2024, 25, 1600, LossWindow{0.4012345678, 0.5123456789, 0.6234567891, 0.5}, {}};
    for (const char *phase : {"load", "h2d", "forward", "backward", "exposed", "optimizer", "other", "comm", "wait"})
        steps.phases[phase] = {0.0123456789, 0.0023456789};
    frame.body = steps;
    return frame;
}

void encodeSteps(benchmark::State &state) {
    const Frame frame = stepsFrame();
    for (auto _ : state)
        benchmark::DoNotOptimize(encode(frame));
}
BENCHMARK(encodeSteps);

void sealSteps(benchmark::State &state) {
    const std::string line = encode(stepsFrame());
    for (auto _ : state)
        benchmark::DoNotOptimize(sealLine(line, 0, 17));
}
BENCHMARK(sealSteps);

void checkSteps(benchmark::State &state) {
    const std::string line = sealLine(encode(stepsFrame()), 0, 17);
    for (auto _ : state)
        benchmark::DoNotOptimize(crcHolds(line));
}
BENCHMARK(checkSteps);

void decodeSteps(benchmark::State &state) {
    const std::string line = sealLine(encode(stepsFrame()), 0, 17);
    Decoder decoder;
    for (auto _ : state)
        benchmark::DoNotOptimize(decoder.decode(line));
}
BENCHMARK(decodeSteps);

void crcOf64KiB(benchmark::State &state) {
    const std::string bytes(64 * 1024, 'x');
    for (auto _ : state)
        benchmark::DoNotOptimize(crc32c(bytes));
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * 64 * 1024);
}
BENCHMARK(crcOf64KiB);

std::string temporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "lockstep-bench-XXXXXX").string();
    return ::mkdtemp(name.data()) != nullptr ? name : std::string();
}

/// Appending without sync: the agent syncs once a second, not once a frame.
void appendToLog(benchmark::State &state) {
    const std::string folder = temporaryFolder();
    Frame header;
    header.body = HeaderFrame{logFormat, "20260102T030405Z-89abcdef", "bench"};
    auto log = LogWriter::open(realFileSystem(), folder + "/node-0.ndjson", 0, header);
    if (!log) {
        state.SkipWithError(log.error().message().c_str());
        return;
    }
    const std::string line = encode(stepsFrame());
    for (auto _ : state)
        benchmark::DoNotOptimize(log->append(line));
    std::filesystem::remove_all(folder);
}
BENCHMARK(appendToLog)->Iterations(20000);

void readLogOf10000Lines(benchmark::State &state) {
    const std::string folder = temporaryFolder(), path = folder + "/node-0.ndjson";
    Frame header;
    header.body = HeaderFrame{logFormat, "20260102T030405Z-89abcdef", "bench"};
    {
        auto log = LogWriter::open(realFileSystem(), path, 0, header);
        const std::string line = encode(stepsFrame());
        for (int i = 0; log && i < 10000; ++i)
            log->append(line);
    }
    Decoder decoder;
    for (auto _ : state) {
        auto report = readLog(path, 0, [&](std::string_view line) { benchmark::DoNotOptimize(decoder.decode(line)); });
        if (!report || report->lines != 10001)
            state.SkipWithError("the log was not read whole");
    }
    std::filesystem::remove_all(folder);
}
BENCHMARK(readLogOf10000Lines)->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
