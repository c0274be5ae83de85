// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "experiment/plan.h"

namespace lockstep::core {

/// Whether a setting is one that comparisons vary: method, devices, backend, nodes.
[[nodiscard]] bool isMeant(std::string_view key);
/// "baseline", "DDP on 2 devices" (ipc/run_title.h), "async server on 3 devices, 1 server device"; with the backend ("DDP on 2 devices,
/// gloo") if requested.
[[nodiscard]] std::string runTitle(const RunConfig &config, bool withBackend = false);
/// A setting as part of a name: "4 workers", "batch loader", "fp64", "seed 1", "no pin memory".
[[nodiscard]] std::string settingText(const RunConfig &config, std::string_view key);
/// Whether another value of that key on every run may rename the recipe's runs: it is part of a title, or they
/// differ in it.
[[nodiscard]] bool mayRename(const Recipe &recipe, std::string_view key);

enum class Defaults { Omitted, Named };
/// Adds differing settings to the names of runs with the same name: "baseline, 4 workers, bf16". Defaults are left out, so that one run
/// may keep its name; older versions named them, too. The cores of loading workers come last, and only if nothing else distinguishes
/// two runs.
void tellApart(const std::vector<PlannedRun *> &runs, Defaults defaults = Defaults::Omitted);

} // namespace lockstep::core
