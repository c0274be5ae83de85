// SPDX-License-Identifier: MIT
#pragma once
// The link between agent 0 and an agent K > 0 of one run: TCP to agent 0's listener on its node's interface, one JSON object
// a line, 64 KiB at most. Nothing is encrypted (as nothing is that c10d, Gloo and NCCL send): the token keeps strangers out,
// the interface keeps it off other networks.
//
//  K → 0  {"type":"hello","role":"agent","protocol":"1.0","run":ID,"node":K,"name":HOST,"next_seq":N,"token":T}
//         {"type":"node","what":"join","processes":P,"shared":false,"machine":{…},"devices":[…]}   after each hello
//  0 → K  {"type":"hello","role":"agent","run":ID,"node":0,"next_seq":M}   M: the first line of K's log that agent 0 lacks;
//         or {"type":"error",…} and the end: wrong token, unknown node, another version
//  K → 0  sealed log lines of node-K.ndjson from M on, byte for byte; heartbeats are among them, one a second
//  0 → K  ack (next_seq: all before it is on agent 0's disk), ping; K answers a ping with pong and both its clocks
//  0 → K  go (when every node has joined): world_size, first_rank, master_addr, master_port. K starts its ranks. With restarts
//         (how many are left) and number (which start it is, from 0): a go of a higher number starts them again
//  0 → K  abort (a rank failed elsewhere, a node never came): K ends its ranks as failed for that reason
//  0 → K  stop (by, with the same meaning as a follower's), trace (by, steps)
//  K → 0  failed (reason, and of the failing rank: rank, code or signal, peer_lost): at once, before its ranks are gone
//  K → 0  gone (number, next_seq): while restarts are left, its ranks are gone and wait for the next go
//  0 → K  settle: there is none, say over. Of failed, gone and abort those of another number than the present one are past
//  K → 0  over (state, reason, exit_code, next_seq): its ranks are gone, its log ends before next_seq
//  0 → K  end (state, reason, exit_code): the run's own outcome; K writes its result.json and goes
//  K → 0  trace_part (rank, offset, total, crc, text): a rank's trace, in pieces of 16 KiB, at most 64 MiB; from its start again after a cut
//  0 → K  trace_kept (rank, crc): it has it all
// A connection that says nothing for 6 s counts as lost, on either side. K comes again with back-off (0.25 s to 5 s) and is
// told by `hello` from which line on to send; a second connection of a node takes the place of the first.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "ipc/run_folder.h"

namespace lockstep {

struct NodeMessage {
    enum class What {
        Join,
        Ack,
        Ping,
        Pong,
        Go,
        Abort,
        Stop,
        Trace,
        Failed,
        Gone,
        Settle,
        Over,
        End,
        TracePart,
        TraceKept
    };
    What what = What::Ping;
    std::optional<int> processes, worldSize, firstRank, masterPort, exitCode, rank, code, signal;
    std::optional<int> restarts; ///< go
    std::optional<std::uint64_t> offset, total;
    std::string text, crc;     ///< trace_part: of the piece; of the whole
    bool peerLost = false;     ///< failed: the rank itself says that it has lost another one
    bool shared = false;       ///< join: K's run folder is agent 0's own, so nothing needs copying
    std::string masterAddress; ///< go
    std::string state, reason, by;
    std::optional<std::uint64_t> nextSeq;
    std::optional<std::int64_t> steps, number; ///< number: of a ping, repeated by its pong; of a start
    std::optional<std::int64_t> monoNs, wallUs;
    std::optional<MachineRecord> machine;
    std::vector<std::string> devices; ///< join: names of its devices, "node1/cpu:0"
};

[[nodiscard]] std::string encode(const NodeMessage &message);
[[nodiscard]] Result<NodeMessage> decodeNodeMessage(std::string_view line);
/// Whether a line of the link is one of these, and not a sealed log line.
[[nodiscard]] bool isNodeMessage(std::string_view line);

} // namespace lockstep
