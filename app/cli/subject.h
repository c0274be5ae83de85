// SPDX-License-Identifier: MIT
#pragma once
#include <set>
#include <string>
#include <vector>

#include "ipc/run_config.h"
#include "lab/forecast.h"
#include "prepared.h"

namespace lockstep::cli {

/// What a forecast or a trial is about: one configuration, out of a recipe or of a run.
struct Subject {
    std::string recipe, title; ///< recipe: its name, or the run's id
    RunConfig config;
    std::set<core::ForecastRun> runs; ///< those that can be forecast
    std::string leftOut;              ///< a sentence: runs with other steps, which can't; empty: there are none
};

/// `what`: a run's id, or a recipe's name or file; of a recipe its first DDP run, else its first run. `set`: KEY=VALUE, for a recipe.
[[nodiscard]] tl::expected<Subject, Errors> subjectOf(const std::string &what, const std::vector<std::string> &set);

} // namespace lockstep::cli
