#pragma once
// The nodes of a run as a picture: what stands where, which way it is joined, and what a method sends over each way.
// Pure; units: bytes and seconds.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nodes/doctor_look.h"

namespace lockstep::core {

struct TopologyRank {
    int rank = 0, localRank = 0;
    std::size_t node = 0;
    std::string device; ///< "cpu:0", "cuda:1"
};

struct TopologyNode {
    std::string name, host, interface, address; ///< address: of the interface; empty where unknown
    std::string deviceKind;                     ///< "cpu" or "cuda"
    int devices = 0;                            ///< it has
    bool usable = false;
    bool heard = true; ///< false: the link to it is lost, so what its ranks do is not known
    std::vector<TopologyRank> ranks;
};

/// One way between two nodes. Figures are of the chosen interfaces, each way on its own; absent: not measured.
struct TopologyLink {
    enum class State { Unknown, Up, Lost, Ended }; ///< between the agents of a run; Unknown: nobody watches this way
    std::size_t a = 0, b = 0;
    State state = State::Unknown;
    std::string sentence;                                                        ///< of the state: why and since when
    std::optional<double> roundTripS, bandwidthThereBytesS, bandwidthBackBytesS; ///< there: a to b
    double bytesThere = 0, bytesBack = 0;                                        ///< that one step sends
    /// What those bytes take at least at the measured bandwidth, the two directions at once.
    [[nodiscard]] std::optional<double> leastS() const;
};

struct TopologyFlow {
    int from = 0, to = 0; ///< ranks
    double bytes = 0;     ///< a step
};

struct Topology {
    std::vector<TopologyNode> nodes;
    std::vector<TopologyLink> links; ///< of every two nodes, once
    std::vector<TopologyFlow> flows; ///< between ranks, those within a node too
    std::string method;
    double gradientBytes = 0;

    [[nodiscard]] int worldSize() const;
    /// The slowest way's leastS(): a step's communication can't be shorter. Absent while a way that is used is not measured.
    [[nodiscard]] std::optional<double> leastStepS() const;
};

/// Nodes and ways between them as the doctor found them; before it looked, as far as the nodes themselves told.
[[nodiscard]] Topology topologyOf(const DoctorLook &look);

/// Puts up to `devicesPerNode` ranks on each usable node and the method's traffic between them.
void putOn(Topology &topology, std::string_view method, double gradientBytes, int devicesPerNode);

/// The method's traffic between the ranks that stand on the nodes. `ddp`: a ring all-reduce, each
/// rank sends 2(N-1)/N·K to its neighbour. `ps-sync`: each rank sends K to rank 0 and gets K back, 2(N-1)K in all
/// (both formulas: docs/recipes, allreduce-vs-server). K: bytes of all gradients.
void addTraffic(Topology &topology, std::string_view method, double gradientBytes);

/// Gradients of a model in fp32: 4 bytes × its parameters; nothing for a model that is not known.
[[nodiscard]] std::optional<double> gradientBytesOf(std::string_view model);

} // namespace lockstep::core
