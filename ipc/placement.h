// SPDX-License-Identifier: MIT
#pragma once
// Where the processes of a run on several nodes go: RunConfig::nodes. The option --nodes, the key "nodes" of a recipe
// and the field in the form all use the same text:
//   hostA%eth0:0,1;hostB%bond0:0 kind=cuda cores=2 data=/srv/mnist agent=/opt/lockstep/bin/lockstep-agent
// Nodes are separated by ';'. A node is [HOST][%INTERFACE]:DEVICE[,DEVICE…], followed by options, each after a blank:
// kind, cores, data, agent, address. HOST is a name that ssh knows; an IPv6 address is written in []; '.' or nothing is
// the machine that starts the run. In an option's value, blanks, ';', '%' and control characters are written as %XX.
// The first node is node 0: its agent decides for the run, and its rank 0 hosts the rendezvous.
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"

namespace lockstep {

struct RunConfig;

/// Of a run: the most that what a person writes, another machine says or a folder from elsewhere holds can make a program take.
inline constexpr int mostNodes = 4096;
inline constexpr std::size_t mostDevicesOfRun = 65'536; ///< over all its nodes

/// One node of a run.
struct NodePlace {
    std::string host;      ///< a name that ssh knows; empty: the machine that starts the run
    std::string interface; ///< for rendezvous, gradients and the agents' link; empty: loopback (nodes on one host only)
    std::vector<std::string> devices; ///< this node's RunConfig::devices
    std::string device;               ///< cpu | cuda; empty: RunConfig::device
    int coresPerDevice = 0;           ///< 0: RunConfig::coresPerDevice
    std::string dataDir;              ///< empty: RunConfig::dataDir
    std::string agent;                ///< path of lockstep-agent on that node; empty: found in PATH
    std::string
        address; ///< where the other nodes reach it; empty: the interface's first address, which its agent finds

    bool operator==(const NodePlace &) const = default;
};

[[nodiscard]] std::string toText(const std::vector<NodePlace> &nodes); ///< empty if there are none
/// Parses nodes, mostNodes with mostDevicesOfRun at most. The error has the node's number (from 1), its text, and what was expected.
[[nodiscard]] Result<std::vector<NodePlace>> nodesFromText(std::string_view text);

/// The nodes reduced to their first `count` devices, in order; nodes without a device are dropped.
[[nodiscard]] std::vector<NodePlace> firstDevices(const std::vector<NodePlace> &nodes, int count);
/// Devices and interfaces of the nodes, without the paths of agent and data: identifies the places for which a
/// measurement holds. E.g. "hostA%eth0:0;hostB%bond0:0 cores=2".
[[nodiscard]] std::string placesOf(const std::vector<NodePlace> &nodes);

/// Number of nodes of the run; 1 if no nodes are given.
[[nodiscard]] int nodeCount(const RunConfig &config);
/// Number of processes of each node, in order; for distributed methods one per device.
[[nodiscard]] std::vector<int> processesOfNodes(const RunConfig &config);
/// The first rank of each node: prefix sums of the numbers of processes ({2, 3} → {0, 2}).
[[nodiscard]] std::vector<int> firstRanks(std::span<const int> processes);
/// The configuration for the agent and the ranks of node K: device, devices, cores, data folder and interface are those
/// of the node. `nodes` is kept, because batch and learning rate depend on all devices. If the kinds of devices differ,
/// backend auto becomes gloo. Without nodes it is the configuration itself.
[[nodiscard]] RunConfig configOfNode(const RunConfig &config, int node);
/// What a launcher that only gives a number of ranks means where the configuration names no devices: the machine's first ones, one a
/// rank. `ranks`: of this machine. Changes nothing for methods of one process.
void takeFirstDevices(RunConfig &config, int ranks);
/// Makes one node's configuration the run's, where each node was given its own devices and none knows the others': the
/// first `ranks` devices, one a rank of all nodes. Changes nothing for methods of one process, nor where `nodes` says the
/// devices.
void takeDevicesOfAll(RunConfig &config, int ranks);
/// Mistakes in the nodes: the same device twice, several hosts without an interface, … Part of validate().
[[nodiscard]] std::vector<Error> checkNodes(const RunConfig &config);
/// "hostB" or "this machine", for people.
[[nodiscard]] std::string titleOf(const NodePlace &place);

} // namespace lockstep
