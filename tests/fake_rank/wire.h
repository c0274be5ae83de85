// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

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

    /// A file in that folder, PID-MONO_NS of the first frame, gets eight bytes a frame: its mono_ns, once it has arrived in the socket.
    void keepTally(std::string folder) { m_tallyFolder = std::move(folder); }

    /// Whether the agent has asked for a stop so far; never waits.
    bool stopAsked();

private:
    void tally(std::int64_t monoNs);

    int m_rank;
    std::uint64_t m_rseq = 0;
    lockstep::Fd m_fd;
    lockstep::LineFramer m_framer;
    std::string m_tallyFolder; ///< empty: none is kept
    lockstep::Fd m_tally;
    bool m_stop = false, m_blanks = false;
};
