// SPDX-License-Identifier: MIT
// How often the gate for continuous integration (core/analysis/compare/gate.h) is wrong, and how often it finds what it is for:
// planted times of every kind of noise, of two runs in balanced rounds, judged as `lockstepctl check` judges them.
//   bench_gate [EXPERIMENTS]     (1000; of each kind)
// Prints a Markdown table of shares in percent, with 5 % more time allowed. Every draw comes from a fixed seed. Ends with 1 when a goal is
// missed: at most 5 % of identical pairs fail, of those that take exactly what is allowed at most 5 % fail and at most 5 % pass, and at most
// 5 % of those that are 10 % slower pass, each with three standard errors of room. How many of the slower ones fail has no goal here: it follows
// from the noise.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "analysis/compare/gate.h"
#include "tests/bench/planted_noise.h"

using namespace lockstep;
using namespace lockstep::bench;

namespace {

constexpr double allowed = 0.05, planted = 0.10, mostWrong = 0.05;

/// Noise whose logarithm is made smaller.
struct Row {
    std::string name;
    const Noise *noise;
    double scale = 1;
};

std::vector<Row> rows() {
    std::vector<Row> out = {{"lognormal, 1 %", &noises().front(), 1.0 / 3},
                            {"lognormal, 2 %", &noises().front(), 2.0 / 3}};
    for (const Noise &noise : noises())
        out.push_back({noise.name, &noise});
    return out;
}

struct Shares {
    double passed = 0, slower = 0, undecided = 0;
};

std::vector<core::RunOutcome> outcomesOf(const Shape &shape, const Times &times, int run, double scale, double slower) {
    std::vector<core::RunOutcome> out;
    for (int repeat = 0; repeat < shape.repeats; ++repeat) {
        const auto place = std::ranges::find(shape.place, repeat * shape.runs + run) - shape.place.begin();
        core::RunOutcome &one = out.emplace_back();
        one.run = "20260102T030405Z-" + std::to_string(10000000 + place);
        one.name = "train.py";
        one.experiment = "20260102T030405Z-00000000";
        one.repeat = repeat + 1;
        one.config = RunConfig();
        one.script = true;
        one.state = RunState::Done;
        one.startWallUs = 1'000'000 * (1 + place);
        one.totalTrainingTimeS = 10 * (1 + slower) * std::exp(scale * times[std::size_t(run)][std::size_t(repeat)]);
    }
    return out;
}

Shares sharesOf(const Row &row, int repeats, double slower, int experiments) {
    Random random(std::uint64_t(40 + repeats));
    Shares out;
    for (int i = 0; i < experiments; ++i) {
        const Shape shape = drawnShape(2, repeats, random);
        const Times times = drawnTimes(shape, *row.noise, random);
        const auto outcome = core::gateOf("train.py", outcomesOf(shape, times, 0, row.scale, 0),
                                          outcomesOf(shape, times, 1, row.scale, slower), allowed)
                                 .outcome;
        (outcome == core::GateOutcome::Passed   ? out.passed
         : outcome == core::GateOutcome::Slower ? out.slower
                                                : out.undecided) += 1.0 / experiments;
    }
    return out;
}

bool isKept(double wrong, int experiments) {
    return wrong - 3 * std::sqrt(std::max(wrong * (1 - wrong), 0.01) / experiments) <= mostWrong;
}

} // namespace

int main(int argc, char **argv) {
    const int experiments = argc > 1 ? std::atoi(argv[1]) : 1000;
    if (argc > 2 || experiments < 2) {
        std::fprintf(stderr, "bench_gate [EXPERIMENTS]    of each kind, at least 2\n");
        return 2;
    }
    std::printf("| noise | repeats | identical: passed, failed, undecided | 5 %% slower | 10 %% slower | goals |\n"
                "|---|---|---|---|---|---|\n");
    bool kept = true;
    for (const Row &row : rows())
        for (const int repeats : {3, 5, 10}) {
            const Shares same = sharesOf(row, repeats, 0, experiments);
            const Shares border = sharesOf(row, repeats, allowed, experiments);
            const Shares slow = sharesOf(row, repeats, planted, experiments);
            const bool rowKept = isKept(same.slower, experiments) && isKept(border.slower, experiments) &&
                                 isKept(border.passed, experiments) && isKept(slow.passed, experiments);
            std::printf("| %s | %d |", row.name.c_str(), repeats);
            for (const Shares &each : {same, border, slow})
                std::printf(" %.1f, %.1f, %.1f |", 100 * each.passed, 100 * each.slower, 100 * each.undecided);
            std::printf(" %s |\n", rowKept ? "kept" : "MISSED");
            std::fflush(stdout);
            kept = kept && rowKept;
        }
    return kept ? 0 : 1;
}
