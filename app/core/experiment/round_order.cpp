// SPDX-License-Identifier: MIT
#include "experiment/round_order.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace lockstep::core {
namespace {

/// Of each part its position in one round.
using Positions = std::vector<int>;

/// Fisher and Yates over the generator's own draws: std::shuffle may differ from one library to another.
template <class Value> void shuffle(std::vector<Value> &values, std::mt19937_64 &random) {
    for (std::size_t i = values.size(); i > 1; --i)
        std::swap(values[i - 1], values[random() % i]);
}

Positions listed(int runs) {
    Positions out(static_cast<std::size_t>(runs));
    std::iota(out.begin(), out.end(), 0);
    return out;
}

/// Three rounds in which each part's positions add up to 3 (runs - 1) ÷ 2, rounded down or up where that is no whole number.
std::vector<Positions> balancedTriple(int runs) {
    Positions first = listed(runs), second = first, third = first;
    for (int i = 0; i < runs; ++i) {
        const auto part = static_cast<std::size_t>(i);
        if (runs % 2 != 0) {
            second[part] = (i + (runs - 1) / 2) % runs; // first + second: runs numbers in a row, each once
            third[part] = 3 * (runs - 1) / 2 - (i + second[part]);
        } else {
            second[part] = (i + runs / 2) % runs; // first + second: every other number, each twice, half the runs apart
            third[part] = 3 * runs / 2 - 2 - (i + second[part]) + (i < runs / 2 ? 0 : 1);
        }
    }
    return {first, second, third};
}

} // namespace

std::uint64_t newOrderSeed() {
    std::random_device source;
    return std::uniform_int_distribution<std::uint64_t>(1, 2'147'483'647)(source);
}

std::vector<int> drawRounds(int runs, int rounds, std::uint64_t seed) {
    std::vector<Positions> drawn;
    if (seed == 0 || rounds < 2) {
        drawn.assign(static_cast<std::size_t>(std::max(rounds, 0)), listed(runs));
    } else {
        std::mt19937_64 random(seed);
        if (rounds % 2 != 0) {
            drawn = balancedTriple(runs);
            Positions of = listed(runs); // which run takes which part
            shuffle(of, random);
            for (Positions &round : drawn) {
                Positions taken = round;
                for (std::size_t run = 0; run < of.size(); ++run)
                    taken[run] = round[static_cast<std::size_t>(of[run])];
                round = std::move(taken);
            }
        }
        while (static_cast<int>(drawn.size()) < rounds) {
            Positions forth = listed(runs);
            shuffle(forth, random);
            Positions back = forth;
            for (int &position : back)
                position = runs - 1 - position;
            drawn.push_back(std::move(forth));
            drawn.push_back(std::move(back));
        }
        shuffle(drawn, random);
    }
    std::vector<int> out(static_cast<std::size_t>(runs) * drawn.size());
    for (std::size_t round = 0; round < drawn.size(); ++round)
        for (int run = 0; run < runs; ++run) {
            const auto start = round * static_cast<std::size_t>(runs);
            out[start + static_cast<std::size_t>(drawn[round][static_cast<std::size_t>(run)])] =
                static_cast<int>(start) + run;
        }
    return out;
}

} // namespace lockstep::core
