// SPDX-License-Identifier: MIT
#include "launch/place_check.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "ipc/documents.h"
#include "ipc/file_system.h"
#include "ipc/run_folder.h"
#include "ipc/sha256.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

/// Includes ssh and LibTorch's start from a cold disk. The check itself takes at most ten seconds, on GPUs a minute
/// more.
constexpr int limitMs = 30'000, gpuStartMs = 60'000;
constexpr std::size_t mostRemembered = 200;

std::string fileOfPlaces() {
    return dataHome() + "/checked_places.json";
}

/// The current book of nodes, as a fingerprint: only changes matter.
std::string bookNow() {
    const auto text = realFileSystem().readAll(nodesFile());
    return sha256Hex(text.value_or(""));
}

std::string placesOfRun(const RunConfig &config, const CommandPrefix &where) {
    std::string places = where.host + "|" + config.device + "|" + config.backend + "|" +
                         std::to_string(config.coresPerDevice) + "|" + placesOf(config.nodes);
    if (config.nodes.empty())
        for (const std::string &device : config.devices)
            places += "," + device;
    return places;
}

/// The places that passed with the current book.
std::vector<std::string> remembered() {
    const auto text = realFileSystem().readAll(fileOfPlaces());
    const Json json = text ? documents::objectOrNull(*text) : Json();
    if (documents::valueIn(json, "book", "") != bookNow())
        return {};
    return documents::valueIn(json, "places", std::vector<std::string>());
}

/// "rank 1 on hostB and rank 2 on hostC (Connection refused)"
std::string pairText(const Json &pair, const std::vector<std::string> &names) {
    std::string out;
    for (const Json &rank : documents::valueIn(pair, "ranks", Json::array())) {
        const bool known = rank.is_number_unsigned() && rank.get<std::size_t>() < names.size();
        out += (out.empty() ? "" : " and ") + (known ? names[rank.get<std::size_t>()] : "rank " + rank.dump());
    }
    return out + " (" + documents::valueIn(pair, "reason", "") + ")";
}

Error troubleIn(const Json &answer) {
    std::string pairs;
    const auto names = documents::valueIn(answer, "ranks", std::vector<std::string>());
    for (const Json &pair : documents::valueIn(answer, "pairs", Json::array()))
        pairs += (pairs.empty() ? "" : "; ") + pairText(pair, names);
    const std::string wayOut = "examine the network with lockstepctl doctor, or start with --no-check";
    if (!pairs.empty())
        return Error::badArgument("the check before the first run over these devices failed: no data arrives "
                                  "between " +
                                      pairs,
                                  wayOut);
    return Error::badArgument(
        "the check before the first run over these devices failed, although each pair of ranks reaches "
        "each other: " +
            documents::valueIn(answer, "reason", ""),
        wayOut);
}

} // namespace

bool wantsCheck(const RunConfig &config) {
    return isDistributed(config.method) &&
           (config.nodes.size() > 1 || (config.device == "cuda" && deviceCount(config) > 1));
}

bool wasChecked(const RunConfig &config, const CommandPrefix &where) {
    const auto places = remembered();
    return std::find(places.begin(), places.end(), placesOfRun(config, where)) != places.end();
}

Result<void> rememberChecked(const RunConfig &config, const CommandPrefix &where) {
    std::vector<std::string> places = remembered();
    places.push_back(placesOfRun(config, where));
    if (places.size() > mostRemembered)
        places.erase(places.begin());
    if (auto made = realFileSystem().makeFolders(dataHome()); !made)
        return made;
    return realFileSystem().writeAtomically(fileOfPlaces(),
                                            Json{{"book", bookNow()}, {"places", places}}.dump(1) + "\n");
}

PlaceCheck::PlaceCheck(QObject *parent) : QObject(parent) {
    connect(&m_run, &AttendedRun::said, this, [this](int rank, const QByteArray &line) {
        if (rank == 0)
            take(line);
    });
    connect(&m_run, &AttendedRun::ended, this, &PlaceCheck::over);
    m_limit.setSingleShot(true);
    connect(&m_limit, &QTimer::timeout, this, [this] {
        m_late = true;
        m_run.stop();
    });
}

void PlaceCheck::start(const RunConfig &config, const CommandPrefix &where) {
    m_config = config;
    m_where = where;
    m_limit.start(limitMs + (anyGpu(config) ? gpuStartMs : 0));
    m_run.start(withoutKeeping(config), trainerCommand("check", config), "Check", where);
}

void PlaceCheck::stop() {
    m_run.stop();
}

void PlaceCheck::take(const QByteArray &line) {
    const Json json = documents::objectOrNull({line.constData(), std::size_t(line.size())});
    const auto passed = documents::optionalIn<bool>(json, "ok");
    if (documents::valueIn(json, "type", "") != "check" || !passed)
        return;
    m_answered = true;
    if (!*passed)
        m_trouble = troubleIn(json);
}

void PlaceCheck::over(const std::optional<Error> &error) {
    m_limit.stop();
    if (m_answered && !m_trouble) {
        (void)rememberChecked(m_config, m_where); // on an error the check just runs again next time
        Q_EMIT ended(std::nullopt);
        return;
    }
    if (m_trouble) {
        Q_EMIT ended(m_trouble);
        return;
    }
    if (m_late) {
        Q_EMIT ended(Error::badArgument("the check before the first run over these devices did not finish within " +
                                            std::to_string(m_limit.interval() / 1000) + " s",
                                        "examine the nodes with lockstepctl doctor, or start with --no-check"));
        return;
    }
    Q_EMIT ended(error ? *error
                       : Error::badArgument("the check before the first run over these devices reported nothing",
                                            "update all nodes to one version: lockstepctl nodes sync"));
}

} // namespace lockstep::core

#include "moc_place_check.cpp"
