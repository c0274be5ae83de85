// SPDX-License-Identifier: MIT
#pragma once
#include <QString>

namespace lockstep::core {
class ExperimentFollower;
struct QueueRequest;
} // namespace lockstep::core

namespace lockstep::ui {

[[nodiscard]] QString idOf(const core::ExperimentFollower &follower);
/// "DDP on 2 devices on hostA"; on this machine (no host) the name alone.
[[nodiscard]] QString namedOn(const QString &name, const QString &host);
/// What runs now, and where it is asked: "DDP on 2 devices on hostA", "baseline | DP on 2 devices".
[[nodiscard]] QString currentsOf(const core::ExperimentFollower &follower);
/// What is happening while the request is under way: "Pausing the queue on hostA…".
[[nodiscard]] QString sentenceOf(const core::QueueRequest &request, const core::ExperimentFollower &follower);

} // namespace lockstep::ui
