// SPDX-License-Identifier: MIT
#include "trainer/agent/nodes/discovery_file.h"

#include <nlohmann/json.hpp>

#include "ipc/documents.h"
#include "ipc/file_system.h"
#include "ipc/run_folder.h"

namespace lockstep::agent {

std::string encodeDiscoveryLine(const DiscoveryJson &json) {
    return json.dump(-1, ' ', false, DiscoveryJson::error_handler_t::replace) + "\n";
}

DiscoveryJson decodeDiscoveryLine(std::string_view line) {
    DiscoveryJson json = documents::objectOrNull(line);
    return json.is_object() ? json : DiscoveryJson::object();
}

std::string textOf(const DiscoveryJson &json, const char *key) {
    return documents::valueIn(json, key, "");
}

int numberOf(const DiscoveryJson &json, const char *key) {
    return documents::valueIn(json, key, 0);
}

Error discoveryInterrupted() {
    return Error::failed("stopped by a signal before the nodes had found the network between them");
}

std::string discoveryFile(const std::string &run) {
    return dataHome() + "/meeting-" + run + ".json";
}

Result<void> writeInvitation(const std::string &run, const Invitation &invitation) {
    DiscoveryJson offers = DiscoveryJson::array();
    for (const InterfaceOffer &offer : invitation.offers)
        offers.push_back({{"interface", offer.interface},
                          {"address", offer.address},
                          {"port", offer.port},
                          {"knock", offer.knock},
                          {"proof", offer.proof}});
    const DiscoveryJson file = {{"token", invitation.token}, {"offers", offers}};
    if (const auto made = realFileSystem().makeFolders(dataHome()); !made)
        return made;
    return realFileSystem().writeAtomically(discoveryFile(run), documents::line(file) + "\n");
}

std::optional<Invitation> readInvitation(const std::string &run) {
    const auto text = realFileSystem().readAll(discoveryFile(run));
    const DiscoveryJson json = text ? decodeDiscoveryLine(*text) : DiscoveryJson::object();
    if (!json.contains("offers") || !json["offers"].is_array())
        return std::nullopt;
    Invitation invitation{textOf(json, "token"), {}};
    for (const DiscoveryJson &one : json["offers"])
        if (one.is_object())
            invitation.offers.push_back({textOf(one, "interface"), textOf(one, "address"), textOf(one, "knock"),
                                         textOf(one, "proof"), numberOf(one, "port")});
    return invitation;
}

} // namespace lockstep::agent
