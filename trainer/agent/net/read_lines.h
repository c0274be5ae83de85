// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <string_view>

#include "ipc/error.h"
#include "ipc/line_framer.h"

namespace lockstep::agent {

/// The result of one read from a peer's socket.
struct ReadLines {
    enum class Kind { Nothing, Lines, Closed, Endless }; ///< Endless: a line longer than the framer accepts
    Kind kind = Kind::Nothing;
    Error error = {}; ///< for Endless
};
/// Reads once without waiting, at most 64 KiB, and passes on each whole line. If `onLine` closes the connection, it is
/// still called for the other lines of the same read.
[[nodiscard]] ReadLines readLines(int fd, LineFramer &framer, const std::function<void(std::string_view line)> &onLine);

} // namespace lockstep::agent
