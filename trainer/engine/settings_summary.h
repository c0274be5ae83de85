// SPDX-License-Identifier: MIT
#pragma once
#include "ipc/run_folder.h"
#include "trainer/engine/rank_session.h"

namespace lockstep::trainer {

/// What a summary says of a run before it trains; the rest is unknown.
[[nodiscard]] Summary summaryOfSettings(const Session &session);

} // namespace lockstep::trainer
