// SPDX-License-Identifier: MIT
#include "experiment/experiment_time.h"

#include <algorithm>
#include <vector>

namespace lockstep::core {
namespace {

std::optional<double> ask(const std::function<std::optional<double>(int)> &source, int entry) {
    return source ? source(entry) : std::nullopt;
}

const ExperimentEntry &at(const Experiment &experiment, int entry) {
    return experiment.entries[std::size_t(entry)];
}

} // namespace

std::optional<double> expectedS(const Experiment &experiment, int entry, const ExperimentClock &clock) {
    std::vector<double> own;
    for (int i = 0; i < int(experiment.entries.size()); ++i)
        if (at(experiment, i).state == EntryState::Done &&
            at(experiment, i).planned.name == at(experiment, entry).planned.name)
            if (const auto took = ask(clock.runTimeS, i))
                own.push_back(*took);
    if (own.empty())
        return at(experiment, entry).planned.estimateS;
    const auto middle = own.begin() + std::ptrdiff_t(own.size() / 2);
    std::nth_element(own.begin(), middle, own.end());
    return *middle;
}

std::optional<double> leftS(const Experiment &experiment, const ExperimentClock &clock) {
    std::vector<TimedRun> running, waiting;
    for (const int i : experiment.currents()) {
        std::optional<double> one;
        if (at(experiment, i).state == EntryState::Running)
            one = ask(clock.leftS, i);
        if (!one) // just begun
            one = expectedS(experiment, i, clock);
        if (!one)
            return std::nullopt;
        running.push_back({{at(experiment, i).config(), at(experiment, i).alone}, *one});
    }
    for (const int i : experiment.queued()) {
        const std::optional<double> one = expectedS(experiment, i, clock);
        if (!one)
            return std::nullopt;
        waiting.push_back({{at(experiment, i).planned.config, at(experiment, i).alone}, *one});
    }
    return timeSideBySide(running, waiting, experiment.sideBySide).seconds;
}

std::optional<double> progressOf(const Experiment &experiment, const ExperimentClock &clock) {
    double done = 0, whole = 0, doneRuns = 0;
    int runs = 0;
    bool known = true;
    for (int i = 0; i < int(experiment.entries.size()); ++i) {
        const ExperimentEntry &entry = at(experiment, i);
        if (!entry.planned.runnable())
            continue;
        ++runs;
        const double share = isOver(entry.state)                  ? 1
                             : entry.state == EntryState::Running ? ask(clock.fraction, i).value_or(0)
                                                                  : 0;
        doneRuns += share;
        if (const auto expected = expectedS(experiment, i, clock)) {
            whole += *expected;
            done += share * *expected;
        } else
            known = false;
    }
    if (runs == 0)
        return std::nullopt;
    return known && whole > 0 ? done / whole : doneRuns / runs;
}

} // namespace lockstep::core
