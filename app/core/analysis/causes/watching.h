// SPDX-License-Identifier: MIT
#pragma once
// What watching took of a run's machine, in words: figures that were measured, and what follows from them.
#include <optional>

#include <QString>

#include "ipc/run_folder.h"

namespace lockstep::core {

/// What a finished run recorded, as one sentence; `freeCores` from its record, `runTimeS` of the whole run. Of several
/// nodes it says whose figures these are, as surroundingsText() does.
[[nodiscard]] QString watchingText(const Watching &watching, std::optional<int> freeCores, double runTimeS);

/// The same while a run goes on: `share` is what the viewers take now. Empty when that is unknown.
[[nodiscard]] QString watchingNowText(std::optional<double> share, std::optional<int> freeCores);

/// What else went on there: others' load, stolen time, clocks held down; as one sentence. Unknown parts are left out.
[[nodiscard]] QString surroundingsText(const Surroundings &around);

} // namespace lockstep::core
