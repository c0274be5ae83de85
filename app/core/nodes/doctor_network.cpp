// SPDX-License-Identifier: MIT
// The doctor's checks of the network between nodes: interfaces, ports, MTU, bandwidth, names.
#include <algorithm>
#include <set>

#include <QString>

#include "nodes/doctor_checks_detail.h"

namespace lockstep::core {
namespace {

using Severity = Finding::Severity;

constexpr double slowShare = 0.5;  ///< of the link's nominal speed
constexpr double unlikeWays = 2.0; ///< ratio of the two directions' bandwidths

std::string sentenceOf(const std::string &error) {
    if (error == "refused")
        return "the connection is refused";
    if (error == "no_answer")
        return "nothing comes back";
    if (error == "no_route")
        return "there is no route";
    if (error == "somebody_else")
        return "another program answers there";
    return error;
}

std::string mbit(double bytesS) {
    const double value = bytesS * 8 / 1e6;
    return value >= 1000 ? QString::number(value / 1000, 'g', 3).toStdString() + " Gbit/s"
                         : QString::number(value, 'g', 3).toStdString() + " Mbit/s";
}

std::string addressesOf(const NodeFacts &facts, std::string_view interface) {
    const auto *found = findInterface(facts, interface);
    std::string out;
    for (const std::string &address : found ? found->addresses : std::vector<std::string>())
        out += (out.empty() ? "" : ", ") + address;
    return out.empty() ? "no address" : out;
}

/// An interface of the node that works in place of a pinned one.
InterfaceChoice alternative(const DoctorSnapshot &snapshot, std::size_t node) {
    DoctorSnapshot free = snapshot;
    free.nodes[node].node.interfacePinned = false;
    return chooseInterfaces(free)[node];
}

void checkPinned(const DoctorSnapshot &snapshot, std::size_t i, Findings &out) {
    const NodeSnapshot &node = snapshot.nodes[i];
    const std::string &name = node.node.name, &interface = snapshot.choices[i].interface;
    const InterfaceChoice other = alternative(snapshot, i);
    const std::string fix = other.interface.empty()
                                ? "check cables, addresses and firewalls of both nodes"
                                : "use " + other.interface + ": lockstepctl nodes set " + name + " --interface " +
                                      other.interface + " (by hand: GLOO_SOCKET_IFNAME=" + other.interface +
                                      " NCCL_SOCKET_IFNAME=" + other.interface + ")";
    if (!findInterface(*node.facts, interface))
        return say(out, "wrong_interface", Severity::Error, name, name + " has no interface " + interface, fix);
    if (!snapshot.choices[i].address.empty() && reachedByAll(snapshot, i, snapshot.choices[i].address))
        return;
    std::string who;
    for (std::size_t from = 0; from < snapshot.nodes.size(); ++from) {
        const auto reached = std::any_of(snapshot.tries.begin(), snapshot.tries.end(), [&](const NetTry &one) {
            return one.from == from && one.to == i && !one.named && one.ok &&
                   one.address == snapshot.choices[i].address;
        });
        if (from != i && snapshot.nodes[from].usable() && !reached)
            who += (who.empty() ? "" : " and ") + snapshot.nodes[from].node.name;
    }
    say(out, "wrong_interface", Severity::Error, name,
        interface + " of " + name + " (" + addressesOf(*node.facts, interface) + ") is not reached from " + who, fix);
}

void checkNoInterface(const DoctorSnapshot &snapshot, std::size_t i, Findings &out) {
    const std::string &name = snapshot.nodes[i].node.name;
    std::string list;
    std::set<std::string> seen;
    for (const NetTry &one : snapshot.tries)
        if (one.to == i && !one.named && !one.ok && seen.insert(one.address + std::to_string(one.from)).second &&
            seen.size() <= 6) {
            const auto *interface = interfaceOf(*snapshot.nodes[i].facts, one.address);
            list += (list.empty() ? "" : ", ") + (interface ? interface->name + " " : std::string()) + one.address +
                    " from " + snapshot.nodes[one.from].node.name + ": " + sentenceOf(one.error);
        }
    say(out, "no_interface", Severity::Error, name,
        "no interface of " + name + " is reached by every other node" + (list.empty() ? "" : " (" + list + ")"),
        "join the nodes by one network, and open TCP between them in their firewalls (Gloo and NCCL use any port)");
}

void checkLeftOut(const NodeSnapshot &node, Findings &out) {
    const NodeFacts &facts = *node.facts;
    if (facts.interfacesLeftOut == 0 && facts.addressesLeftOut == 0)
        return;
    say(out, "many_interfaces", Severity::Note, node.node.name,
        node.node.name + " names more than is looked at: " + std::to_string(facts.interfacesLeftOut) +
            " interfaces and " + std::to_string(facts.addressesLeftOut) + " addresses are left out (of one node " +
            std::to_string(mostInterfaces) + " interfaces and " + std::to_string(mostAddresses) +
            " addresses are taken, with plain names)",
        "remove those that it does not need: ip addr show");
}

void checkInterfaces(const DoctorSnapshot &snapshot, Findings &out) {
    for (const NodeSnapshot &node : snapshot.nodes)
        if (node.usable())
            checkLeftOut(node, out);
    const auto usable = std::count_if(snapshot.nodes.begin(), snapshot.nodes.end(),
                                      [](const NodeSnapshot &node) { return node.usable(); });
    if (usable < 2)
        return;
    for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
        if (!snapshot.nodes[i].usable())
            continue;
        const InterfaceChoice &choice = snapshot.choices[i];
        if (choice.pinned)
            checkPinned(snapshot, i, out);
        else if (choice.interface.empty())
            checkNoInterface(snapshot, i, out);
    }
}

void checkPorts(const DoctorSnapshot &snapshot, Findings &out) {
    if (!snapshot.port)
        return;
    const std::string port = std::to_string(*snapshot.port);
    for (const PortFailure &one : snapshot.ports) {
        if (one.address != snapshot.choices[one.node].address)
            continue;
        const std::string &name = snapshot.nodes[one.node].node.name;
        if (one.inUse)
            say(out, "port_in_use", Severity::Error, name,
                "port " + port + " of " + name + " is in use" +
                    (one.holder.empty() ? " by another user's process" : " by " + one.holder),
                "end that process, or choose another port (without one, Lockstep finds a free one)");
        else
            say(out, "port_refused", Severity::Error, name,
                "port " + port + " of " + name + " can't be bound: " + one.error, "choose a port above 1023");
    }
    for (const NetTry &one : snapshot.tries) {
        if (!one.named || one.ok || one.address != snapshot.choices[one.to].address)
            continue;
        const bool otherwise = std::any_of(snapshot.tries.begin(), snapshot.tries.end(), [&](const NetTry &free) {
            return !free.named && free.ok && free.from == one.from && free.to == one.to && free.address == one.address;
        });
        if (otherwise)
            say(out, "closed_port", Severity::Error,
                snapshot.nodes[one.from].node.name + " → " + snapshot.nodes[one.to].node.name,
                "port " + port + " of " + snapshot.nodes[one.to].node.name + " (" + one.address + ") is closed to " +
                    snapshot.nodes[one.from].node.name + ": " + sentenceOf(one.error) + ", while other ports are open",
                "open TCP port " + port + " in the firewall of " + snapshot.nodes[one.to].node.name +
                    ", or choose another port");
    }
}

const LinkMeasure *back(const DoctorSnapshot &snapshot, const LinkMeasure &link) {
    const auto found = std::find_if(snapshot.links.begin(), snapshot.links.end(),
                                    [&](const LinkMeasure &one) { return one.from == link.to && one.to == link.from; });
    return found == snapshot.links.end() ? nullptr : &*found;
}

std::optional<double> ownSpeed(const DoctorSnapshot &snapshot, const LinkMeasure &link) {
    std::optional<double> least;
    for (const std::size_t end : {link.from, link.to}) {
        const auto *interface = findInterface(*snapshot.nodes[end].facts, snapshot.choices[end].interface);
        if (!interface || !interface->speedMbit)
            return std::nullopt;
        const double speed = *interface->speedMbit * 1e6 / 8;
        least = std::min(least.value_or(speed), speed);
    }
    return least;
}

void checkLink(const DoctorSnapshot &snapshot, const LinkMeasure &link, Findings &out) {
    const std::string &from = snapshot.nodes[link.from].node.name, &to = snapshot.nodes[link.to].node.name;
    const std::string where = from + " → " + to;
    const LinkMeasure *other = back(snapshot, link);
    if (!link.ok)
        return say(out, other && other->ok ? "one_way" : "link", Severity::Error, where,
                   from + " does not reach " + to + " from " + link.interface + " to " + link.address + ": " +
                       sentenceOf(link.error) + (other && other->ok ? ", though the other direction works" : ""),
                   "check the firewall of " + to + " and the route from " + link.interface + ": ip route get " +
                       link.address);
    if (link.stalled)
        return say(out, "large_packets", Severity::Error, where,
                   "small messages pass from " + from + " to " + to + ", large ones do not",
                   "a device on the path has a smaller MTU than the interfaces: ip link set " + link.interface +
                       " mtu 1500 on both, or fix the switch");
    if (!link.bandwidthBytesS)
        return;
    if (const auto speed = ownSpeed(snapshot, link); speed && *link.bandwidthBytesS < *speed * slowShare)
        say(out, "slow_link", Severity::Warning, where,
            "from " + from + " to " + to + " pass " + mbit(*link.bandwidthBytesS) + ", but the interfaces are rated " +
                mbit(*speed),
            "look for other traffic, a slower switch on the path, or errors: ethtool -S " + link.interface);
    if (other && other->bandwidthBytesS && *other->bandwidthBytesS > *link.bandwidthBytesS * unlikeWays)
        say(out, "unlike_ways", Severity::Warning, where,
            "from " + from + " to " + to + " pass " + mbit(*link.bandwidthBytesS) + ", in the other direction " +
                mbit(*other->bandwidthBytesS),
            "check the duplex setting and the cable: ethtool " + link.interface);
}

void checkMtu(const DoctorSnapshot &snapshot, Findings &out) {
    std::set<int> sizes;
    std::string list;
    for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
        const auto *interface = snapshot.nodes[i].usable()
                                    ? findInterface(*snapshot.nodes[i].facts, snapshot.choices[i].interface)
                                    : nullptr;
        if (!interface || !interface->mtu)
            continue;
        sizes.insert(*interface->mtu);
        list += (list.empty() ? "" : ", ") + std::to_string(*interface->mtu) + " on " + snapshot.nodes[i].node.name +
                " (" + interface->name + ")";
    }
    if (sizes.size() > 1)
        say(out, "mtu_differs", Severity::Warning, "all nodes", "the MTU differs: " + list,
            "set one on all, e.g. ip link set " + snapshot.choices.front().interface + " mtu " +
                std::to_string(*sizes.begin()));
}

} // namespace

void checkNetwork(const DoctorSnapshot &snapshot, Findings &out) {
    checkInterfaces(snapshot, out);
    checkPorts(snapshot, out);
    for (const LinkMeasure &link : snapshot.links)
        checkLink(snapshot, link, out);
    checkMtu(snapshot, out);
}

void checkNames(const DoctorSnapshot &snapshot, Findings &out) {
    for (const NameLookup &one : snapshot.names) {
        const NodeSnapshot &on = snapshot.nodes[one.on];
        const auto owner = std::find_if(snapshot.nodes.begin(), snapshot.nodes.end(), [&](const NodeSnapshot &node) {
            return node.usable() && node.facts->host == one.name;
        });
        if (owner == snapshot.nodes.end())
            continue;
        const auto loopback = [](const std::string &address) {
            return address.starts_with("127.") || address == "::1";
        };
        const bool loops = std::any_of(one.addresses.begin(), one.addresses.end(), loopback);
        const std::size_t place = std::size_t(owner - snapshot.nodes.begin());
        const std::string line =
            (snapshot.choices[place].address.empty() ? "ADDRESS" : snapshot.choices[place].address) + " " + one.name;
        if (place == one.on && loops)
            say(out, "own_name_loopback", Severity::Note, on.node.name,
                one.name + " resolves to " + one.addresses.front() +
                    " on itself, where Gloo would listen if no interface were set",
                "Lockstep sets the interface; for torchrun by hand set GLOO_SOCKET_IFNAME, or put '" + line +
                    "' into its /etc/hosts");
        else if (place != one.on && (loops || one.addresses.empty()))
            say(out, "name_resolution", Severity::Warning, on.node.name,
                loops ? "on " + on.node.name + " the name " + one.name + " resolves to " + one.addresses.front() +
                            ", which is " + on.node.name + " itself"
                      : on.node.name + " does not know the name " + one.name + " (" + one.error + ")",
                "Lockstep uses addresses; for torchrun by hand put '" + line + "' into its /etc/hosts");
    }
}

void checkData(const DoctorSnapshot &snapshot, Findings &out) {
    if (snapshot.dataset.empty())
        return;
    std::map<std::string, std::map<std::string, std::vector<std::string>>> byFile; // file → sha256 → nodes
    for (const NodeData &one : snapshot.data) {
        const std::string &name = snapshot.nodes[one.node].node.name;
        if (one.folder.empty() || one.sha256.empty()) {
            say(out, "data_missing", Severity::Error, name, name + " has no " + snapshot.dataset,
                "copy it there: lockstepctl nodes sync " + name + " --data " + snapshot.dataset);
            continue;
        }
        for (const auto &[file, hash] : one.sha256)
            byFile[file][hash].push_back(name);
    }
    // A distribution may repack files, which changes their sha256. If all nodes agree, that is no damage.
    std::string repacked;
    for (const auto &[file, hashes] : byFile) {
        const auto known = snapshot.knownSha256.find(file);
        if (known == snapshot.knownSha256.end())
            continue;
        if (hashes.size() == 1 && hashes.begin()->first != known->second)
            repacked += (repacked.empty() ? "" : ", ") + file;
        for (const auto &[hash, nodes] : hashes) {
            if (hashes.size() == 1 || hash == known->second)
                continue;
            for (const std::string &name : nodes)
                say(out, "data_damaged", Severity::Error, name, file + " on " + name + " is not the published file",
                    "copy it there again: lockstepctl nodes sync " + name + " --data " + snapshot.dataset);
        }
    }
    if (!repacked.empty())
        say(out, "data_repacked", Severity::Note, "all nodes",
            repacked + " of " + snapshot.dataset +
                " are repacked, differing from the published files but the same on every node",
            "nothing to do: the contents are checked when they are read");
    for (const auto &[file, hashes] : byFile)
        if (hashes.size() > 1 && !snapshot.knownSha256.contains(file)) {
            std::string list;
            for (const auto &[hash, nodes] : hashes)
                list += (list.empty() ? "" : ", ") + hash.substr(0, 12) + "… on " + nodes.front();
            say(out, "data_differs", Severity::Error, "all nodes", file + " differs between nodes: " + list,
                "copy it to all of them: lockstepctl nodes sync --data " + snapshot.dataset);
        }
}

} // namespace lockstep::core
