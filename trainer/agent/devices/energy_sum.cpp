// SPDX-License-Identifier: MIT
#include "trainer/agent/devices/energy_sum.h"

#include <algorithm>
#include <functional>
#include <map>

namespace lockstep::agent {

namespace {

/// One kind of energy, as a node reports it.
struct Part {
    std::optional<double> joules;
    double seconds = 0;
    std::string unknown; ///< why
};

struct Sum {
    double joules = 0, watts = 0;
    void add(const Part &part) {
        joules += *part.joules;
        watts += part.seconds > 0 ? *part.joules / part.seconds : 0;
    }
    [[nodiscard]] double seconds() const { return watts > 0 ? joules / watts : 0; }
};

/// Why a kind of energy is unknown; empty: every node knows it.
std::string whyUnknown(const std::vector<NodeEnergy> &nodes, const std::function<Part(const Energy &)> &part) {
    std::vector<std::string> reasons; // by node
    for (const NodeEnergy &node : nodes) {
        const Part own = node.energy ? part(*node.energy) : Part{{}, 0, "its agent did not report any"};
        reasons.push_back(own.joules ? std::string() : own.unknown);
    }
    const auto first = std::ranges::find_if(reasons, [](const std::string &why) { return !why.empty(); });
    if (first == reasons.end())
        return {};
    const bool alike = std::ranges::all_of(reasons, [&](const std::string &why) { return why == *first; });
    return alike ? *first : "on " + nodes[std::size_t(first - reasons.begin())].title + ": " + *first;
}

void addGpus(const std::vector<NodeEnergy> &nodes, Energy &out) {
    out.gpusUnknown = whyUnknown(nodes, [](const Energy &one) { return Part{one.gpusJ, one.gpusS, one.gpusUnknown}; });
    if (!out.gpusUnknown.empty())
        return;
    Sum sum;
    for (const NodeEnergy &node : nodes) {
        const Energy &one = *node.energy;
        sum.add({one.gpusJ, one.gpusS, {}});
        if (out.gpusFrom.find(one.gpusFrom) == std::string::npos)
            out.gpusFrom += (out.gpusFrom.empty() ? "" : ", on other nodes ") + one.gpusFrom;
    }
    out.gpusJ = sum.joules;
    out.gpusS = sum.seconds();
}

void addPackages(const std::vector<NodeEnergy> &nodes, Energy &out) {
    out.packagesUnknown = whyUnknown(nodes, [](const Energy &one) {
        return Part{one.packagesJ, one.packagesS, one.packagesUnknown};
    });
    if (!out.packagesUnknown.empty())
        return;
    std::map<std::string, Part> machines; // of nodes on one machine, the one that read longest
    for (const NodeEnergy &node : nodes) {
        const Energy &one = *node.energy;
        Part &part = machines[one.packagesOf.empty() ? node.title : one.packagesOf];
        if (!part.joules || part.seconds < one.packagesS)
            part = {one.packagesJ, one.packagesS, {}};
    }
    Sum sum;
    for (const auto &[machine, part] : machines)
        sum.add(part);
    out.packagesJ = sum.joules;
    out.packagesS = sum.seconds();
}

} // namespace

Energy energyOfAll(const std::vector<NodeEnergy> &nodes) {
    Energy out;
    out.nodes = static_cast<int>(nodes.size());
    addGpus(nodes, out);
    addPackages(nodes, out);
    return out;
}

} // namespace lockstep::agent
