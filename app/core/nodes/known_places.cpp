// SPDX-License-Identifier: MIT
#include "nodes/known_places.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "ipc/documents.h"
#include "ipc/file_system.h"
#include "ipc/printable.h"
#include "ipc/run_folder.h"
#include "nodes/document_lock.h"
#include "nodes/node_book.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;
using Place = std::pair<std::string, std::string>; ///< host, program
constexpr std::string_view slurm = "slurm:", ctl = "lockstepctl", agent = "lockstep-agent";

std::string placesFile() {
    return dataHome() + "/known_places.json";
}

std::string agentBeside(std::string program) {
    if (program == ctl || program.ends_with("/" + std::string(ctl)))
        program.replace(program.size() - ctl.size(), ctl.size(), agent);
    return program;
}

Place placeOf(const CommandPrefix &prefix) {
    return {prefix.host.starts_with(slurm) ? std::string(slurm) : prefix.host, agentBeside(prefix.agent)};
}

/// A file that makes no sense knows no place: its user is asked again.
Result<std::set<Place>> readPlaces() {
    std::set<Place> places;
    if (!isThere(placesFile()))
        return places;
    const auto text = realFileSystem().readAll(placesFile());
    if (!text)
        return fail(text.error());
    const Json root = documents::objectOrNull(*text);
    if (!root.is_object() || !root.contains("places") || !root["places"].is_array())
        return places;
    for (const Json &place : root["places"])
        if (place.is_object())
            places.emplace(documents::valueIn(place, "host", ""), documents::valueIn(place, "program", ""));
    return places;
}

bool isInNodeBook(const CommandPrefix &prefix) {
    const auto nodes = readNodes();
    return nodes && std::ranges::any_of(*nodes, [&](const NodeEntry &node) {
               const auto known = prefixFor(node);
               return known && known->words == prefix.words && placeOf(*known) == placeOf(prefix);
           });
}

/// In a job of this user's, whose machine sees the same files: this installation's own agent.
bool isOwnAgentInJob(const CommandPrefix &prefix) {
    if (!prefix.host.starts_with(slurm))
        return false;
    const auto own = findAgent();
    std::error_code error;
    return own && std::filesystem::equivalent(*own, prefix.agent, error);
}

} // namespace

bool isKnownPlace(const CommandPrefix &prefix) {
    if (prefix.local())
        return true;
    const auto places = readPlaces();
    return (places && places->contains(placeOf(prefix))) || isInNodeBook(prefix) || isOwnAgentInJob(prefix);
}

Result<void> rememberPlace(const CommandPrefix &prefix) {
    if (isKnownPlace(prefix))
        return {};
    if (auto made = realFileSystem().makeFolders(dataHome()); !made)
        return made;
    const auto lock = lockOfDocument(placesFile(), commandPatience);
    if (!lock)
        return fail(lock.error());
    auto places = readPlaces();
    if (!places)
        return fail(places.error());
    places->insert(placeOf(prefix));
    Json root = {{"places", Json::array()}};
    for (const auto &[host, program] : *places)
        root["places"].push_back({{"host", host}, {"program", program}});
    return realFileSystem().writeAtomically(placesFile(),
                                            root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

Result<void> rememberPlaces(const std::vector<CommandPrefix> &places) {
    for (const CommandPrefix &place : places)
        if (const Result<void> known = rememberPlace(place); !known)
            return known;
    return {};
}

std::string placesText(const std::vector<CommandPrefix> &places) {
    std::string text;
    for (const CommandPrefix &place : places)
        text += (text.empty() ? "" : ", ") + quotedWords(place.agent) + " on " + printableName(place.host);
    return text;
}

Error unknownPlaces(std::string_view what, std::string_view id, const std::vector<CommandPrefix> &places) {
    return Error::badArgument(std::string(what) + " says that it runs elsewhere; following it would start " +
                                  placesText(places) + ", which no command and no node of yours has named",
                              "if you trust it: lockstepctl attach " + std::string(id) + " --connect");
}

} // namespace lockstep::core
