// SPDX-License-Identifier: MIT
#include "experiment/more_rounds.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/place_limit.h"
#include "experiment/round_order.h"

namespace lockstep::core {
namespace {

/// The first entry of each run that a further round repeats.
std::vector<int> repeatable(const Experiment &experiment) {
    std::set<std::string_view> wanted, taken;
    for (const ExperimentEntry &entry : experiment.entries)
        if (entry.planned.runnable() && entry.state != EntryState::NotRun)
            wanted.insert(entry.planned.name);
    std::vector<int> out;
    for (int i = 0; i < int(experiment.entries.size()); ++i)
        if (const std::string &name = experiment.entries[std::size_t(i)].planned.name;
            wanted.contains(name) && taken.insert(name).second)
            out.push_back(i);
    return out;
}

} // namespace

int roundsOf(const Experiment &experiment) {
    int rounds = 0;
    for (const ExperimentEntry &entry : experiment.entries)
        if (entry.planned.runnable())
            rounds = std::max(rounds, entry.planned.repeat);
    return rounds;
}

bool hasComparison(const Experiment &experiment) {
    return repeatable(experiment).size() > 1;
}

Result<void> addRounds(Experiment &experiment, int rounds, DocumentRoom *room) {
    if (rounds < 1 || rounds > mostRoundsAdded)
        return fail(Error::badArgument(std::to_string(rounds) + " rounds can't be added to experiment " + experiment.id,
                                       "ask for 1 to " + std::to_string(mostRoundsAdded)));
    const std::vector<int> runs = repeatable(experiment);
    if (runs.empty())
        return fail(Error::badArgument("experiment " + experiment.id + " has no run that can be repeated",
                                       "lockstepctl queue " + experiment.id + " says why each was left out"));
    std::size_t places = 0;
    for (const int run : runs)
        places += placeCount(experiment.entries[std::size_t(run)].planned.config);
    if (const Result<void> few = roomFor(experiment, runs.size() * std::size_t(rounds), places * std::size_t(rounds));
        !few)
        return few;
    if (room)
        if (const Result<void> taken = room->takeRounds(experiment, runs, std::size_t(rounds)); !taken)
            return taken;
    const int before = roundsOf(experiment), count = int(runs.size()), start = int(experiment.entries.size());
    std::vector<int> waiting = experiment.queued();
    // A draw of its own for each extension. A round alone is half of a pair: in listed order it would favour the run that comes first.
    const std::uint64_t seed = experiment.orderSeed == 0 ? 0 : experiment.orderSeed + std::uint64_t(before);
    std::vector<int> drawn = drawRounds(count, rounds == 1 ? 2 : rounds, seed);
    drawn.resize(std::size_t(count) * std::size_t(rounds));
    for (int round = before + 1; round <= before + rounds; ++round)
        for (const int run : runs) {
            ExperimentEntry added;
            added.planned = experiment.entries[std::size_t(run)].planned;
            added.planned.repeat = round;
            experiment.entries.push_back(std::move(added));
        }
    for (const int place : drawn)
        waiting.push_back(start + place);
    experiment.setQueued(waiting);
    for (ExperimentEntry &entry : experiment.entries)
        for (const int run : runs)
            if (entry.planned.name == experiment.entries[std::size_t(run)].planned.name)
                entry.planned.repeats = before + rounds;
    return {};
}

std::optional<double> roundS(const Experiment &experiment, const ExperimentClock &clock) {
    const std::vector<std::optional<double>> expected = expectedS(experiment, clock);
    std::vector<TimedRun> waiting;
    for (const int run : repeatable(experiment)) {
        const std::optional<double> one = expected[std::size_t(run)];
        if (!one)
            return std::nullopt;
        waiting.push_back({{experiment.entries[std::size_t(run)].planned.config, false}, *one});
    }
    return waiting.empty() ? std::nullopt : std::optional(timeSideBySide({}, waiting, experiment.sideBySide).seconds);
}

} // namespace lockstep::core
