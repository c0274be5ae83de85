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
    std::size_t from = 0, to = 0; ///< places in DoctorLook::nodes
    std::string address;
    bool named = false; ///< at the port that the run will use, else at a free one
    bool ok = false;
    std::string error; ///< "refused", "no_answer", "no_route", "somebody_else", or the system's words
    std::optional<double> roundTripS;
};

/// The chosen interfaces of two nodes, measured in one direction.
struct LinkMeasure {
    std::size_t from = 0, to = 0;
    std::string interface, address;   ///< out of, and to
    bool ok = false, stalled = false; ///< stalled: small messages pass, large ones do not
    std::string error;
    std::optional<double> roundTripS, bandwidthBytesS;
    std::optional<int> segmentBytes; ///< TCP's largest
};

/// A listener that could not be bound at the run's port.
struct PortLook {
    std::size_t node = 0;
    std::string address, holder, error; ///< holder: "pid 4711 (python3)", where it can be seen
    bool inUse = false;
};

/// What a name means on a node.
struct NameLook {
    std::size_t on = 0;
    std::string name;
    std::vector<std::string> addresses;
    std::string error;
};

/// A data set's files as a node has them.
struct DataLook {
    std::size_t node = 0;
    std::string folder;                        ///< empty: nowhere
    std::map<std::string, std::string> sha256; ///< by file name
};

/// Which interface a node uses.
struct InterfaceChoice {
    std::string interface, address; ///< empty: none would do
    bool pinned = false;            ///< by a person
};

/// All that the doctor looked at, before anything is judged.
struct DoctorLook {
    std::vector<NodeLook> nodes;
    std::vector<NetTry> tries;
    std::vector<PortLook> ports;
    std::vector<LinkMeasure> links;
    std::vector<NameLook> names;
    std::vector<DataLook> data;
    std::vector<InterfaceChoice> choices; ///< one a node
    std::string ownVersion;               ///< of Lockstep here
    std::optional<int> port;
    std::string dataset;                            ///< whose files `data` are about; empty: not looked
    std::map<std::string, std::string> knownSha256; ///< as published, by packed file's name
    double neededBytes = 0;                         ///< that a run or a sync wants free on each node
    std::vector<std::string> builtLines;            ///< versions of PyTorch that this machine has a trainer for
};

/// The interface of each node whose address every other node reaches: a person's choice, where it holds; else a real
/// device before a bridge, a faster before a slower one. A pinned one that does not do stays chosen.
[[nodiscard]] std::vector<InterfaceChoice> chooseInterfaces(const DoctorLook &look);
/// Whether every other usable node reached this address of node `to`.
[[nodiscard]] bool reachedByAll(const DoctorLook &look, std::size_t to, std::string_view address);

} // namespace lockstep::core
