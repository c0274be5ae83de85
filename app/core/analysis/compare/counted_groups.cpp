// SPDX-License-Identifier: MIT
#include "analysis/compare/counted_groups.h"

#include <algorithm>
#include <set>

namespace lockstep::core {
namespace {

bool isKnownOfAll(const std::vector<Repeat> &values, const RepeatGroup &group) {
    return values.size() == group.runs.size();
}

void takeRoundsLeftOut(const RepeatGroup &group, const std::vector<std::size_t> &counting,
                       const std::optional<std::size_t> &standingOut, std::set<std::string> &out) {
    for (std::size_t place = 0; place < group.runs.size(); ++place)
        if (!std::ranges::binary_search(counting, place) && standingOut != place)
            if (std::string round = roundOf(group.runs[place]); !round.empty())
                out.insert(std::move(round));
}

} // namespace

std::optional<double> trainingTimeOf(const RunOutcome &run) {
    return run.totalTrainingTimeS;
}

std::optional<double> wholeTimeOf(const RunOutcome &run) {
    return run.runTimeS;
}

std::vector<Repeat> repeatsOf(const RepeatGroup &group, RunFigure figure) {
    std::vector<Repeat> out;
    for (const RunOutcome &run : group.runs) {
        const std::optional<double> value = figure(run);
        if (value)
            out.push_back(repeatOf(run, *value, figure == trainingTimeOf ? run.earlierS : 0));
    }
    return out;
}

std::optional<CountedRepeats> countedOf(const RepeatGroup &reference, const RepeatGroup &run) {
    for (const RunFigure figure : {trainingTimeOf, wholeTimeOf}) {
        const std::vector<Repeat> before = repeatsOf(reference, figure), after = repeatsOf(run, figure);
        if (isKnownOfAll(before, reference) && isKnownOfAll(after, run))
            if (auto counted = countedOf(before, after))
                return counted;
    }
    return std::nullopt;
}

std::optional<SpeedUp> speedUpBy(RunFigure figure, const RepeatGroup &reference, const RepeatGroup &run,
                                 const std::optional<CountedRepeats> &counted) {
    const std::vector<Repeat> before = repeatsOf(reference, figure), after = repeatsOf(run, figure);
    return counted && isKnownOfAll(before, reference) && isKnownOfAll(after, run) ? speedUpOf(before, after, *counted)
                                                                                  : speedUpOf(before, after);
}

RepeatGroup withOnly(const RepeatGroup &group, const std::vector<std::size_t> &places) {
    return {group.name, pick(group.runs, places), group.reference, group.command};
}

RepeatGroup withoutRounds(const RepeatGroup &group, const std::vector<std::string> &rounds) {
    std::vector<std::size_t> places;
    for (std::size_t place = 0; place < group.runs.size(); ++place)
        if (std::ranges::find(rounds, roundOf(group.runs[place])) == rounds.end())
            places.push_back(place);
    return places.empty() ? group : withOnly(group, places);
}

std::vector<std::string> roundsLeftOut(const RepeatGroup &reference, const RepeatGroup &run,
                                       const CountedRepeats &counted) {
    if (!counted.disturbance || !counted.disturbance->isLeftOut())
        return {};
    std::set<std::string> out;
    const auto ofSide = [&](bool first) {
        return counted.standingOut && counted.standingOut->ofFirst == first ? std::optional(counted.standingOut->index)
                                                                            : std::nullopt;
    };
    takeRoundsLeftOut(reference, counted.reference, ofSide(true), out);
    takeRoundsLeftOut(run, counted.run, ofSide(false), out);
    return {out.begin(), out.end()};
}

} // namespace lockstep::core
