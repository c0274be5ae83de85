// SPDX-License-Identifier: MIT
#include "analysis/fairness/order_effects.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <numbers>

#include "analysis/compare/statistics.h"
#include "base/format.h"
#include "ipc/sound_values.h"

namespace lockstep::core {
namespace {

constexpr double saidFrom = 0.05;
constexpr std::size_t largestBlock = 40;        ///< more repeats of a run than that are compared by their first ones
constexpr std::int64_t mostExactPairs = 10'000; ///< the exact distribution costs the square of that

using Block = std::vector<double>; ///< logarithms, in the order in which they were measured

int sign(double value) {
    return (value > 0) - (value < 0);
}

OrderEffect effectOf(const std::string &key, const std::vector<Block> &blocks) {
    OrderEffect out{key, 1, 1, 0, 0, {}};
    std::vector<int> sizes;
    int s = 0;
    double change = 0;
    for (const Block &block : blocks) {
        const std::size_t size = std::min(block.size(), largestBlock);
        if (size < 2)
            continue;
        for (std::size_t i = 0; i < size; ++i)
            for (std::size_t j = i + 1; j < size; ++j)
                s += sign(block[j] - block[i]);
        change += block[size - 1] - block[0];
        sizes.push_back(int(size));
        out.pairs += int(size * (size - 1) / 2);
        ++out.blocks;
    }
    if (out.blocks == 0)
        return out;
    out.change = std::exp(change / out.blocks);
    out.p = chanceOfTrend(sizes, s);
    return out;
}

struct Timed {
    double time = 0; ///< logarithm
    std::int64_t start = 0;
    std::string round;
};

/// Repeats of one experiment with a round, in the order of their start.
std::vector<Timed> timedOf(const RepeatGroup &group) {
    std::vector<Timed> out;
    for (const RunOutcome &run : group.runs)
        if (run.totalTrainingTimeS && isTimeOfWork(*run.totalTrainingTimeS) && run.startWallUs > 0)
            if (const std::string round = roundOf(run); !round.empty())
                out.push_back({std::log(*run.totalTrainingTimeS), run.startWallUs, round});
    std::ranges::sort(out, {}, &Timed::start);
    return out;
}

std::string chanceText(double p) {
    return p < 0.001 ? "p < 0.001" : "p = " + significant(p, 2).toStdString();
}

void say(OrderEffect &effect) {
    if (effect.p >= saidFrom || std::fabs(std::log(effect.change)) < std::log1p(equalWithin))
        return;
    const bool longer = effect.change > 1;
    const std::string by = percent(std::fabs(effect.change - 1), 0).toStdString() + (longer ? " longer" : " shorter");
    effect.sentence =
        effect.key == "round"
            ? "times changed over the rounds: each run's last repeat took " + by + " than its first (rank test, " +
                  chanceText(effect.p) +
                  "). In balanced rounds it hits all runs alike; repeats that were added later it does not."
            : "times depended on the place within a round: the last run of a round took " + by +
                  " than the first, beyond what the runs themselves differ by (rank test, " + chanceText(effect.p) +
                  ").";
}

double exactChance(const std::vector<int> &sizes, int s) {
    std::vector<double> shares = {1}; // of the numbers of pairs in which the later one is larger
    for (const int size : sizes)
        for (int length = 2; length <= size; ++length) { // the next value lies above 0 … length - 1 of those before it
            std::vector<double> next(shares.size() + std::size_t(length) - 1);
            for (std::size_t at = 0; at < shares.size(); ++at)
                for (int above = 0; above < length; ++above)
                    next[at + std::size_t(above)] += shares[at] / length;
            shares = std::move(next);
        }
    const int pairs = int(shares.size()) - 1;
    double chance = 0;
    for (int larger = 0; larger <= pairs; ++larger)
        if (std::abs(2 * larger - pairs) >= std::abs(s))
            chance += shares[std::size_t(larger)];
    return std::min(1.0, chance);
}

/// S is a sum of independent numbers, evenly spread over as many steps of 2 as a value has places among those before it:
/// their cumulants add up.
double nearlyNormalChance(const std::vector<int> &sizes, int s) {
    double variance = 0, fourth = 0;
    for (const int size : sizes)
        for (int length = 2; length <= size; ++length) {
            const double square = double(length) * length;
            variance += (square - 1) / 3;
            fourth -= 2 * (square * square - 1) / 15;
        }
    const double z = std::max(0, std::abs(s) - 1) / std::sqrt(variance); // halfway to the next value of S
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    const double forKurtosis = 2 * density * fourth / (variance * variance) / 24 * (z * z * z - 3 * z);
    return std::clamp(std::erfc(z / std::numbers::sqrt2) + forKurtosis, 0.0, 1.0);
}

} // namespace

double chanceOfTrend(const std::vector<int> &sizes, int s) {
    std::int64_t pairs = 0;
    for (const int size : sizes)
        pairs += std::int64_t{size} * (size - 1) / 2;
    return pairs > mostExactPairs ? nearlyNormalChance(sizes, s) : exactChance(sizes, s);
}

std::vector<OrderEffect> orderEffectsOf(const std::vector<RepeatGroup> &groups) {
    std::vector<Block> ofGroups;
    std::map<std::string, std::vector<Timed>> rounds;
    for (const RepeatGroup &group : groups) {
        const std::vector<Timed> timed = timedOf(group);
        double sum = 0;
        Block block;
        for (const Timed &one : timed) {
            block.push_back(one.time);
            sum += one.time;
        }
        for (Timed one : timed) {
            one.time -= sum / double(timed.size());
            rounds[one.round].push_back(std::move(one));
        }
        ofGroups.push_back(std::move(block));
    }
    std::vector<Block> ofRounds;
    for (auto &[name, round] : rounds) {
        std::ranges::sort(round, {}, &Timed::start);
        Block block;
        for (const Timed &one : round)
            block.push_back(one.time);
        ofRounds.push_back(std::move(block));
    }
    std::vector<OrderEffect> out;
    for (OrderEffect effect : {effectOf("round", ofGroups), effectOf("position", ofRounds)})
        if (effect.blocks > 0) {
            say(effect);
            out.push_back(std::move(effect));
        }
    return out;
}

} // namespace lockstep::core
