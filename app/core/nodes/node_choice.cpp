// SPDX-License-Identifier: MIT
#include "nodes/node_choice.h"

#include <algorithm>

namespace lockstep::core {
namespace {

bool sameNode(const NodePlace &place, const NodeEntry &node) {
    return node.how == "local" ? place.host.empty() : node.how == "ssh" && place.host == node.host;
}

auto find(auto &places, const NodeEntry &node) {
    return std::find_if(places.begin(), places.end(), [&](const NodePlace &place) { return sameNode(place, node); });
}

const NodeEntry *entryFor(const NodePlace &place, const std::vector<NodeEntry> &book) {
    const auto found =
        std::find_if(book.begin(), book.end(), [&](const NodeEntry &node) { return sameNode(place, node); });
    return found == book.end() ? nullptr : &*found;
}

} // namespace

const NodePlace *placeOf(const std::vector<NodePlace> &places, const NodeEntry &node) {
    const auto found = find(places, node);
    return found == places.end() ? nullptr : &*found;
}

std::vector<NodePlace> withDevices(std::vector<NodePlace> places, const NodeEntry &node, const std::string &kind,
                                   const std::vector<std::string> &devices) {
    const auto found = find(places, node);
    if (devices.empty()) {
        if (found != places.end())
            places.erase(found);
        return places;
    }
    if (found != places.end()) {
        found->device = kind;
        found->devices = devices;
        return places;
    }
    NodePlace place;
    place.host = node.how == "local" ? "" : node.host;
    place.interface = node.interface;
    place.agent = node.agent;
    place.device = kind;
    place.devices = devices;
    places.push_back(std::move(place));
    return places;
}

std::vector<NodePlace> followBook(std::vector<NodePlace> places, const std::vector<NodeEntry> &before,
                                  const std::vector<NodeEntry> &now) {
    for (NodePlace &place : places) {
        const NodeEntry *old = entryFor(place, before), *entry = entryFor(place, now);
        if (!entry)
            continue;
        if (place.interface.empty() || (old && place.interface == old->interface))
            place.interface = entry->interface;
        if (place.agent.empty() || (old && place.agent == old->agent))
            place.agent = entry->agent;
    }
    return places;
}

std::vector<NodeEntry> entriesOf(const std::vector<NodePlace> &places, const std::vector<NodeEntry> &book) {
    std::vector<NodeEntry> entries;
    for (const NodePlace &place : places)
        if (const NodeEntry *found = entryFor(place, book)) {
            NodeEntry entry = *found;
            if (!place.interface.empty() && place.interface != entry.interface) {
                entry.interface = place.interface;
                entry.interfacePinned = true;
            }
            entries.push_back(std::move(entry));
        }
    return entries;
}

bool lacksInterface(const std::vector<NodePlace> &places, const std::vector<NodeEntry> &book) {
    return places.size() > 1 && std::any_of(places.begin(), places.end(), [&](const NodePlace &place) {
               return place.interface.empty() && entryFor(place, book);
           });
}

std::string torchReasonOf(const std::vector<NodePlace> &places, const std::vector<NodeEntry> &book) {
    std::vector<std::pair<std::string, std::string>> reasons; // name, reason
    for (const NodePlace &place : places)
        if (const NodeEntry *entry = entryFor(place, book); entry && !entry->lineReason.empty())
            reasons.emplace_back(entry->name, entry->lineReason);
    const auto same = [&](const auto &one) { return one.second == reasons.front().second; };
    if (!reasons.empty() && reasons.size() == places.size() && std::all_of(reasons.begin(), reasons.end(), same))
        return reasons.front().second;
    std::string text;
    for (const auto &[name, reason] : reasons)
        text += (text.empty() ? "" : "; ") + name + ": " + reason;
    return text;
}

std::string whyNotChosen(const NodeEntry &node) {
    return node.how == "slurm" ? "allocated by Slurm's partition " + node.partition +
                                     ": lockstepctl slurm submit RECIPE --partition " + node.partition
                               : "";
}

} // namespace lockstep::core
