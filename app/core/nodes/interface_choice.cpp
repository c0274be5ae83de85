// SPDX-License-Identifier: MIT
#include <algorithm>

#include "nodes/doctor_snapshot.h"

namespace lockstep::core {
namespace {

bool isPlain(std::string_view address) {
    return address.find(':') == std::string_view::npos;
}

/// The interface's first address that all nodes reach; IPv4 comes first in the list.
std::string reachedAddress(const DoctorSnapshot &snapshot, std::size_t node, const NodeFacts::Interface &interface) {
    for (const std::string &address : interface.addresses)
        if (reachedByAll(snapshot, node, address))
            return address;
    return {};
}

/// Whether one of two working interfaces is better.
bool better(const NodeFacts::Interface &a, const std::string &addressA, const NodeFacts::Interface &b,
            const std::string &addressB) {
    if (a.real != b.real)
        return a.real;
    if (a.speedMbit.value_or(0) != b.speedMbit.value_or(0))
        return a.speedMbit.value_or(0) > b.speedMbit.value_or(0);
    return isPlain(addressA) && !isPlain(addressB);
}

InterfaceChoice chooseFor(const DoctorSnapshot &snapshot, std::size_t node) {
    InterfaceChoice choice;
    const NodeSnapshot &own = snapshot.nodes[node];
    if (!own.usable())
        return choice;
    if (own.node.interfacePinned && !own.node.interface.empty()) {
        choice.pinned = true;
        choice.interface = own.node.interface;
        if (const auto *pinned = findInterface(*own.facts, own.node.interface)) {
            choice.address = reachedAddress(snapshot, node, *pinned);
            if (choice.address.empty() && !pinned->addresses.empty())
                choice.address = pinned->addresses.front();
        }
        return choice;
    }
    const NodeFacts::Interface *best = nullptr;
    for (const NodeFacts::Interface &interface : own.facts->interfaces) {
        if (interface.loopback)
            continue;
        const std::string address = reachedAddress(snapshot, node, interface);
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
    bool any = false;
    for (std::size_t from = 0; from < snapshot.nodes.size(); ++from) {
        if (from == to || !snapshot.nodes[from].usable())
            continue;
        any = true;
        if (std::none_of(snapshot.tries.begin(), snapshot.tries.end(), [&](const NetTry &one) {
                return one.from == from && one.to == to && !one.named && one.ok && one.address == address;
            }))
            return false;
    }
    return any;
}

std::vector<InterfaceChoice> chooseInterfaces(const DoctorSnapshot &snapshot) {
    std::vector<InterfaceChoice> choices;
    for (std::size_t i = 0; i < snapshot.nodes.size(); ++i)
        choices.push_back(chooseFor(snapshot, i));
    return choices;
}

} // namespace lockstep::core
