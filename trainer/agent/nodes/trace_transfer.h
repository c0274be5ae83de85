// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "ipc/node_messages.h"

namespace lockstep::agent {

inline constexpr std::size_t largestTrace = 64 << 20; ///< a rank's; 10,000 steps of LeNet take 15 MB

/// Traces that agent K is to send to agent 0, piece by piece, each till agent 0 says that it has it.
class TraceOutbox {
public:
    void add(int rank, std::string text);
    /// The next piece; nothing when all has been sent.
    [[nodiscard]] std::optional<NodeMessage> next();
    void startOver(); ///< of what is not known to be there; after a cut
    void kept(const NodeMessage &message);
    [[nodiscard]] bool empty() const { return m_traces.empty(); } ///< all is there

private:
    struct Outgoing {
        int rank = 0;
        std::string text, crc;
        std::size_t sent = 0;
    };
    std::deque<Outgoing> m_traces;
};

/// What agent 0 puts together of one node's pieces. What is too long, out of order or of a rank that is none of the node's is
/// dropped till a trace begins anew.
class TraceInbox {
public:
    struct Whole {
        int rank = 0;
        std::string text, crc;
        bool good = false; ///< its crc is right
    };
    /// The trace that this piece has made whole.
    [[nodiscard]] std::optional<Whole> take(const NodeMessage &piece, const std::set<int> &ranks);

private:
    std::map<int, std::string> m_texts; ///< by rank
};

} // namespace lockstep::agent
