// SPDX-License-Identifier: MIT
#pragma once
// What the tests of judgements share: runs with known times.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "analysis/compare/judgement.h"

namespace lockstep::test {

using namespace lockstep::core;

using Phases = std::map<std::string, double, std::less<>>;

/// A repeat that trains `load` + `compute` (+ communication) seconds, as ranks report it; `factor` on all of it.
inline RunOutcome runOf(const std::string &name, const RunConfig &config, double load, double compute,
                        double exposed = 0, double factor = 1) {
    static int number = 0;
    RunOutcome out;
    out.run = "run" + std::to_string(++number);
    out.name = name;
    out.config = config;
    out.processes = processCount(config);
    out.state = RunState::Done;
    Phases phases = {{"load", load * factor}, {"forward", compute * factor / 2}, {"backward", compute * factor / 2}};
    if (out.processes > 1) {
        phases["exposed"] = exposed * factor;
        phases["wait"] = 0;
    }
    for (int rank = 0; rank < out.processes; ++rank)
        out.rankPhasesS[rank] = phases;
    out.phasesS = phases;
    out.totalTrainingTimeS = (load + compute + exposed) * factor;
    out.runTimeS = *out.totalTrainingTimeS + 1;
    for (int epoch = 1; epoch <= 2; ++epoch) {
        MergedEpoch one;
        one.epoch = epoch;
        one.durationS = *out.totalTrainingTimeS / 2;
        one.samples = 6400;
        one.complete = true;
        out.epochs.push_back(one);
    }
    out.testAccuracy = 0.88;
    out.finalLoss = 0.3;
    return out;
}

inline RunConfig config(Method method, int devices, int workers) {
    RunConfig out;
    out.method = method;
    out.devices.clear();
    for (int i = 0; i < devices; ++i)
        out.devices.push_back(std::to_string(i));
    out.workers = workers;
    out.loader = "item";
    return out;
}

inline void addRepeats(std::vector<RunOutcome> &all, const std::string &name, const RunConfig &setting, double load,
                       double compute, double exposed = 0, int repeats = 3) {
    for (int i = 0; i < repeats; ++i)
        all.push_back(runOf(name, setting, load, compute, exposed, 1 + 0.01 * (i - 1)));
}

/// The study: DDP with four workers against a baseline without, and the control that it lacked.
inline std::vector<RunOutcome> study(bool withControl, int repeats = 3) {
    std::vector<RunOutcome> all;
    addRepeats(all, "baseline", config(Method::Baseline, 1, 0), 6, 4, 0, repeats);
    addRepeats(all, "DDP on 2 devices", config(Method::Ddp, 2, 4), 1, 2.5, 0.5, repeats);
    if (withControl)
        addRepeats(all, "baseline, 4 workers", config(Method::Baseline, 1, 4), 1, 4, 0, repeats);
    return all;
}

inline bool anyContains(const std::vector<std::string> &texts, const std::string &part) {
    return std::ranges::any_of(texts, [&](const std::string &text) { return text.find(part) != std::string::npos; });
}

inline std::string joined(const std::vector<std::string> &texts) {
    std::string out;
    for (const std::string &text : texts)
        out += text + "\n";
    return out;
}

} // namespace lockstep::test
