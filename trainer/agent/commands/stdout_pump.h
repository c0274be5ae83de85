// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::agent {

/// Writes to stdout without ever waiting for its reader. What does not fit is kept, up to 4 MiB; further lines are
/// dropped and counted. The ranks' console files have everything.
class StdoutPump {
public:
    void put(std::string_view line); ///< adds the newline
    void flush();                    ///< writes what fits without waiting; call regularly
    void finish();                   ///< waits for the reader, at most 2 s

private:
    bool writeSome(int waitMs);
    std::string m_buffer;
    std::uint64_t m_leftOut = 0;
    bool m_closed = false;
};

} // namespace lockstep::agent
