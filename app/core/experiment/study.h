// SPDX-License-Identifier: MIT
#pragma once
// A study of somebody's own training script: the same script with other numbers of processes and other flags, as a recipe.
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiment/recipe.h"

namespace lockstep::core {

/// The keys of a run that say where a script runs; all else is the script's own affair.
[[nodiscard]] const std::vector<std::string> &placeKeys();

/// A flag of the script and the values that it takes in turn.
struct VariedFlag {
    std::string name; ///< without dashes: "amp", "num-workers"
    std::vector<std::string> values;
    bool operator==(const VariedFlag &) const = default;
};
/// From "amp=off,on" or "--hidden=128,256".
[[nodiscard]] Result<VariedFlag> variedFlagFrom(std::string_view text);
/// From "1,2,4": whole numbers from 1, each once.
[[nodiscard]] Result<std::vector<int>> processCountsFrom(std::string_view text);

struct Study {
    std::string script;                 ///< an absolute path
    std::string python;                 ///< empty: the agent looks for one that has torch
    std::vector<std::string> arguments; ///< given in every run
    std::vector<int> processes = {1, 2};
    std::vector<VariedFlag> varied;
    std::string device = "auto"; ///< cpu, cuda or auto
    int coresPerDevice = 1;      ///< of CPU devices
    int repeats = 3;
    std::chrono::seconds trialLimit{600}; ///< in which a trial must have ended its step
    std::optional<std::int64_t> maxSteps; ///< of one process; runs of several end after as many samples
};

/// Whether its runs are as many as a recipe can have and its numbers of processes can share a batch; to be asked before any of the
/// functions below.
[[nodiscard]] Result<void> checkStudy(const Study &study);

/// Adds a flag as variedFlagFrom() reads it; one that is varied already is refused.
[[nodiscard]] Result<void> addVaried(Study &study, std::string_view text);

/// What a trial of one step has shown about a number of processes.
struct StudyTrial {
    std::int64_t samples = 0; ///< of a process's first step; 0: unknown
    bool givesRank = false;   ///< a lone process needs RANK and WORLD_SIZE too (rank 0 of 1), or it fails
};
using StudyTrials = std::map<int, StudyTrial>; ///< by number of processes

/// Short runs, ended after one step, that find out whether the script takes these arguments: one for each number of processes, and
/// one for each further value of a flag. `givesRank`: see StudyTrial.
[[nodiscard]] std::vector<RunSpec> trialsOf(const Study &study, bool givesRank);
/// The whole study. With `maxSteps` every run ends after as many samples as the first one takes for these steps, as far as
/// trials know them.
[[nodiscard]] Recipe recipeOf(const Study &study, const StudyTrials &trials);
/// How samples grow with processes, a sentence each: "Weak scaling: …"; empty where the trials do not show it.
[[nodiscard]] std::vector<std::string> scalingNotes(const Study &study, const StudyTrials &trials);

} // namespace lockstep::core
