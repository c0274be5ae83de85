// SPDX-License-Identifier: MIT
#pragma once

namespace lockstep {

/// From now on a program whose memory runs out says so on stderr in one sentence and ends with exit code 1, instead of being
/// aborted. It ends as if it had been killed: nothing is unwound, since that would allocate. This holds for new (std::nothrow), too.
/// `program`: its name, which has to outlive it. Call it once, first in main().
void endWhenOutOfMemory(const char *program);

} // namespace lockstep
