// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nodes/node_probe.h"

namespace lockstep::core {

/// A TCP connection that one node tried to make to an address of another.
struct NetTry {
    std::size_t from = 0, to = 0; ///< indices into DoctorSnapshot::nodes
    std::string address;
    bool named = false; ///< at the run's port; false: at a free one
    bool ok = false;
    std::string error; ///< "refused", "no_answer", "no_route", "somebody_else", or the system's message
    std::optional<double> roundTripS;
};

/// The chosen interfaces of two nodes, measured in one direction.
struct LinkMeasure {
    std::size_t from = 0, to = 0;
    std::string interface, address;   ///< source interface, destination address
    bool ok = false, stalled = false; ///< stalled: small messages pass, large ones do not
    std::string error;
    std::optional<double> roundTripS, bandwidthBytesS;
    std::optional<int> segmentBytes; ///< TCP's maximum segment size
};

/// A listener that could not be bound at the run's port.
struct PortFailure {
    std::size_t node = 0;
    std::string address, holder, error; ///< holder: "pid 4711 (python3)"; empty: another user's process
    bool inUse = false;
};

/// What a name resolves to on a node.
struct NameLookup {
    std::size_t on = 0;
    std::string name;
    std::vector<std::string> addresses;
    std::string error;
};

/// A data set's files on one node.
struct NodeData {
    std::size_t node = 0;
    std::string folder;                        ///< empty: not found
    std::map<std::string, std::string> sha256; ///< by file name
};

/// Which interface a node uses.
struct InterfaceChoice {
    std::string interface, address; ///< empty: none works
    bool pinned = false;            ///< set by a person
};

/// The doctor's snapshot: all facts it gathered, not yet judged.
struct DoctorSnapshot {
    std::vector<NodeSnapshot> nodes;
    std::vector<NetTry> tries;
    std::vector<PortFailure> ports;
    std::vector<LinkMeasure> links;
    std::vector<NameLookup> names;
    std::vector<NodeData> data;
    std::vector<InterfaceChoice> choices; ///< one per node
    std::string ownVersion;               ///< Lockstep's version on this machine
    std::optional<int> port;
    std::string dataset;                            ///< the data set that `data` describes; empty: not examined
    std::map<std::string, std::string> knownSha256; ///< published hashes, by name of the packed file
    double neededBytes = 0;                         ///< free disk space that a run or a sync needs on each node
    std::vector<std::string> builtLines;            ///< versions of PyTorch that this machine has a trainer for
};

/// The interface of each node whose address every other node reaches: a person's choice if it works; else a physical
/// device before a bridge, then the faster one. A pinned interface stays chosen even if it does not work.
[[nodiscard]] std::vector<InterfaceChoice> chooseInterfaces(const DoctorSnapshot &snapshot);
/// Whether every other usable node reached this address of node `to`.
[[nodiscard]] bool reachedByAll(const DoctorSnapshot &snapshot, std::size_t to, std::string_view address);

} // namespace lockstep::core
