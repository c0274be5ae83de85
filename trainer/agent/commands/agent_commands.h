// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "trainer/agent/ranks/launch_plan.h"

namespace lockstep::agent {

// lockstep-agent's subcommands. Each returns the process's exit code and has said on stderr what went wrong.

/// Reads a LaunchRequest from stdin, answers ready or error on stdout, and serves the run (detached when it says so).
int serveCommand();

/// Reads launch requests from stdin, one a line, and answers each: {"type":"fit",…} or the error that serve would give.
/// Starts nothing.
int checkCommand();

/// The same supervisor in the foreground, for anybody's command.
int runCommand(const CommandOptions &options);

/// Bridges stdin and stdout to the run's agent; of an ended run the log alone speaks. With `fromSeq` it says the hello
/// itself and prints log lines.
int attachCommand(const std::string &runId, std::optional<std::uint64_t> fromSeq);

/// Asks the run's agent to stop its ranks and waits for the end.
int stopCommand(const std::string &runId, const std::string &by);

/// Asks the run's agent for a trace of the next steps; the agent's log tells when it is there.
int traceCommand(const std::string &runId, std::int64_t steps, const std::string &by);

/// One line of JSON: state, record, result.
int statusCommand(const std::string &runId);

/// The MachineRecord of this machine as JSON.
int machineCommand(int coresPerDevice);

/// How this machine's devices stand now, and who uses them, as one line of JSON.
int devicesCommand(int coresPerDevice);

/// How this node stands, as one line of JSON; with `every` a line each time until stdin ends, and `ping N` on stdin is
/// answered with the clock.
int nodeCommand(int coresPerDevice, std::optional<std::chrono::milliseconds> every);

/// TCP between two nodes, tried and measured (net_talk.h). Each reads one line of JSON on stdin, tokens among it, and says
/// one: what is bound, before it serves until stdin ends; what came of each target; what names resolve to here.
int netListenCommand();
int netConnectCommand();
int netResolveCommand();
struct ListenPlan;
/// Takes the frames of a run that somebody else started, by connections or in files, and keeps it as a run. On stdout a line
/// of JSON each: {"type":"listening","address":…,"token":…} (the token only when it is a new one), then, with the first
/// frame, {"type":"ready","run":…}. Exit code: the run's own; 2 for bad arguments.
int listenCommand(const ListenPlan &plan, const std::string &tokenFile);

} // namespace lockstep::agent
