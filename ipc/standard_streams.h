// SPDX-License-Identifier: MIT
#pragma once

namespace lockstep {

/// Opens /dev/null in place of stdin, stdout and stderr where the program was started without them. Otherwise the next file that it opens
/// would take that number, and get what is printed. Call it first in main().
void openMissingStandardStreams();

} // namespace lockstep
