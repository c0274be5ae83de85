// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

#include "ipc/frames.h"
#include "ipc/line_framer.h"
#include "ipc/unix_socket.h"

/// A fake rank's connection to its agent. Blocking: what it sends has arrived in the socket.
class Wire {
public:
    explicit Wire(int rank) : m_rank(rank) {}

    /// Connects to LOCKSTEP_FRAMES when there is one; says hello if asked.
    void open(bool hello);
    void close() { m_fd.close(); }

    void send(lockstep::FrameBody body);
    void sendRaw(std::string_view line); ///< as it is, with a newline added
    void skipNumber() { ++m_rseq; }
    void writeLikePython() { m_blanks = true; } ///< a blank after the first colon

    /// Whether the agent has asked for a stop so far; never waits.
    bool stopAsked();

private:
    int m_rank;
    std::uint64_t m_rseq = 0;
    lockstep::Fd m_fd;
    lockstep::LineFramer m_framer;
    bool m_stop = false, m_blanks = false;
};
