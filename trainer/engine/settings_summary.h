// SPDX-License-Identifier: MIT
#pragma once
#include "ipc/run_folder.h"
#include "trainer/engine/rank_session.h"

namespace lockstep::trainer {

/// The part of a run's summary that is known before it trains.
[[nodiscard]] Summary summaryOfSettings(const Session &session);

} // namespace lockstep::trainer
