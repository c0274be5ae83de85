// SPDX-License-Identifier: MIT
#pragma once
// Where a run's processes go when it has several nodes: RunConfig::nodes, the flag --nodes, the key "nodes" of a recipe
// and the field of the form, all in one text:
//   hostA%eth0:0,1;hostB%bond0:0 kind=cuda cores=2 data=/srv/mnist agent=/opt/lockstep/bin/lockstep-agent
// Nodes are joined by ';'. A node is [HOST][%INTERFACE]:DEVICE[,DEVICE…] and then options, each after a blank: kind, cores,
// data, agent, address. HOST is a name as ssh knows it; an IPv6 address is written in []; '.' (or nothing) is the machine that
// starts the run. In an option's value blanks, ';', '%' and control characters are written %XX.
// The first node is node 0: its agent decides for the run, its rank 0 is the rendezvous.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"

namespace lockstep {

struct RunConfig;

/// One node of a run.
struct NodePlace {
    std::string host; ///< as ssh knows it; empty: the machine that starts the run
    std::string
        interface; ///< carries rendezvous, gradients and the agents' link; empty: loopback (nodes of one host only)
    std::vector<std::string> devices; ///< as RunConfig::devices, of this node
    std::string device;               ///< cpu | cuda; empty: RunConfig::device
    int coresPerDevice = 0;           ///< 0: RunConfig::coresPerDevice
    std::string dataDir;              ///< empty: RunConfig::dataDir
    std::string agent;                ///< path of lockstep-agent there; empty: in its PATH
    std::string
        address; ///< at which the other nodes reach it; empty: the interface's first address, found by its agent

    bool operator==(const NodePlace &) const = default;
};

[[nodiscard]] std::string toText(const std::vector<NodePlace> &nodes); ///< empty for none
/// The text's nodes; an error names the node by number (from 1), its text and what was expected.
[[nodiscard]] Result<std::vector<NodePlace>> nodesFromText(std::string_view text);

/// The places of the first `count` devices, node by node; nodes without one are left out.
[[nodiscard]] std::vector<NodePlace> firstDevices(const std::vector<NodePlace> &nodes, int count);
/// Their devices and interfaces, without the paths of agent and data: identifies the places for which a measurement holds. "hostA%eth0:0;hostB%bond0:0 cores=2".
[[nodiscard]] std::string placesOf(const std::vector<NodePlace> &nodes);

/// Nodes of the run: 1 when none are placed.
[[nodiscard]] int nodeCount(const RunConfig &config);
/// Processes of each node, in order: for ddp one a device.
[[nodiscard]] std::vector<int> processesOfNodes(const RunConfig &config);
/// The first rank of each node: prefix sums of the processes, whatever their numbers ({2, 3} → {0, 2}).
[[nodiscard]] std::vector<int> firstRanks(std::span<const int> processes);
/// The config for the agent and the ranks of node K: device, devices, cores, data folder and interface are those of the node;
/// `nodes` is kept, so that batch and learning rate count all devices. Mixed kinds of devices with backend auto give gloo. Without
/// nodes: the config itself.
[[nodiscard]] RunConfig configOfNode(const RunConfig &config, int node);
/// Mistakes in the nodes themselves: a device twice, different hosts without an interface, … Part of validate().
[[nodiscard]] std::vector<Error> checkNodes(const RunConfig &config);
/// "hostB" or "this machine", for people.
[[nodiscard]] std::string titleOf(const NodePlace &place);

} // namespace lockstep
