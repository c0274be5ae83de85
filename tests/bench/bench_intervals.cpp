// SPDX-License-Identifier: MIT
// How often 95 % intervals of speed-ups hold the truth, and how wide they are: planted times of every kind of noise, judged by the
// functions that every comparison calls. What bench_verdict.cpp does through the command line, in a ten-thousandth of the time.
//   bench_intervals [EXPERIMENTS]     (4000; of each kind)
// Prints two Markdown tables, the second of load that stops half-way, and ends with 1 when a goal is missed. Every draw comes from a
// fixed seed, so that the same program always prints the same tables.
//
// Goals: 93 to 99 % of the intervals hold the planted speed-up; at most 6 % of the families of 15 runs with three repeats, none of
// which differs, claim a difference. Each is judged with three standard errors of room. Under load the truth is what a quiet machine
// shows, and intervals count that are called settled; load that was not measured has no goal.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "analysis/compare/statistics.h"
#include "ipc/median.h"
#include "tests/bench/planted_noise.h"

using namespace lockstep;
using namespace lockstep::bench;

namespace {

struct Counts {
    int intervals = 0, covered = 0, claimed = 0, leftOut = 0, settled = 0, settledCovered = 0;
    std::vector<double> widths;
};

/// One run's repeats as a comparison gets them.
std::vector<core::Repeat> repeatsOf(const Shape &shape, const Times &times, const Loads &loads, int run) {
    std::vector<core::Repeat> out;
    for (int repeat = 0; repeat < shape.repeats; ++repeat) {
        const auto place = std::ranges::find(shape.place, repeat * shape.runs + run) - shape.place.begin();
        out.push_back({std::exp(times[std::size_t(run)][std::size_t(repeat)]), std::to_string(repeat), double(place)});
        if (!loads.empty())
            out.back().load = loads[std::size_t(run)][std::size_t(repeat)];
    }
    return out;
}

void judgeOne(const Shape &shape, const Noise &noise, Random &random, Counts &counts) {
    const Times times = drawnTimes(shape, noise, random);
    const Loads loads = noise.load ? noise.load(shape, random) : Loads();
    const std::vector<core::Repeat> reference = repeatsOf(shape, times, loads, 0);
    std::vector<core::SpeedUp> found;
    for (int run = 1; run < shape.runs; ++run)
        if (const auto speedUp = core::speedUpOf(reference, repeatsOf(shape, times, loads, run)))
            found.push_back(*speedUp);
    std::vector<core::SpeedUp *> family;
    for (core::SpeedUp &one : found) {
        family.push_back(&one);
        ++counts.intervals;
        const bool covered = *one.low <= 1 && 1 <= *one.high;
        counts.covered += covered;
        counts.settled += !one.isUnsettled();
        counts.settledCovered += !one.isUnsettled() && covered;
        counts.leftOut += one.leftOut.has_value();
        counts.widths.push_back(*one.high / *one.low);
    }
    core::decideTogether(family);
    counts.claimed += std::ranges::any_of(found, &core::SpeedUp::isDifferent);
}

/// Whether a share lies within its goal, with room for so many draws.
bool isKept(double share, double least, double most, int draws) {
    const double room = 3 * std::sqrt(std::max(share * (1 - share), 0.01) / draws);
    return share + room >= least && share - room <= most;
}

Counts countsOf(const Noise &noise, int runs, int repeats, int experiments) {
    Random random(std::uint64_t(20 + runs * 100 + repeats));
    Counts out;
    for (int i = 0; i < experiments; ++i)
        judgeOne(drawnShape(runs, repeats, random), noise, random, out);
    return out;
}

/// Adds "covered, width, false families, with a repeat left out" of one shape to its row; false when a goal is missed.
bool addOne(const Noise &noise, int runs, int repeats, int experiments, std::string &row) {
    const Counts counts = countsOf(noise, runs, repeats, experiments);
    const double covered = double(counts.covered) / counts.intervals, families = double(counts.claimed) / experiments;
    char text[100];
    std::snprintf(text, sizeof text, " %.1f %%, %.3f, %.1f %%, %.1f %% |", 100 * covered, *median(counts.widths),
                  100 * families, 100.0 * counts.leftOut / counts.intervals);
    row += text;
    const bool judged = runs == 15 && repeats == 3;
    return isKept(covered, 0.93, 0.99, experiments) && (!judged || isKept(families, 0, 0.06, experiments));
}

/// Adds "settled, covered, width, false families" of one shape under load to its row; false when a goal is missed.
bool addDisturbed(const Noise &noise, int runs, int repeats, int experiments, std::string &row) {
    const Counts counts = countsOf(noise, runs, repeats, experiments);
    const double covered = counts.settled ? double(counts.settledCovered) / counts.settled : 1;
    const double families = double(counts.claimed) / experiments;
    char text[100];
    std::snprintf(text, sizeof text, " %.0f %%, ", 100.0 * counts.settled / counts.intervals);
    row += text;
    if (counts.settled)
        std::snprintf(text, sizeof text, "%.1f %%, ", 100 * covered);
    row += counts.settled ? text : "-, ";
    std::snprintf(text, sizeof text, "%.3f, %.1f %% |", *median(counts.widths), 100 * families);
    row += text;
    const bool judged = runs == 15 && repeats == 3;
    return !noise.load || ((!counts.settled || isKept(covered, 0.93, 0.99, experiments)) &&
                           (!judged || isKept(families, 0, 0.06, experiments)));
}

using AddShape = bool (*)(const Noise &, int runs, int repeats, int experiments, std::string &row);

/// Prints a table; false when a goal is missed.
bool printTable(const std::vector<Noise> &noises, AddShape add, int experiments) {
    std::printf("| noise | runs | 3 repeats | 5 repeats | 10 repeats | goals |\n|---|---|---|---|---|---|\n");
    bool kept = true;
    for (const Noise &noise : noises)
        for (const int runs : {2, 5, 15}) {
            std::string row;
            bool rowKept = true;
            for (const int repeats : {3, 5, 10})
                rowKept = add(noise, runs, repeats, experiments, row) && rowKept;
            const bool hasGoal = add == addOne || noise.load;
            std::printf("| %s | %d |%s %s |\n", noise.name, runs, row.c_str(),
                        !hasGoal  ? "none"
                        : rowKept ? "kept"
                                  : "MISSED");
            std::fflush(stdout);
            kept = kept && rowKept;
        }
    return kept;
}

} // namespace

int main(int argc, char **argv) {
    const int experiments = argc > 1 ? std::atoi(argv[1]) : 4000;
    if (argc > 2 || experiments < 2) {
        std::fprintf(stderr, "bench_intervals [EXPERIMENTS]    of each kind, at least 2\n");
        return 2;
    }
    const bool kept = printTable(noises(), addOne, experiments);
    std::printf("\n");
    return printTable(disturbances(), addDisturbed, experiments) && kept ? 0 : 1;
}
