// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "nodes/topology.h"
#include "store/run_store.h"

namespace lockstep::core {

/// Whether the run has several nodes, by its config or by agent 0's frames.
[[nodiscard]] bool hasSeveralNodes(const RunStore &run);

/// The run's nodes, ranks and devices, its agents' links as agent 0 last reported them, and its method's traffic. What was not
/// measured in the run (bandwidth) is absent. Of more nodes than can be drawn only the links from node 0.
[[nodiscard]] Topology topologyOf(const RunStore &run);

/// Puts the run's method's traffic between the ranks on these nodes.
void addTrafficOf(const RunStore &run, Topology &topology);

/// The links' state: "Links: hostB lost, its training state unknown (…)", "Links: all up"; empty for one node. Without recent
/// data of the run they are unknown, as its state is.
[[nodiscard]] QString linksLine(const RunStore &run);
/// "PyTorch 2.11.0+cu130 on all nodes: the newest, and every node can use it"; with the nodes named when they differ, without a
/// reason where none was recorded. Empty: no trainer reported its version.
[[nodiscard]] QString torchSentence(const RunRecord &record);
[[nodiscard]] QString runLine(const RunStore &run); ///< "Run: training", "Run: state unknown"

} // namespace lockstep::core
