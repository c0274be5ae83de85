// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "ipc/frames.h"

namespace lockstep::agent {

/// A sample of devices and processes as frames that each fit into a line, whatever the number of ranks: a single one up to about a
/// hundred. What is not of one device or process is in the first. All have the sample's time, by which readers know that they are one.
[[nodiscard]] std::vector<Frame> partsOf(Frame sample);

} // namespace lockstep::agent
