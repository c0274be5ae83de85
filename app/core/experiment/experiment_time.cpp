// SPDX-License-Identifier: MIT
#include "experiment/experiment_time.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace lockstep::core {
namespace {

std::optional<double> ask(const std::function<std::optional<double>(int)> &source, int entry) {
    return source ? source(entry) : std::nullopt;
}

const ExperimentEntry &at(const Experiment &experiment, int entry) {
    return experiment.entries[std::size_t(entry)];
}

} // namespace

std::vector<std::optional<double>> expectedS(const Experiment &experiment, const ExperimentClock &clock) {
    std::map<std::string_view, std::vector<double>> finished;
    for (int i = 0; i < int(experiment.entries.size()); ++i)
        if (at(experiment, i).state == EntryState::Done)
            if (const auto took = ask(clock.runTimeS, i))
                finished[at(experiment, i).planned.name].push_back(*took);
    std::map<std::string_view, double> medians;
    for (auto &[name, times] : finished) {
        const auto middle = times.begin() + std::ptrdiff_t(times.size() / 2);
        std::nth_element(times.begin(), middle, times.end());
        medians[name] = *middle;
    }
    std::vector<std::optional<double>> out;
    for (const ExperimentEntry &entry : experiment.entries) {
        const auto known = medians.find(entry.planned.name);
        out.push_back(known == medians.end() ? entry.planned.estimateS : known->second);
    }
    return out;
}

std::optional<double> leftS(const Experiment &experiment, const ExperimentClock &clock) {
    const std::vector<std::optional<double>> expected = expectedS(experiment, clock);
    std::vector<TimedRun> running, waiting;
    for (const int i : experiment.currents()) {
        std::optional<double> one;
        if (at(experiment, i).state == EntryState::Running)
            one = ask(clock.leftS, i);
        if (!one) // just begun
            one = expected[std::size_t(i)];
        if (!one)
            return std::nullopt;
        running.push_back({{at(experiment, i).config(), at(experiment, i).alone}, *one});
    }
    for (const int i : experiment.queued()) {
        const std::optional<double> one = expected[std::size_t(i)];
        if (!one)
            return std::nullopt;
        waiting.push_back({{at(experiment, i).planned.config, at(experiment, i).alone}, *one});
    }
    return timeSideBySide(running, waiting, experiment.sideBySide).seconds;
}

std::optional<double> progressOf(const Experiment &experiment, const ExperimentClock &clock) {
    const std::vector<std::optional<double>> expected = expectedS(experiment, clock);
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
        if (const std::optional<double> one = expected[std::size_t(i)]) {
            whole += *one;
            done += share * *one;
        } else
            known = false;
    }
    if (runs == 0)
        return std::nullopt;
    return known && whole > 0 ? done / whole : doneRuns / runs;
}

} // namespace lockstep::core
