// SPDX-License-Identifier: MIT
#pragma once
// The nodes of a run as a picture: ranks, connections between nodes, and what a method sends over each of them.
// Pure; units: bytes and seconds.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/methods.h"
#include "ipc/run_config.h"
#include "nodes/doctor_snapshot.h"

namespace lockstep::core {

struct TopologyRank {
    int rank = 0, localRank = 0;
    std::size_t node = 0;
    std::string device; ///< "cpu:0", "cuda:1"
};

struct TopologyNode {
    std::string name, host, interface, address; ///< address: of the interface; empty where unknown
    std::string deviceKind;                     ///< "cpu" or "cuda"
    int devices = 0;                            ///< number of devices it has
    bool usable = false;
    bool heard = true; ///< false: the link to it is lost and its ranks' state is unknown
    std::vector<TopologyRank> ranks;
};

/// One connection between two nodes. Figures are of the chosen interfaces, each direction on its own; absent: not
/// measured.
struct TopologyLink {
    enum class State { Unknown, Up, Lost, Ended }; ///< between the agents of a run; Unknown: not monitored
    std::size_t a = 0, b = 0;
    State state = State::Unknown;
    std::string sentence; ///< explains the state: why and since when
    std::optional<double> roundTripS, bandwidthThereBytesS, bandwidthBackBytesS; ///< there: from a to b
    double bytesThere = 0, bytesBack = 0;                                        ///< sent per step
    /// Least time for those bytes at the measured bandwidths, both directions at once.
    [[nodiscard]] std::optional<double> leastS() const;
};

struct TopologyFlow {
    int from = 0, to = 0; ///< ranks
    double bytes = 0;     ///< per step
};

inline constexpr std::size_t mostFlows = 1'000'000; ///< of 700 ranks that each hold a share of the parameters
struct Topology {
    std::vector<TopologyNode> nodes;
    std::vector<TopologyLink> links; ///< one for each pair of nodes; a < b
    std::vector<TopologyFlow> flows; ///< between ranks, also within a node; none if there would be more than mostFlows
    std::string method;
    Traffic traffic = Traffic::None; ///< the method's
    double gradientBytes = 0;

    [[nodiscard]] int worldSize() const;
    /// More nodes than this are not drawn: a sentence describes them.
    [[nodiscard]] bool isDrawable() const { return nodes.size() <= 64; }
    /// The slowest link's leastS(), a lower bound of a step's communication. Absent if a link in use was not measured.
    [[nodiscard]] std::optional<double> leastStepS() const;
};

/// Nodes and connections as the doctor found them. Without its measurements, what the nodes themselves reported.
[[nodiscard]] Topology topologyOf(const DoctorSnapshot &snapshot);

/// Puts up to `devicesPerNode` ranks on each usable node and the method's traffic between them.
void putOn(Topology &topology, std::string_view method, double gradientBytes, int devicesPerNode);

/// Ranks that each hold a share of the parameters.
struct ServerRanks {
    int servers = 1;
    bool apart = false; ///< they do nothing else, and are the last ranks; else the first
};
/// The method's traffic (Traffic says how much goes where; docs/recipes/allreduce-vs-server.md derives it) between the
/// ranks on the nodes, as flows and as each link's bytes per step.
void addTraffic(Topology &topology, std::string_view method, double gradientBytes, ServerRanks servers = {});
/// The same where the flows are known.
void addFlows(Topology &topology, std::string_view method, std::vector<TopologyFlow> flows);

/// Gradients of a model in fp32: 4 bytes × its parameters; nothing for a model that is not known.
[[nodiscard]] std::optional<double> gradientBytesOf(std::string_view model);
/// The same of a run's; nothing either where a folder says the model's sizes.
[[nodiscard]] std::optional<double> gradientBytesOf(const RunConfig &config);

} // namespace lockstep::core
