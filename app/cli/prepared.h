#pragma once
#include <vector>

#include "commands.h"
#include "launch/experiment.h"

namespace lockstep::cli {

using Errors = std::vector<Error>;

/// What `run` was given, a recipe's name, file or stdin.
[[nodiscard]] tl::expected<core::Recipe, Errors> readRecipe(const std::string &name);
[[nodiscard]] tl::expected<core::PlanOptions, Errors> planOptions(const RunOptions &options);
/// The recipe expanded against the machine at `prefix`, its scripts tried there: everything that can be refused is refused here,
/// before anything starts. Not yet on disk.
[[nodiscard]] tl::expected<core::Experiment, Errors> expandAt(const core::CommandPrefix &prefix,
                                                              const core::Recipe &recipe, core::PlanOptions plan,
                                                              const RunOptions &options);
/// All of it, by the options alone.
[[nodiscard]] tl::expected<core::Experiment, Errors> prepare(const RunOptions &options);

} // namespace lockstep::cli
