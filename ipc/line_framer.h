// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "ipc/frames.h"

namespace lockstep {

/// Cuts a byte stream into lines. Memory is bounded by `limit`: a longer line is the peer's end.
class LineFramer {
public:
    explicit LineFramer(std::size_t limit = maxFrameBytes);

    /// Calls `onLine` (without the newline) for every whole line. Returns an error once a line passes the limit;
    /// the framer then takes no more.
    Result<void> feed(std::string_view bytes, const std::function<void(std::string_view)> &onLine);

    /// Bytes of an unfinished line.
    [[nodiscard]] std::size_t pending() const { return m_partial.size(); }

private:
    std::string m_partial;
    std::size_t m_limit;
    bool m_dead = false;
};

} // namespace lockstep
