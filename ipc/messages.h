// SPDX-License-Identifier: MIT
#pragma once
// What travels on a run's socket besides frames. None of it is logged.
//
// A connection opens with a hello both ways, the connecting side first:
//   {"type":"hello","protocol":"1.0","role":"rank","rank":0,"next_seq":0}
//   {"type":"hello","protocol":"1.0","role":"follower","next_seq":17,"pid":123,"name":"lockstep"}
//   (… "owns_queue":true by the process that starts the queue's runs;
//    … "next_seqs":{"1":40} in a run on several nodes: what it lacks of the other nodes' logs, 0 for those not named)
//   {"type":"hello","protocol":"1.0","role":"agent","run":"…","node":0,"next_seq":4711,"live":true}
// rank     sends frames; the agent may send control lines back.
// follower is sent every log line from its next_seq on, byte for byte, then live ones as they are written; it may
//          send control lines. One that says next_seqs (if only {}) is sent the logs of all nodes, each in its own order,
//          interleaved as they come; one that does not gets node 0's alone. When the run is over and all is sent, the agent closes.
// Only another major version closes, with {"type":"error","message":"…"} that says what to upgrade.
//   {"type":"control","command":"stop","by":"lockstepctl on box"}
//   {"type":"control","command":"trace","steps":20,"by":"lockstepctl on box"}
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
    std::uint64_t nextSeq = 0; ///< follower: the first seq it lacks; agent: the seq its log will write next
    std::optional<std::map<int, std::uint64_t>> nextSeqs; ///< follower: by node; agent: what each other log writes next
    std::string run, name;
    std::string token;               ///< of an agent K > 0 that joins agent 0 (ipc/node_messages.h)
    std::optional<std::int64_t> pid; ///< of a local follower, so that its cost can be measured
    bool ownsQueue = false;          ///< follower: it keeps the queue that the run is of, and watches for nobody
    bool live = false;               ///< agent: false when only the finished log speaks
};

struct Control {
    std::string command;                    ///< stop | trace
    std::string by;                         ///< who, for the log
    std::optional<std::int64_t> steps = {}; ///< trace: how many
};

[[nodiscard]] std::string encode(const Hello &hello);
[[nodiscard]] std::string encode(const Control &control);
/// {"type":"error","message":…}
[[nodiscard]] std::string encodeProtocolError(std::string_view message);

/// Parses a hello and refuses another major version with a sentence that says which side to upgrade.
/// An {"type":"error"} line becomes that error.
[[nodiscard]] Result<Hello> decodeHello(std::string_view line);
[[nodiscard]] Result<Control> decodeControl(std::string_view line);

} // namespace lockstep
