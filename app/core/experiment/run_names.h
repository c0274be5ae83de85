// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "experiment/plan.h"

namespace lockstep::core {

/// Whether a setting is one that comparisons vary: method, devices, backend, nodes.
[[nodiscard]] bool isMeant(std::string_view key);
/// "baseline", "DP ×2", "DDP ×2", "server ×2"; with the backend ("DDP ×2 gloo") if requested.
[[nodiscard]] std::string runTitle(const RunConfig &config, bool withBackend = false);
/// A setting as part of a name: "4 workers", "batch loader", "fp64", "seed 1", "no pin memory".
[[nodiscard]] std::string settingText(const RunConfig &config, std::string_view key);
/// Whether another value of that key on every run may rename the recipe's runs: it is part of a title, or they
/// differ in it.
[[nodiscard]] bool mayRename(const Recipe &recipe, std::string_view key);

/// Adds differing settings to the names of runs with the same name: "baseline, 4 workers, bf16". Defaults are left out, so that one run
/// may keep its name. The cores of loading workers come last, and only if nothing else distinguishes two runs.
void tellApart(const std::vector<PlannedRun *> &runs);

} // namespace lockstep::core
