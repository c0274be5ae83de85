// SPDX-License-Identifier: MIT
#include "nodes/known_places.h"

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

/// What each node of the list is reached by.
std::set<std::pair<std::vector<std::string>, Place>> placesInNodeBook() {
    std::set<std::pair<std::vector<std::string>, Place>> places;
    if (const auto nodes = readNodes())
        for (const NodeEntry &node : *nodes)
            if (const auto known = prefixFor(node))
                places.emplace(known->words, placeOf(*known));
    return places;
}

/// In a job of this user's, whose machine sees the same files: this installation's own agent, by the path that it writes into a run's
/// origin. Another path may lead to it here and to something else there, or later.
bool isOwnAgentInJob(const CommandPrefix &prefix) {
    if (!prefix.host.starts_with(slurm))
        return false;
    const auto own = findAgent();
    std::error_code error;
    return own && agentBeside(prefix.agent) == std::filesystem::canonical(*own, error).string();
}

} // namespace

std::vector<CommandPrefix> unknownOf(std::vector<CommandPrefix> places) {
    std::erase_if(places, [](const CommandPrefix &place) { return place.local(); });
    if (places.empty())
        return places;
    const std::set<Place> remembered = readPlaces().value_or(std::set<Place>());
    const auto listed = placesInNodeBook();
    std::erase_if(places, [&](const CommandPrefix &place) {
        return remembered.contains(placeOf(place)) || listed.contains({place.words, placeOf(place)}) ||
               isOwnAgentInJob(place);
    });
    return places;
}

bool isKnownPlace(const CommandPrefix &prefix) {
    return unknownOf({prefix}).empty();
}

Result<void> rememberPlace(const CommandPrefix &prefix) {
    return rememberPlaces({prefix});
}

Result<void> rememberPlaces(const std::vector<CommandPrefix> &given) {
    const std::vector<CommandPrefix> unknown = unknownOf(given);
    if (unknown.empty())
        return {};
    if (auto made = realFileSystem().makeFolders(dataHome()); !made)
        return made;
    const auto lock = lockOfDocument(placesFile(), commandPatience);
    if (!lock)
        return fail(lock.error());
    auto places = readPlaces();
    if (!places)
        return fail(places.error());
    for (const CommandPrefix &place : unknown)
        places->insert(placeOf(place));
    Json root = {{"places", Json::array()}};
    for (const auto &[host, program] : *places)
        root["places"].push_back({{"host", host}, {"program", program}});
    const std::string text = root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
    if (text.size() > largestDocument || !documents::limitBroken(text).empty()) // it could not be read again
        return fail(Error::failed(placesFile() + " would be larger than what can be read",
                                  "move it away: places are asked for again"));
    return realFileSystem().writeAtomically(placesFile(), text);
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
