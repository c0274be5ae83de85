// SPDX-License-Identifier: MIT
#pragma once
// Translates between the nodes and devices that a person selects and RunConfig::nodes. Pure. "Book": the list of nodes.
#include <string>
#include <vector>

#include "ipc/placement.h"
#include "nodes/node_book.h"

namespace lockstep::core {

/// The place that this node has in a run; nullptr when it has none.
[[nodiscard]] const NodePlace *placeOf(const std::vector<NodePlace> &places, const NodeEntry &node);

/// Selects exactly these devices of the node. Its place keeps its position (the first is node 0, the master), a new one
/// is added at the end, and without devices it is removed. What a person wrote into the place (data, cores, address,
/// interface) stays.
[[nodiscard]] std::vector<NodePlace> withDevices(std::vector<NodePlace> places, const NodeEntry &node,
                                                 const std::string &kind, const std::vector<std::string> &devices);

/// After the book changed (the doctor found interfaces, a sync moved the agent): copies the new values, except what a
/// person wrote.
[[nodiscard]] std::vector<NodePlace> followBook(std::vector<NodePlace> places, const std::vector<NodeEntry> &before,
                                                const std::vector<NodeEntry> &now);

/// The book's entries of a run's places, in the run's order. An interface that differs from the book's counts as a
/// person's choice.
[[nodiscard]] std::vector<NodeEntry> entriesOf(const std::vector<NodePlace> &places,
                                               const std::vector<NodeEntry> &book);

/// Whether the run spans several hosts and a node of the book has no interface yet. The doctor would choose one.
[[nodiscard]] bool lacksInterface(const std::vector<NodePlace> &places, const std::vector<NodeEntry> &book);

/// Why the nodes of these places use their line of PyTorch, according to the book: one sentence for all of them, or one
/// for each. Empty: no sync chose one.
[[nodiscard]] std::string torchReasonOf(const std::vector<NodePlace> &places, const std::vector<NodeEntry> &book);

/// Why a run can't be placed on this node from here; empty if it can.
[[nodiscard]] std::string whyNotChosen(const NodeEntry &node);

} // namespace lockstep::core
