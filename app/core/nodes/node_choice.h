#pragma once
// Which nodes of the book, and which of their devices, a run is put on: between a person's choice and RunConfig::nodes. Pure.
#include <string>
#include <vector>

#include "ipc/placement.h"
#include "nodes/node_book.h"

namespace lockstep::core {

/// The place that this node has in a run; nullptr when it has none.
[[nodiscard]] const NodePlace *placeOf(const std::vector<NodePlace> &places, const NodeEntry &node);

/// With just these devices of the node: its place keeps its turn (the first is node 0, the master), a new one comes last, and
/// without a device it goes. What a person wrote of the place besides (data, cores, address, interface) stays.
[[nodiscard]] std::vector<NodePlace> withDevices(std::vector<NodePlace> places, const NodeEntry &node,
                                                 const std::string &kind, const std::vector<std::string> &devices);

/// After the book changed (the doctor found interfaces, a sync put the agent elsewhere): what came from it is taken from it
/// anew, what a person wrote stays.
[[nodiscard]] std::vector<NodePlace> followBook(std::vector<NodePlace> places, const std::vector<NodeEntry> &before,
                                                const std::vector<NodeEntry> &now);

/// The book's entries of a run's places, in the run's order; another interface than the book's counts as a person's choice.
[[nodiscard]] std::vector<NodeEntry> entriesOf(const std::vector<NodePlace> &places,
                                               const std::vector<NodeEntry> &book);

/// Whether the run reaches over hosts and a node that the book knows has no interface yet: the doctor finds it.
[[nodiscard]] bool lacksInterface(const std::vector<NodePlace> &places, const std::vector<NodeEntry> &book);

/// Why the nodes of these places use the line of PyTorch that they do, as the book has it: one sentence of all of them, or what
/// each says. Empty: no sync chose one for any.
[[nodiscard]] std::string torchReasonOf(const std::vector<NodePlace> &places, const std::vector<NodeEntry> &book);

/// Why a run can't be put on this node from here; empty when it can.
[[nodiscard]] std::string whyNotChosen(const NodeEntry &node);

} // namespace lockstep::core
