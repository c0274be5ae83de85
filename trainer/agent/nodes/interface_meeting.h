// SPDX-License-Identifier: MIT
#pragma once
// How the agents of one run find the network between their nodes when `lockstep-agent run` names none. Nothing is guessed:
// agent 0 (MeetingHost) listens at every address of its node and writes them into LOCKSTEP_HOME/meeting-RUN.json (0600, on
// storage that all nodes see). Each other agent (attendMeeting()) tries them all and says which ones it reached and by which
// interface of its own. Agent 0 takes the best one that all have reached and answers every node's interface. Lines of JSON,
// 64 KiB at most:
//   K → 0  {"what":"try","offer":I}              at every address
//   0 → K  {"what":"proof","proof":P}            P stands in the file: a stranger at an equal address does not know it
//   K → 0  {"what":"reached","node":K,"token":T,"host":H,"offers":[I…],"by":["eth0"…]}    at the first that was reached
//   0 → K  {"what":"interfaces","interfaces":["ib0","ib0"…]} or {"what":"error","message":…}
// It all happens before the run begins; the run itself then listens on the chosen interface alone.
#include <string>
#include <vector>

#include "trainer/agent/ranks/launch_plan.h"

namespace lockstep::agent {

/// Whether these options leave the interface to be found.
[[nodiscard]] bool meetsByTrying(const CommandOptions &options);

/// Fills options.interface and the interfaces that `--nodes` of the command leaves out, and gives the sentence that says what was
/// found; empty when agent 0 of this run was told its interface. Waits at most joinLimitS; a signal of a session ends it. Blocks.
[[nodiscard]] Result<std::string> findInterfaces(CommandOptions &options);

} // namespace lockstep::agent
