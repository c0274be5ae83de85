// SPDX-License-Identifier: MIT
#pragma once
#include "ipc/error.h"

namespace lockstep::trainer {

struct Session;

/// Refuses ranks that would not train the same: with another value of a setting that decides what is trained or for how long, on
/// other data or other tokens of them, or with another file or other sizes and rates of the model. All ranks must call it, once they have met, and all get the same sentence. Where
/// a node keeps its files, and on what it trains, may differ.
[[nodiscard]] Result<void> checkRanksAlike(Session &session);

} // namespace lockstep::trainer
