// SPDX-License-Identifier: MIT
#pragma once
// A few values of one setting, each trained for a few hundred steps: does the setting matter here?
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/recipe.h"

namespace lockstep::core {

struct SettingTrial {
    std::string key = "bucket_mb";
    std::vector<std::string> values; ///< besides the configuration's own
    std::int64_t steps = 100;        ///< of an epoch, or as many as its samples make; each run has three
    int repeats = 3;
};

/// From "bucket_mb=1,5,100".
[[nodiscard]] Result<SettingTrial> settingTrialFrom(std::string_view text);

/// The settings of which recipeOf() makes trials of this configuration, in the order of runConfigFields().
[[nodiscard]] std::vector<const FieldSpec *> triableSettings(const RunConfig &like);

/// The configuration as it is, then with each of the values, all of them for as many steps. A value that the configuration can't have,
/// or a setting that changes nothing in it, is an error.
[[nodiscard]] Result<Recipe> recipeOf(const SettingTrial &trial, const RunConfig &like, const std::string &title);

} // namespace lockstep::core
