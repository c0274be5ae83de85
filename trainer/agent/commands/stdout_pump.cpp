// SPDX-License-Identifier: MIT
#include "trainer/agent/commands/stdout_pump.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace lockstep::agent {

namespace {
constexpr std::size_t mostKept = 4u << 20;
/// A pipe that polls as writable takes this much without blocking (PIPE_BUF).
constexpr std::size_t safeWrite = 4096;
} // namespace

void StdoutPump::put(std::string_view line) {
    if (m_closed)
        return;
    if (m_buffer.size() + line.size() > mostKept) {
        ++m_leftOut;
        return;
    }
    if (m_leftOut > 0)
        m_buffer += "[lockstep-agent] " + std::to_string(m_leftOut) + " lines left out: stdout is read too slowly\n";
    m_leftOut = 0;
    m_buffer.append(line).push_back('\n');
    flush();
}

bool StdoutPump::writeSome(int waitMs) {
    pollfd poll{STDOUT_FILENO, POLLOUT, 0};
    if (m_buffer.empty() || m_closed || ::poll(&poll, 1, waitMs) <= 0)
        return false;
    const ssize_t n = ::write(STDOUT_FILENO, m_buffer.data(), std::min(m_buffer.size(), safeWrite));
    if (n > 0) {
        m_buffer.erase(0, static_cast<std::size_t>(n));
        return true;
    }
    if (n < 0 && errno != EINTR && errno != EAGAIN) { // the reader has gone, but the run goes on
        m_closed = true;
        m_buffer.clear();
    }
    return false;
}

void StdoutPump::flush() {
    while (writeSome(0)) {
    }
}

void StdoutPump::finish() {
    constexpr int patienceMs = 2000;
    while (writeSome(patienceMs)) {
    }
}

} // namespace lockstep::agent
