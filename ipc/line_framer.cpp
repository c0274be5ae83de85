// SPDX-License-Identifier: MIT
#include "ipc/line_framer.h"

namespace lockstep {

LineFramer::LineFramer(std::size_t limit) : m_limit(limit) {}

Result<void> LineFramer::feed(std::string_view bytes, const std::function<void(std::string_view)> &onLine) {
    const auto tooLong = [&]() -> Result<void> {
        m_dead = true;
        m_partial = std::string(); // frees the memory
        return fail(Error::failed("a line is longer than " + std::to_string(m_limit) + " bytes",
                                  "the peer should send one frame a line"));
    };
    if (m_dead)
        return tooLong();
    while (!bytes.empty()) {
        const std::size_t newline = bytes.find('\n');
        const std::size_t length = newline == std::string_view::npos ? bytes.size() : newline;
        // The limit includes the newline.
        if (m_partial.size() + length >= m_limit)
            return tooLong();
        if (newline == std::string_view::npos) {
            m_partial.append(bytes);
            return {};
        }
        if (m_partial.empty()) {
            onLine(bytes.substr(0, length));
        } else {
            m_partial.append(bytes.substr(0, length));
            std::string line;
            line.swap(m_partial);
            onLine(line);
        }
        bytes.remove_prefix(length + 1);
    }
    return {};
}

} // namespace lockstep
