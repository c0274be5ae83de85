// SPDX-License-Identifier: MIT
#include <map>
#include <set>
#include <utility>

#include "nodes/doctor_snapshot.h"

namespace lockstep::core {
namespace {

bool isPlain(std::string_view address) {
    return address.find(':') == std::string_view::npos;
}

/// Which usable nodes reached which address of which node, since there may be many tries.
class ReachedAddresses {
public:
    explicit ReachedAddresses(const DoctorSnapshot &snapshot) : m_snapshot(snapshot) {
        for (const NetTry &one : snapshot.tries)
            if (one.ok && !one.named && one.from != one.to && snapshot.nodes[one.from].usable())
                m_from[{one.to, one.address}].insert(one.from);
    }
    /// By every other usable node, of which there is one at least.
    [[nodiscard]] bool byAll(std::size_t to, std::string_view address) const {
        std::size_t others = 0;
        for (std::size_t from = 0; from < m_snapshot.nodes.size(); ++from)
            others += from != to && m_snapshot.nodes[from].usable() ? 1 : 0;
        const auto found = m_from.find({to, address});
        return others > 0 && found != m_from.end() && found->second.size() == others;
    }
    /// The interface's first address that all nodes reach; IPv4 comes first in the list.
    [[nodiscard]] std::string addressOf(std::size_t node, const NodeFacts::Interface &interface) const {
        for (const std::string &address : interface.addresses)
            if (byAll(node, address))
                return address;
        return {};
    }

private:
    const DoctorSnapshot &m_snapshot;
    std::map<std::pair<std::size_t, std::string_view>, std::set<std::size_t>> m_from; ///< by node and address
};

/// Whether one of two working interfaces is better.
bool better(const NodeFacts::Interface &a, const std::string &addressA, const NodeFacts::Interface &b,
            const std::string &addressB) {
    if (a.real != b.real)
        return a.real;
    if (a.speedMbit.value_or(0) != b.speedMbit.value_or(0))
        return a.speedMbit.value_or(0) > b.speedMbit.value_or(0);
    return isPlain(addressA) && !isPlain(addressB);
}

InterfaceChoice chooseFor(const DoctorSnapshot &snapshot, const ReachedAddresses &reached, std::size_t node) {
    InterfaceChoice choice;
    const NodeSnapshot &own = snapshot.nodes[node];
    if (!own.usable())
        return choice;
    if (own.node.interfacePinned && !own.node.interface.empty()) {
        choice.pinned = true;
        choice.interface = own.node.interface;
        if (const auto *pinned = findInterface(*own.facts, own.node.interface)) {
            choice.address = reached.addressOf(node, *pinned);
            if (choice.address.empty() && !pinned->addresses.empty())
                choice.address = pinned->addresses.front();
        }
        return choice;
    }
    const NodeFacts::Interface *best = nullptr;
    for (const NodeFacts::Interface &interface : own.facts->interfaces) {
        if (interface.loopback)
            continue;
        const std::string address = reached.addressOf(node, interface);
        if (address.empty() || (best && !better(interface, address, *best, choice.address)))
            continue;
        best = &interface;
        choice.interface = interface.name;
        choice.address = address;
    }
    return choice;
}

} // namespace

bool reachedByAll(const DoctorSnapshot &snapshot, std::size_t to, std::string_view address) {
    return ReachedAddresses(snapshot).byAll(to, address);
}

std::vector<InterfaceChoice> chooseInterfaces(const DoctorSnapshot &snapshot) {
    const ReachedAddresses reached(snapshot);
    std::vector<InterfaceChoice> choices;
    for (std::size_t i = 0; i < snapshot.nodes.size(); ++i)
        choices.push_back(chooseFor(snapshot, reached, i));
    return choices;
}

} // namespace lockstep::core
