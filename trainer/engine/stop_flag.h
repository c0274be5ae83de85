// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace lockstep::trainer {

/// The request to stop: set by SIGTERM, SIGINT or a control line, read once a step. A global, since a signal handler can use
/// nothing else. Thread and signal safe.
namespace stop_flag {

/// Handles SIGTERM and SIGINT. Until training() is called they end the process at once with 130 (nothing is lost yet);
/// afterwards the first one sets the flag, and one that comes a second later or more ends the process. Signals in between
/// count as the same request: Slurm signals every process of a job besides its agent, and more than once.
void install();
void training();
void request();
[[nodiscard]] bool requested();

} // namespace stop_flag

} // namespace lockstep::trainer
