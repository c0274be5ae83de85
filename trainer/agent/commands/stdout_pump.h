// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::agent {

/// Writes to stdout without ever waiting for its reader: what does not fit now is kept, up to 4 MiB, then left out and
/// counted. The ranks' console files have everything.
class StdoutPump {
public:
    void put(std::string_view line); ///< adds the newline
    void flush();                    ///< writes what goes without waiting; call now and then
    void finish();                   ///< waits for the reader, two seconds at most

private:
    bool writeSome(int waitMs);
    std::string m_buffer;
    std::uint64_t m_leftOut = 0;
    bool m_closed = false;
};

} // namespace lockstep::agent
