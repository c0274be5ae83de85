// SPDX-License-Identifier: MIT
#pragma once
// The protocol between agent 0 and an agent K > 0 of one run: TCP to agent 0's listener on its node's interface, one
// JSON object per line, at most 64 KiB. It is TLS 1.3 with a pre-shared key, which both sides derive from the run's token
// (trainer/agent/net/tls_session.h). What the ranks themselves send by c10d, Gloo and NCCL is not encrypted.
//
//   K → 0  {"type":"hello","role":"agent","protocol":"1.0","run":ID,"node":K,"name":HOST,"next_seq":N,
//           "agent":A,"ranks_started":true}   A: a random id of the process; ranks_started: only once they were
//          {"type":"node","what":"join","processes":P,"shared":false,"machine":{…},"devices":[…]}   after each hello.
//          To one that lists too many devices or interfaces, or another node's, agent 0 answers with `end`.
//          Ranks, devices and folder are those of the agent's first join
//   0 → K  {"type":"hello","role":"agent","run":ID,"node":0,"next_seq":M}   M: the first line of K's log that agent 0 lacks;
//          or {"type":"error",…} and the connection ends: unknown node, another version;
//          or {"type":"hello",…,"refused":SENTENCE} and the connection ends: another agent is node K, or another agent 0
//          has started K's ranks. K ends, with its ranks
//   K → 0  sealed log lines of node-K.ndjson from M on, byte for byte; among them is a heartbeat each second.
//          A line about a rank that is not one of K's, or a device that is neither listed in `join` nor named nodeK/…, is left out,
//          as is a header after the first line
//   0 → K  ack (next_seq: all lines before it are on agent 0's disk); ping, which K answers with pong and both its clocks
//   0 → K  go (world_size, first_rank, master_addr, master_port, restarts, number): sent when every node has joined;
//          K starts its ranks. `restarts` is how many are left, `number` counts the starts from 0. A go with a higher
//          number restarts the ranks
//   0 → K  abort (a rank failed elsewhere, or a node never joined): K ends its ranks as failed for that reason
//   0 → K  stop (by; means the same as from a follower), trace (by, steps), stacks (by)
//   K → 0  failed (reason; of the failing rank: rank, code or signal, peer_lost): sent at once, before its ranks are gone.
//          Of another node's rank it is left out. A reason that doesn't begin with "rank R on", R one of K's, is shown as reported by K
//   K → 0  gone (number, next_seq, epochs, steps): its ranks are gone, restarts are left, and it waits for the next go
//   0 → K  settle: there is no further restart, send `over`. A failed, gone or abort with an earlier number is out of date
//   K → 0  over (state, reason, exit_code, next_seq, energy, surroundings, watching): its ranks are over; its log ends before
//          next_seq. What an older K leaves out is unknown of its node
//   0 → K  end (state, reason, exit_code): the outcome of the whole run; K writes its result.json and ends
//   K → 0  trace_part (rank, offset, total, crc, text): a piece of 16 KiB of a rank's trace, which has at most 64 MiB;
//          after a cut the trace is sent again from its start. One counts for each rank and start, and for each `trace`
//   0 → K  trace_kept (rank, crc): the whole trace has arrived
// A connection without traffic for 6 s counts as lost, on either side. K then reconnects with back-off (0.25 s to 5 s)
// and learns from `hello` from which line on to send. A second connection of an agent replaces its first. Before the first
// go, another agent may take the place of one whose link is lost; its log is copied from the start.
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
        Stacks,
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
    std::optional<int> epochs;   ///< with `steps`, gone: what its ranks had completed; go: what all ranks had
    std::optional<std::uint64_t> offset, total;
    std::string text, crc;     ///< text: of the piece; crc: of the whole trace
    bool peerLost = false;     ///< failed: the rank itself reports that it lost another one
    bool shared = false;       ///< join: K uses agent 0's run folder, so nothing needs copying
    std::string masterAddress; ///< go
    std::string state, reason, by;
    std::optional<std::uint64_t> nextSeq;
    std::optional<std::int64_t> steps, number; ///< number: of a ping, repeated in its pong; of a start
    std::optional<std::int64_t> monoNs, wallUs;
    std::optional<MachineRecord> machine;
    std::optional<Energy> energy; ///< over, as the next two: of this node
    std::optional<Surroundings> surroundings;
    std::optional<Watching> watching;
    std::vector<std::string> devices; ///< join: names of its devices, "node1/cpu:0"
};

/// Bytes of a reason; what a peer sends beyond them is cut off.
inline constexpr std::size_t longestReason = 4096;

[[nodiscard]] std::string encode(const NodeMessage &message);
[[nodiscard]] Result<NodeMessage> decodeNodeMessage(std::string_view line);
/// Whether a line of the link is one of these messages, not a sealed log line.
[[nodiscard]] bool isNodeMessage(std::string_view line);

} // namespace lockstep
