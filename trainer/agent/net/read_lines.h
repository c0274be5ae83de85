// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <string_view>

#include "ipc/error.h"
#include "ipc/line_framer.h"

namespace lockstep::agent {

/// What one look at a peer's socket gave.
struct ReadLines {
    enum class Kind { Nothing, Lines, Closed, Endless }; ///< Endless: a line that never ends; the framer takes no more
    Kind kind = Kind::Nothing;
    Error error = {}; ///< of Endless
};
/// Reads once without waiting, up to 64 KiB, and hands on each whole line. `onLine` may end the connection: it is called for the
/// lines that came with it all the same.
[[nodiscard]] ReadLines readLines(int fd, LineFramer &framer, const std::function<void(std::string_view line)> &onLine);

} // namespace lockstep::agent
