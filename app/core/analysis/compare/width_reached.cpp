// SPDX-License-Identifier: MIT
#include "analysis/compare/width_reached.h"

#include <algorithm>
#include <map>
#include <vector>

#include "analysis/compare/settling.h"
#include "analysis/compare/statistics.h"
#include "experiment/more_rounds.h"

namespace lockstep::core {
namespace {

using RepeatsByRun = std::map<std::string, std::vector<Repeat>>;

struct Widest {
    std::optional<double> width; ///< absent: a run has no interval
    std::string run;
    bool settled = true; ///< every interval is of three quiet rounds or more (Disturbance)
    [[nodiscard]] bool reaches(double goal) const { return settled && width && *width <= goal; }
};

/// Of the rounds up to `last`.
Widest widestOf(const RepeatsByRun &runs, const std::string &reference, int last) {
    const auto until = [last](std::vector<Repeat> repeats) {
        std::erase_if(repeats, [last](const Repeat &one) { return std::stoi(one.round) > last; });
        return repeats;
    };
    Widest out;
    const auto base = runs.find(reference);
    if (base == runs.end())
        return out;
    const std::vector<Repeat> before = until(base->second);
    for (const auto &[name, repeats] : runs) {
        if (name == reference)
            continue;
        const std::optional<SpeedUp> speedUp = speedUpOf(before, until(repeats));
        const std::optional<double> width = speedUp ? widthOf(*speedUp) : std::nullopt;
        if (!width)
            return {std::nullopt, name};
        out.settled = out.settled && !speedUp->isUnsettled();
        if (!out.width || *width > *out.width) {
            out.width = width;
            out.run = name;
        }
    }
    return out;
}

/// Estimated rounds in all; absent where any run's are unknown or more than allowed.
std::optional<int> expectedRounds(const RepeatsByRun &runs, const std::string &reference, const WidthGoal &goal,
                                  int rounds) {
    int out = rounds;
    for (const auto &[name, repeats] : runs) {
        if (name == reference)
            continue;
        const std::optional<SpeedUp> speedUp = speedUpOf(runs.at(reference), repeats);
        if (speedUp && speedUp->isUnsettled()) { // at least
            out = std::max(out, rounds + lackingQuietRepeats(*speedUp));
            continue;
        }
        const std::optional<int> wanted = speedUp ? repeatsForWidth(*speedUp, goal.width) : std::nullopt;
        if (!wanted)
            return std::nullopt;
        out = std::max(out, *wanted + int(repeats.size()) - speedUp->runRepeats); // with those that don't count
    }
    out += roundsAddedAtOnce; // the second check
    return out <= goal.mostRounds ? std::optional(out) : std::nullopt;
}

} // namespace

WidthReached widthReached(const Experiment &experiment, const TrainingTimeSource &trainingTimes) {
    WidthReached out;
    out.rounds = roundsOf(experiment);
    if (!experiment.until)
        return out;
    RepeatsByRun runs;
    for (const ExperimentEntry &entry : experiment.entries) {
        if (!entry.planned.runnable() || entry.state == EntryState::NotRun)
            continue;
        std::vector<Repeat> &repeats = runs[entry.planned.name];
        if (entry.state == EntryState::Done)
            if (const std::optional<Repeat> made = trainingTimes(entry.run))
                repeats.push_back({made->value, std::to_string(entry.planned.repeat), made->moment, made->load,
                                   entry.planned.repeat, made->earlierS});
    }
    const Widest now = widestOf(runs, experiment.reference, out.rounds);
    out.width = now.width;
    out.run = now.run;
    if (!now.width)
        return out;
    const WidthGoal &goal = experiment.until->goal;
    const Widest before = widestOf(runs, experiment.reference, out.rounds - roundsAddedAtOnce);
    out.narrow = now.reaches(goal.width) && before.reaches(goal.width);
    if (!out.narrow)
        out.expected = expectedRounds(runs, experiment.reference, goal, out.rounds);
    return out;
}

} // namespace lockstep::core
