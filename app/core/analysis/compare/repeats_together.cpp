// SPDX-License-Identifier: MIT
#include "analysis/compare/repeats_together.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace lockstep::core {
namespace {

/// Numbers sets of machines, so that each run's are sorted once and not for every run that it is compared with.
class MachineSets {
public:
    /// The same number for the same machines in any order, as nodes join.
    int numberOf(const RunOutcome &run) {
        Set set;
        for (const MachineRecord &machine : run.conditions.machines)
            set.emplace_back(machine.host, machine.cpuModel);
        std::ranges::sort(set);
        return m_numbers.try_emplace(std::move(set), int(m_numbers.size())).first->second;
    }

private:
    using Set = std::vector<std::pair<std::string_view, std::string_view>>;
    std::map<Set, int> m_numbers;
};

struct PlacedRun {
    const RunOutcome &run;
    int machines; ///< MachineSets::numberOf()
};

bool areOfOneExperiment(const RunOutcome &a, const RunOutcome &b) {
    return !a.experiment.empty() && a.experiment == b.experiment;
}

/// An experiment's runs of one name have one command; what fills its placeholders in may differ, such as the devices.
bool haveSameCommand(const RunOutcome &a, const RunOutcome &b) {
    return a.command == b.command || areOfOneExperiment(a, b);
}

/// In another folder the same words may name another script, unless both report which files they ran.
bool mayBeOfOneFolder(const RunOutcome &a, const RunOutcome &b) {
    return a.folder == b.folder || a.folder.empty() || b.folder.empty() ||
           (!a.conditions.files.empty() && !b.conditions.files.empty()) || areOfOneExperiment(a, b);
}

/// Unless they had unlike amounts of work.
bool areRepeats(const PlacedRun &one, const PlacedRun &other) {
    const RunOutcome &a = one.run, &b = other.run;
    return one.machines == other.machines && a.name == b.name && a.config == b.config && a.claims == b.claims &&
           a.about == b.about && a.processes == b.processes && haveSameCommand(a, b) &&
           editedBetween(a.conditions.files, b.conditions.files).empty();
}

} // namespace

std::vector<RepeatsTogether> repeatsTogether(const std::vector<RunOutcome> &outcomes) {
    MachineSets sets;
    std::vector<RepeatsTogether> out;
    std::vector<int> machines; // of each group
    for (const RunOutcome &outcome : outcomes) {
        const PlacedRun placed{outcome, sets.numberOf(outcome)};
        std::size_t place = 0;
        const auto isItsGroup = [&](const RepeatsTogether &group) {
            return areRepeats({*group.front(), machines[place]}, placed) &&
                   std::ranges::all_of(group, [&](const RunOutcome *one) { return mayBeOfOneFolder(*one, outcome); });
        };
        while (place < out.size() && !isItsGroup(out[place]))
            ++place;
        if (place == out.size()) {
            out.emplace_back();
            machines.push_back(placed.machines);
        }
        out[place].push_back(&outcome);
    }
    return out;
}

} // namespace lockstep::core
