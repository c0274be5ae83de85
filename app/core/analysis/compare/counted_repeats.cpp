// SPDX-License-Identifier: MIT
#include "analysis/compare/counted_repeats.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

namespace lockstep::core {
namespace {

/// Beyond its run's quietest repeat, of each; empty where any is unknown.
std::vector<double> excessOf(const std::vector<Repeat> &repeats) {
    std::vector<double> out;
    for (const Repeat &repeat : repeats) {
        if (!repeat.load)
            return {};
        out.push_back(*repeat.load);
    }
    const double least = out.empty() ? 0 : *std::ranges::min_element(out);
    for (double &each : out)
        each -= least;
    return out;
}

/// Each repeat of both sides, and whether it was disturbed.
class Disturbed {
public:
    Disturbed(const std::vector<Repeat> &reference, const std::vector<Repeat> &run)
        : m_reference(busyOf(reference)), m_run(busyOf(run)) {
        takeRounds(reference, m_reference);
        takeRounds(run, m_run);
        for (const auto &[repeats, disturbed] : {std::pair{&reference, &m_reference}, {&run, &m_run}})
            for (std::size_t i = 0; i < repeats->size(); ++i)
                if (const std::string &round = (*repeats)[i].round; !round.empty() && m_rounds.contains(round))
                    (*disturbed)[i] = true;
    }
    [[nodiscard]] std::optional<Disturbance> found(const std::vector<Repeat> &reference,
                                                   const std::vector<Repeat> &run) const {
        if (m_most == 0)
            return std::nullopt;
        std::set<int> numbers;
        for (const std::vector<Repeat> *repeats : {&reference, &run})
            for (const Repeat &repeat : *repeats)
                if (m_rounds.contains(repeat.round))
                    numbers.insert(repeat.number);
        const auto quiet = std::min(std::ranges::count(m_reference, false), std::ranges::count(m_run, false));
        return Disturbance{{numbers.begin(), numbers.end()}, m_most, int(quiet)};
    }
    [[nodiscard]] std::vector<std::size_t> quietOfReference() const { return quietOf(m_reference); }
    [[nodiscard]] std::vector<std::size_t> quietOfRun() const { return quietOf(m_run); }

private:
    std::vector<bool> busyOf(const std::vector<Repeat> &repeats) {
        std::vector<bool> out(repeats.size());
        const std::vector<double> excess = excessOf(repeats);
        for (std::size_t i = 0; i < excess.size(); ++i) {
            out[i] = excess[i] >= disturbedFrom;
            if (out[i])
                m_most = std::max(m_most, excess[i]);
        }
        return out;
    }
    void takeRounds(const std::vector<Repeat> &repeats, const std::vector<bool> &busy) {
        for (std::size_t i = 0; i < repeats.size(); ++i)
            if (busy[i] && !repeats[i].round.empty())
                m_rounds.insert(repeats[i].round);
    }
    static std::vector<std::size_t> quietOf(const std::vector<bool> &disturbed) {
        std::vector<std::size_t> out;
        for (std::size_t i = 0; i < disturbed.size(); ++i)
            if (!disturbed[i])
                out.push_back(i);
        return out;
    }
    double m_most = 0;
    std::set<std::string> m_rounds;
    std::vector<bool> m_reference, m_run;
};

std::vector<std::size_t> allPlaces(const std::vector<Repeat> &repeats) {
    std::vector<std::size_t> out(repeats.size());
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = i;
    return out;
}

std::vector<Repeat> logsAt(const std::vector<Repeat> &times, const std::vector<std::size_t> &places) {
    std::vector<Repeat> out = pick(times, places);
    for (Repeat &one : out)
        one.value = std::log(one.value);
    return out;
}

void leaveOutStandingOut(const std::vector<Repeat> &reference, const std::vector<Repeat> &run, CountedRepeats &out) {
    out.standingOut = standingOut(logsAt(reference, out.reference), logsAt(run, out.run));
    if (!out.standingOut)
        return;
    std::vector<std::size_t> &places = out.standingOut->ofFirst ? out.reference : out.run;
    const auto place = places.begin() + std::ptrdiff_t(out.standingOut->index);
    out.standingOut->index = *place;
    places.erase(place);
}

/// "round 1", "rounds 1-3", "rounds 1, 3 and 5"; "some repeats" of those made in no rounds.
std::string listOfRounds(const std::vector<int> &rounds) {
    if (rounds.empty())
        return "some repeats";
    if (rounds.size() == 1)
        return "round " + std::to_string(rounds.front());
    if (rounds.size() > 2 && rounds.back() - rounds.front() == int(rounds.size()) - 1)
        return "rounds " + std::to_string(rounds.front()) + "-" + std::to_string(rounds.back());
    std::string out = "rounds ";
    for (std::size_t i = 0; i < rounds.size(); ++i)
        out += (i == 0 ? "" : i + 1 == rounds.size() ? " and " : ", ") + std::to_string(rounds[i]);
    return out;
}

} // namespace

std::string busyText(const Disturbance &disturbance) {
    return "other programs were busy in " + listOfRounds(disturbance.rounds);
}

CountedRepeats countedRepeats(const std::vector<Repeat> &reference, const std::vector<Repeat> &run) {
    CountedRepeats out{allPlaces(reference), allPlaces(run), {}, {}};
    if (int(std::min(reference.size(), run.size())) < repeatsForInterval)
        return out;
    const Disturbed disturbed(reference, run);
    out.disturbance = disturbed.found(reference, run);
    if (out.disturbance && out.disturbance->isLeftOut()) {
        out.reference = disturbed.quietOfReference();
        out.run = disturbed.quietOfRun();
    }
    leaveOutStandingOut(reference, run, out);
    return out;
}

} // namespace lockstep::core
