// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "ipc/node_messages.h"
#include "trainer/agent/log/trace_merge.h"

namespace lockstep::agent {

/// Traces that agent K sends to agent 0 in pieces. A trace is kept until agent 0 confirms it.
class TraceOutbox {
public:
    void add(int rank, std::string text);
    /// The next piece; absent when everything has been sent.
    [[nodiscard]] std::optional<NodeMessage> next();
    void startOver(); ///< after a cut: sends all unconfirmed traces again
    void kept(const NodeMessage &message);
    [[nodiscard]] bool empty() const { return m_traces.empty(); } ///< agent 0 has confirmed every trace

private:
    struct Outgoing {
        int rank = 0;
        std::string text, crc;
        std::size_t sent = 0;
    };
    std::deque<Outgoing> m_traces;
};

/// Puts one node's pieces together on agent 0. Pieces that are too long, out of order or of a rank of another node are
/// dropped until a trace begins again.
class TraceInbox {
public:
    struct Whole {
        int rank = 0;
        std::string text, crc;
        bool good = false; ///< the checksum is right
    };
    /// The trace that this piece completes, if any.
    [[nodiscard]] std::optional<Whole> take(const NodeMessage &piece, const std::set<int> &ranks);

private:
    static constexpr std::size_t mostHeld = 256 << 20; ///< of a node's traces that are not whole yet
    std::map<int, std::string> m_texts;                ///< by rank
    std::size_t m_bytes = 0;                           ///< of all of them
};

} // namespace lockstep::agent
