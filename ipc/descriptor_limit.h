// SPDX-License-Identifier: MIT
#pragma once

namespace lockstep {

/// Lets this process open as many files at once as its hard limit allows, 65,536 at most: an agent has many followers, a viewer the logs
/// of many runs. What it starts inherits that; only programs that use select() can't handle numbers above 1024.
void raiseDescriptorLimit();

} // namespace lockstep
