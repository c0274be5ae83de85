// SPDX-License-Identifier: MIT
#pragma once
// The messages on a run's socket besides frames. None of them is logged.
//
// A connection begins with a hello in both directions, the connecting side first:
//   {"type":"hello","protocol":"1.0","role":"rank","rank":0,"next_seq":0}
//   {"type":"hello","protocol":"1.0","role":"follower","next_seq":17,"pid":123,"name":"lockstep"}
//     "owns_queue":true is added by the process that starts the queue's runs;
//     "next_seqs":{"1":40} is added in a run on several nodes: by node, the first line that it lacks of that log; others: 0
//   {"type":"hello","protocol":"1.0","role":"agent","run":"…","node":0,"next_seq":4711,"live":true}
// rank     sends frames; the agent may send control lines back.
// follower is sent every log line from its next_seq on, byte for byte, and then new lines as they are written; it may
//          send control lines. With next_seqs (even {}) it is sent the logs of all nodes, each in its own order,
//          interleaved as they arrive; without it only node 0's. When the run is over and everything is sent, the agent closes.
// A connection is closed only if the major versions differ, with {"type":"error","message":"…"}, which says what to
// upgrade, and by a rank over TCP at a line that is none of these.
//   {"type":"control","command":"stop","by":"lockstepctl on box"}
//   {"type":"control","command":"trace","steps":20,"by":"lockstepctl on box"}
//   {"type":"control","command":"stacks","by":"lockstepctl on box"}: scripts answer with log frames, a thread each (source "stack")
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "ipc/error.h"

namespace lockstep {

inline constexpr int protocolMajor = 1;
inline constexpr int protocolMinor = 0;

struct Hello {
    int major = protocolMajor, minor = protocolMinor;
    std::string role; ///< rank | follower | agent
    std::optional<int> rank, node;
    std::uint64_t nextSeq = 0; ///< follower: the first seq that it lacks; agent: the seq that its log writes next
    /// By node. Follower: the first seq it lacks; agent: the seq that log writes next.
    std::optional<std::map<int, std::uint64_t>> nextSeqs;
    std::string run, name;
    std::string token;               ///< rank: lets it report over TCP (lockstepctl listen)
    std::optional<std::int64_t> pid; ///< of a local follower, so that its CPU time can be measured
    bool ownsQueue = false;          ///< follower: it owns the run's queue, and is not a viewer
    bool live = false;               ///< agent: false if only the finished log is left
    // Between the agents of several nodes (ipc/node_messages.h):
    std::string agent;         ///< of node K: a random id of this process; another agent of the node has another one
    bool ranksStarted = false; ///< node K's ranks have been started
    std::string refused;       ///< by agent 0: why this agent can't be node K, a sentence; it should end
};

/// Bytes of a name that says who requests something; what a peer sends beyond them is cut off.
inline constexpr std::size_t longestAsker = 200;
/// The name without what is too long, cut between two characters.
[[nodiscard]] std::string shortAsker(std::string by);

struct Control {
    std::string command;                    ///< stop | trace | stacks
    std::string by;                         ///< who requests it, for the log
    std::optional<std::int64_t> steps = {}; ///< trace: the number of steps
};

[[nodiscard]] std::string encode(const Hello &hello);
[[nodiscard]] std::string encode(const Control &control);
/// {"type":"error","message":…}
[[nodiscard]] std::string encodeProtocolError(std::string_view message);

/// Parses a hello. Another major version is an error that says which side to upgrade. A line {"type":"error"} becomes
/// that error.
[[nodiscard]] Result<Hello> decodeHello(std::string_view line);
[[nodiscard]] Result<Control> decodeControl(std::string_view line);

} // namespace lockstep
