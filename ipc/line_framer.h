// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "ipc/frames.h"

namespace lockstep {

/// Splits a stream of bytes into lines. Memory is bounded by `limit` bytes: a longer line is an error.
class LineFramer {
public:
    explicit LineFramer(std::size_t limit = maxFrameBytes);

    /// Calls `onLine` with every whole line, without its newline. Returns an error if a line is longer than the limit;
    /// after that the framer accepts nothing.
    Result<void> feed(std::string_view bytes, const std::function<void(std::string_view)> &onLine);

    /// Number of bytes of the unfinished line.
    [[nodiscard]] std::size_t pending() const { return m_partial.size(); }

private:
    std::string m_partial;
    std::size_t m_limit;
    bool m_dead = false;
};

} // namespace lockstep
