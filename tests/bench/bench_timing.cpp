// SPDX-License-Identifier: MIT
// What stamping a step's phases costs: a step of 1 ms of work, timed by the trainer's own clock and not at all, in turns.
// The work is the same arithmetic, so the difference is the stamps. Prints medians and quartiles.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "trainer/report/host_clock.h"

using namespace lockstep::trainer;

namespace {

/// Laps of a DP step, the method with the most of them.
constexpr std::array laps = {Phase::Load,      Phase::Scatter,       Phase::Replicate,        Phase::ParallelForward,
                             Phase::Gather,    Phase::LossOnDevice0, Phase::ParallelBackward, Phase::Reduce,
                             Phase::Optimizer, Phase::Other};

class NoClock final : public PhaseClock {
public:
    std::int64_t start() override { return 0; }
    std::int64_t lap(Phase, std::optional<Phase>) override { return 0; }
    void add(Phase, std::int64_t) override {}
    void endStep() override {}
    std::optional<StepTimes> takeStep(bool) override { return {}; }
    StepTimes takeTail() override { return {}; }
};

/// A chain that goes on from lap to lap: laps that don't need each other are worked off two at a time, by the compiler or by the
/// processor, wherever no clock is read between them, and a lap's end would seem to cost a microsecond.
[[gnu::noinline]] double work(double x, int turns) {
    for (int i = 0; i < turns; ++i) {
        x += 1 / x;
        asm volatile("" : "+x"(x));
    }
    return x;
}

double g_sink = 0;

std::int64_t step(PhaseClock &clock, int turns) {
    const std::int64_t begin = monotonicNs();
    double x = 1;
    for (const Phase phase : laps) {
        x = work(x, turns / static_cast<int>(laps.size()));
        clock.lap(Phase::Forward, phase);
    }
    clock.add(Phase::Comm, 1);
    clock.add(Phase::Wait, 1);
    g_sink += x;
    clock.endStep();
    (void)clock.takeStep(true);
    return monotonicNs() - begin;
}

double quantile(std::vector<double> &values, double share) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

} // namespace

int main(int argc, char **argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 4000;
    int turns = 1000;
    while (true) {                 // as much work as takes about a millisecond here
        std::int64_t quickest = 0; // a busy machine makes single tries longer, none shorter
        for (int i = 0; i < 20; ++i) {
            const std::int64_t begin = monotonicNs();
            g_sink += work(1, turns);
            const std::int64_t took = monotonicNs() - begin;
            quickest = i == 0 ? took : std::min(quickest, took);
        }
        if (quickest > 1'000'000)
            break;
        turns = turns * 5 / 4;
    }
    Trace trace(0, "bench");
    HostClock on(&trace);
    NoClock off;
    on.start();
    std::vector<double> timed, untimed, difference;
    for (int i = 0; i < rounds; ++i) {
        const bool first = i % 2 == 0; // in turns, so that drift falls on both
        const auto a = static_cast<double>(first ? step(on, turns) : step(off, turns));
        const auto b = static_cast<double>(first ? step(off, turns) : step(on, turns));
        timed.push_back(first ? a : b);
        untimed.push_back(first ? b : a);
        difference.push_back((timed.back() / untimed.back() - 1) * 100);
    }
    constexpr int stamps = 1'000'000;
    const std::int64_t begin = monotonicNs();
    for (int i = 0; i < stamps; ++i)
        on.lap(Phase::Forward, Phase::Scatter);
    const double stampNs = static_cast<double>(monotonicNs() - begin) / stamps;
    const double stepNs = quantile(untimed, 0.5);
    std::printf("a stamp: %.1f ns; %zu a step of %.3f ms: %.4f %% of it\n", stampNs, laps.size(), stepNs * 1e-6,
                stampNs * static_cast<double>(laps.size()) / stepNs * 100);
    std::printf("timing on against off, %d pairs in turns: median %+.3f %%, quartiles %+.3f %% to %+.3f %%\n", rounds,
                quantile(difference, 0.5), quantile(difference, 0.25), quantile(difference, 0.75));
    // The untimed step must be the work that was measured above, or the difference is the compiler's and not the stamps'.
    const bool whole = stepNs > 0.9e6;
    if (!whole)
        std::fprintf(stderr, "bench_timing: the untimed step takes %.3f ms and was to take 1: nothing is compared\n",
                     stepNs * 1e-6);
    return g_sink == 0 || !whole;
}
