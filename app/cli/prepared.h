// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "commands.h"
#include "experiment/experiment.h"

namespace lockstep::cli {

using Errors = std::vector<Error>;

/// Loads the recipe given to `run`: a name, a file or stdin.
[[nodiscard]] tl::expected<core::Recipe, Errors> readRecipe(const std::string &name);
[[nodiscard]] tl::expected<core::PlanOptions, Errors> planOptions(const RunOptions &options);
/// Expands the recipe for the machine at `prefix` and checks its scripts there: everything that can be refused is
/// refused here, before anything starts. Not yet on disk.
[[nodiscard]] tl::expected<core::Experiment, Errors> expandAt(const core::CommandPrefix &prefix,
                                                              const core::Recipe &recipe, core::PlanOptions plan,
                                                              const RunOptions &options);
/// All of this, from the options.
[[nodiscard]] tl::expected<core::Experiment, Errors> prepare(const RunOptions &options);

} // namespace lockstep::cli
