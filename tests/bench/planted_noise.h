// SPDX-License-Identifier: MIT
#pragma once
// The noise that benchmarks of intervals plant: what each kind adds to the logarithms of an experiment's times.
#include <cmath>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "experiment/round_order.h"

namespace lockstep::bench {

inline constexpr double scatter = 0.03; ///< of a run's own time, as a standard deviation of its logarithm

using Random = std::mt19937_64;

inline double normal(Random &random) {
    return std::normal_distribution<>()(random);
}
inline double uniform(Random &random) {
    return std::uniform_real_distribution<>()(random);
}

/// Logarithms that are added to the times of an experiment, by run and by repeat.
using Times = std::vector<std::vector<double>>;

struct Shape {
    int runs, repeats;
    std::vector<int>
        place; ///< of run r in repeat k, place[k * runs + i] == k * runs + r: in the order in which they are made
    [[nodiscard]] int run(std::size_t at) const { return place[at] % runs; }
    [[nodiscard]] int repeat(std::size_t at) const { return place[at] / runs; }
};

/// Of other programs, in cores' worth beyond the free ones, by run and by repeat.
using Loads = std::vector<std::vector<double>>;

struct Noise {
    const char *name;
    std::function<void(const Shape &, Random &, Times &)> add;
    bool hasBiasGoal = false;
    std::function<Loads(const Shape &, Random &)> load = {}; ///< as measured; null: not measured
};

/// Of `whole` over the experiment, run by run.
inline void addDrift(const Shape &shape, double whole, Times &times) {
    for (std::size_t i = 0; i < shape.place.size(); ++i)
        times[std::size_t(shape.run(i))][std::size_t(shape.repeat(i))] +=
            std::log1p(whole * double(i) / double(shape.place.size() - 1));
}

inline void addAutocorrelated(const Shape &shape, Random &random, Times &times) {
    double at = normal(random);
    for (std::size_t i = 0; i < shape.place.size(); ++i) {
        times[std::size_t(shape.run(i))][std::size_t(shape.repeat(i))] += 0.05 * at;
        at = 0.7 * at + std::sqrt(1 - 0.49) * normal(random);
    }
}

/// Adds what `draw` gives to every time.
inline auto toEach(std::function<double(Random &)> draw) {
    return [draw = std::move(draw)](const Shape &, Random &random, Times &times) {
        for (auto &run : times)
            for (double &time : run)
                time += draw(random);
    };
}

/// Lets some runs scatter three times as much.
inline auto uneven(std::function<bool(const Shape &, int run)> which) {
    return [which = std::move(which)](const Shape &shape, Random & /*random*/, Times &times) {
        for (int run = 0; run < shape.runs; ++run)
            for (double &time : times[std::size_t(run)])
                time *= which(shape, run) ? 3 : 1;
    };
}

inline const std::vector<Noise> &noises() {
    static const std::vector<Noise> all = {
        {"lognormal, 3 %", [](const Shape &, Random &, Times &) {}},
        {"drift 15 %", [](const Shape &shape, Random &, Times &times) { addDrift(shape, 0.15, times); }, true},
        {"drift 50 %", [](const Shape &shape, Random &, Times &times) { addDrift(shape, 0.5, times); }},
        {"shocks shared by a round, 10 %",
         [](const Shape &shape, Random &random, Times &times) {
             for (int repeat = 0; repeat < shape.repeats; ++repeat)
                 for (const double shock = 0.1 * normal(random); auto &run : times)
                     run[std::size_t(repeat)] += shock;
         }},
        {"one repeat × 1.5",
         [](const Shape &, Random &random, Times &times) {
             auto &run = times[random() % times.size()];
             run[random() % run.size()] += std::log(1.5);
         }},
        {"the reference scatters threefold", uneven([](const Shape &, int run) { return run == 0; })},
        {"half of the runs scatter threefold",
         uneven([](const Shape &shape, int run) { return run >= shape.runs / 2; })},
        {"stalls, up to 20 % in one of ten",
         toEach([](Random &random) { return uniform(random) < 0.1 ? 0.2 * uniform(random) : 0; })},
        {"bimodal, 10 % apart", toEach([](Random &random) { return uniform(random) < 0.5 ? 0.1 : 0; })},
        {"autocorrelated, 0.7",
         [](const Shape &shape, Random &random, Times &times) { addAutocorrelated(shape, random, times); }}};
    return all;
}

/// A busy loop that runs in the first rounds only. `unequal`: every other run has two ranks that wait for each other, and no core is free
/// for the loop; the runs between them have one rank and a free core.
struct BusyRounds {
    std::function<int(const Shape &)> rounds;
    bool unequal = true, measured = true;

    [[nodiscard]] bool hasTwoRanks(int run) const { return !unequal || run % 2 == 1; }
    void add(const Shape &shape, Times &times) const {
        for (int run = 0; run < shape.runs; ++run)
            for (int repeat = 0; repeat < rounds(shape); ++repeat)
                times[std::size_t(run)][std::size_t(repeat)] += std::log(hasTwoRanks(run) ? 1.5 : 1.15);
    }
    [[nodiscard]] Loads load(const Shape &shape, Random &random) const {
        Loads out(std::size_t(shape.runs), std::vector<double>(std::size_t(shape.repeats)));
        for (int run = 0; run < shape.runs; ++run)
            for (int repeat = 0; repeat < shape.repeats; ++repeat)
                out[std::size_t(run)][std::size_t(repeat)] =
                    0.02 * uniform(random) +
                    (repeat < rounds(shape) && hasTwoRanks(run) ? 0.5 + 0.2 * uniform(random) : 0);
        return out;
    }
    [[nodiscard]] Noise named(const char *name) const {
        Noise out{name, [busy = *this](const Shape &shape, Random &, Times &times) { busy.add(shape, times); }};
        if (measured)
            out.load = [busy = *this](const Shape &shape, Random &random) { return busy.load(shape, random); };
        return out;
    }
};

/// Noise of which a part is measured as load. The truth is what a quiet machine shows.
inline const std::vector<Noise> &disturbances() {
    const auto half = [](const Shape &shape) { return shape.repeats / 2; };
    const auto allButTwo = [](const Shape &shape) { return shape.repeats - 2; };
    static const std::vector<Noise> all = {
        BusyRounds{half}.named("load in the first half, × 1.5 and × 1.15"),
        BusyRounds{half, false}.named("load in the first half, × 1.5 of all"),
        BusyRounds{allButTwo}.named("load until two rounds are left, × 1.5 and × 1.15"),
        BusyRounds{allButTwo, false}.named("load until two rounds are left, × 1.5 of all"),
        BusyRounds{half, true, false}.named("load in the first half, × 1.5 and × 1.15, not measured")};
    return all;
}

/// An experiment's times in logarithms, in the order drawn for it.
inline Times drawnTimes(const Shape &shape, const Noise &noise, Random &random) {
    Times times(std::size_t(shape.runs), std::vector<double>(std::size_t(shape.repeats)));
    for (auto &run : times)
        for (double &time : run)
            time = scatter * normal(random);
    noise.add(shape, random, times);
    return times;
}

inline Shape drawnShape(int runs, int repeats, Random &random) {
    return {runs, repeats, core::drawRounds(runs, repeats, random() % 2'147'483'647 + 1)};
}

} // namespace lockstep::bench
