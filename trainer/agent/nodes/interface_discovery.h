// SPDX-License-Identifier: MIT
#pragma once
// How the agents of one run find a common network when `lockstep-agent run` names no interface. They try every address:
// 1. Agent 0 (DiscoveryHost) listens at every address of its node. It writes them to LOCKSTEP_HOME/meeting-RUN.json
//    (0600, on storage that all nodes see).
// 2. Each other agent (joinDiscovery()) tries them all. It reports which ones it reached, and through which interface
//    of its own.
// 3. Agent 0 chooses the best address that all have reached, and answers with every node's interface.
// The messages are lines of JSON, 64 KiB at most:
//   K → 0  {"what":"try","offer":I}              at every address
//   0 → K  {"what":"proof","proof":P}            P is in the file: another machine with the same address does not know it
//   K → 0  {"what":"reached","node":K,"token":T,"host":H,"offers":[I…],"by":["eth0"…]}    over the first that was reached
//   0 → K  {"what":"interfaces","interfaces":["ib0","ib0"…]} or {"what":"error","message":…}
// All this happens before the run begins; the run itself listens on the chosen interface only.
#include <string>
#include <vector>

#include "trainer/agent/ranks/launch_plan.h"

namespace lockstep::agent {

/// Whether these options name no interface, so that it must be found.
[[nodiscard]] bool needsDiscovery(const CommandOptions &options);

/// Fills in options.interface and the interfaces that `--nodes` of the command leaves out. Returns a sentence that says
/// what was found; it is empty if agent 0 of this run was given its interface. Waits at most joinLimitS; a session
/// signal ends it. Blocks.
[[nodiscard]] Result<std::string> findInterfaces(CommandOptions &options);

} // namespace lockstep::agent
