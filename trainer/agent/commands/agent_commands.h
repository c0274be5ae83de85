// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "ipc/messages.h"
#include "trainer/agent/ranks/launch_plan.h"

namespace lockstep::agent {

// The subcommands of lockstep-agent. Each prints its errors to stderr and returns the exit code of the process.

/// Reads a LaunchRequest from stdin, answers ready or error on stdout, and serves the run, detached unless the request
/// says otherwise.
int serveCommand();

/// Reads launch requests from stdin, one per line. Answers each with {"type":"fit",…} or the error that serve would
/// give. Starts nothing.
int checkCommand();

/// Supervises the ranks of any command, in the foreground.
int runCommand(const CommandOptions &options);

/// Connects stdin and stdout with the run's agent. If the run has ended, the log is read instead. With `fromSeq` it
/// sends the hello itself and prints log lines from that number on.
int attachCommand(const std::string &runId, std::optional<std::uint64_t> fromSeq);

/// Asks the run's agent to stop its ranks and waits for the end. With `experiment` it refuses unless the run's own record names that one.
int stopCommand(const std::string &runId, const std::string &by, const std::string &experiment);

/// Asks the run's agent for a trace of its ranks' next steps, or for their stacks. What comes of it is noted in its log.
int askCommand(const std::string &runId, const Control &control);

/// Prints one line of JSON: state, record, result.
int statusCommand(const std::string &runId);

/// Prints the MachineRecord of this machine as JSON.
int machineCommand(int coresPerDevice);

/// Prints how much this machine's devices are used now and by whom, as one line of JSON.
int devicesCommand(int coresPerDevice);

/// Prints the state of this node as one line of JSON. With `every` it prints a line at that interval until stdin ends,
/// and answers `ping N` on stdin with its clock.
int nodeCommand(int coresPerDevice, std::optional<std::chrono::milliseconds> every);

/// Try and measure TCP between two nodes (net_talk.h). Each reads one line of JSON on stdin, which may hold a token,
/// and prints one: `listen` what it has bound, and then serves until stdin ends; `connect` the result for each target;
/// `resolve` what names resolve to on this machine.
int netListenCommand();
int netConnectCommand();
int netResolveCommand();
struct ListenPlan;
/// Receives the frames of a run that somebody else started, over connections or from files, and keeps it as a run.
/// Prints lines of JSON: {"type":"listening","address":…,"token":…} (the token only if it is a new one), then, with the
/// first frame, {"type":"ready","run":…}. Exit code: that of the run; 2 for bad arguments.
int listenCommand(const ListenPlan &plan, const std::string &tokenFile);

} // namespace lockstep::agent
