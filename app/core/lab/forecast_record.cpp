// SPDX-License-Identifier: MIT
#include "lab/forecast_record.h"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "experiment/recipe.h"
#include "ipc/clock.h"
#include "ipc/documents.h"
#include "ipc/file_system.h"
#include "ipc/json_or_null.h"
#include "ipc/run_folder.h"
#include "lab/record_file.h"
#include "lab/record_numbers.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t mostRows = 1000;      ///< of a forecast; also its reservations, its probes, and a layer's times
constexpr std::size_t mostTensors = 65'536; ///< of a model; also its layers and buckets
constexpr std::size_t longestForecastText = 64 << 10; ///< bytes; a sentence may name 64 nodes
constexpr char forecastIdKey[] = "forecast";

const Json &listIn(const Json &json, const char *key, std::size_t most) {
    const Json &list = json.at(key);
    require(list.size() <= most, std::string(key) + " may have " + std::to_string(most) + " entries and has",
            list.size());
    return list;
}

std::string boundedText(std::string text, const char *key) {
    require(text.size() <= longestForecastText,
            std::string(key) + " may have " + std::to_string(longestForecastText >> 10) + " KiB and has, in bytes,",
            text.size());
    return text;
}

std::vector<double> numbersIn(const Json &json, const char *key, std::size_t most) {
    return listIn(json, key, most).get<std::vector<double>>();
}

Json jsonOf(const Interval &interval) {
    return {{"value", interval.value}, {"low", interval.low}, {"high", interval.high}};
}

Interval intervalFrom(const Json &json, const char *key) {
    const Json &ends = json.at(key);
    const Interval out{ends.at("value").get<double>(), ends.at("low").get<double>(), ends.at("high").get<double>()};
    constexpr double rounded = 1 + 1e-9;
    require(isTimeOfWork(out.low) && out.low <= out.value * rounded && out.value <= out.high * rounded &&
                isDuration(out.high),
            key, ends);
    return out;
}

Json jsonOf(const ComputeProbe &probe) {
    Json buckets = Json::array();
    for (const ReadyBucket &bucket : probe.buckets)
        buckets.push_back({{"bytes", bucket.bytes}, {"ready_s", bucket.readyS}});
    return {{"copies", probe.copies},
            {"batch", probe.batch},
            {"step_s", probe.stepS},
            {"backward_s", probe.backwardS},
            {"slowest_s", probe.slowestS},
            {"stray_s", probe.strayS ? Json(*probe.strayS) : Json()},
            {"buckets", buckets},
            {"forward_s", probe.forwardS},
            {"optimizer_s", probe.optimizerS},
            {"copies_s", probe.copiesS},
            {"accumulate", probe.accumulate}};
}
/// Of an older version's probes, which don't say how a batch was cut, all are cut as the config says.
ComputeProbe probeFrom(const Json &json, const RunConfig &config) {
    ComputeProbe probe{json.at("copies").get<int>(),    json.at("batch").get<std::int64_t>(),
                       durationFrom(json, "step_s"),    durationFrom(json, "backward_s"),
                       durationFrom(json, "slowest_s"), {}};
    probe.strayS = documents::optionalIn<double>(json, "stray_s");
    if (json.contains("buckets"))
        for (const Json &bucket : listIn(json, "buckets", mostTensors))
            probe.buckets.push_back({bucket.at("bytes").get<double>(), bucket.at("ready_s").get<double>()});
    probe.forwardS = durationOr0(json, "forward_s");
    probe.optimizerS = durationOr0(json, "optimizer_s");
    if (json.contains("copies_s"))
        probe.copiesS = numbersIn(json, "copies_s", mostForecastDevices);
    probe.accumulate = json.value("accumulate", config.accumulate);
    return probe;
}

Json jsonOf(const LayerCost &layer) {
    Json times = Json::object();
    for (const auto &[samples, took] : layer.timesAt)
        times[std::to_string(samples)] = {{"forward_s", took.forwardS}, {"backward_s", took.backwardS}};
    return {{"times", times},
            {"output_bytes_per_sample", layer.outputBytesPerSample},
            {"parameter_bytes", layer.parameterBytes}};
}
LayerCost layerFrom(const Json &json) {
    LayerCost layer{.outputBytesPerSample = json.at("output_bytes_per_sample").get<double>(),
                    .parameterBytes = json.at("parameter_bytes").get<double>()};
    if (!json.contains("times")) { // a version that timed the layers' two passes together
        const Json &seconds = json.at("seconds");
        const auto add = [&layer](std::int64_t samples, double took) {
            layer.timesAt[samples] = {.forwardS = took / 3, .backwardS = took * 2 / 3};
        };
        if (seconds.is_number()) // an older one, with one batch
            add(1, seconds.get<double>());
        else
            for (const auto &[samples, took] : listIn(json, "seconds", mostRows).items())
                add(std::stoll(samples), took.get<double>());
        return layer;
    }
    for (const auto &[samples, times] : listIn(json, "times", mostRows).items())
        layer.timesAt[std::stoll(samples)] = {durationFrom(times, "forward_s"), durationFrom(times, "backward_s")};
    return layer;
}

Json jsonOf(const ForecastRow &row) {
    Json json = {{"method", std::string(toString(row.way.method))}, {"devices", row.devices}};
    if (!row.way.settings.empty())
        json["settings"] = row.way.settings;
    if (!row.whyUnknown.empty()) {
        json["cannot_tell"] = row.whyUnknown;
        return json;
    }
    json["step_s"] = jsonOf(row.stepS);
    json["epoch_s"] = jsonOf(row.epochS);
    json["speed_up"] = jsonOf(row.speedUp);
    json["compute_s"] = row.computeS;
    json["communication_s"] = row.communicationS;
    json["exposed_s"] = row.exposedS;
    json["wait_s"] = row.waitS;
    json["compute_measured"] = row.computeMeasured;
    json["ranks_measured"] = row.ranksMeasured;
    json["bytes_measured"] = row.bytesMeasured;
    return json;
}
/// Older records say "server".
Method forecastMethod(const std::string &name) {
    const MethodSpec *known = findMethod(name);
    return known ? known->id : Method::PsSync;
}

ForecastWay wayFrom(const Json &json) {
    ForecastWay way{forecastMethod(json.at("method").get<std::string>()),
                    json.value("settings", std::map<std::string, std::string>())};
    for (const auto &[key, value] : way.settings) {
        const FieldSpec *field = findField(key);
        RunConfig any;
        require(field && belongsToWay(*field, way.method) && field->set(any, value), "settings", json.at("settings"));
    }
    return way;
}

ForecastRow forecastRowFrom(const Json &json) {
    ForecastRow row;
    row.way = wayFrom(json);
    const auto devices = json.at("devices").get<std::int64_t>();
    require(devices >= 1 && devices <= mostForecastDevices, "devices", json.at("devices"));
    row.devices = int(devices);
    row.whyUnknown = boundedText(json.value("cannot_tell", ""), "cannot_tell");
    if (!row.whyUnknown.empty())
        return row;
    row.stepS = intervalFrom(json, "step_s");
    row.epochS = intervalFrom(json, "epoch_s");
    row.speedUp = intervalFrom(json, "speed_up");
    row.computeS = durationFrom(json, "compute_s");
    row.communicationS = durationFrom(json, "communication_s");
    row.exposedS = durationFrom(json, "exposed_s");
    row.waitS = durationFrom(json, "wait_s");
    row.computeMeasured = json.at("compute_measured").get<bool>();
    row.ranksMeasured = json.at("ranks_measured").get<bool>();
    row.bytesMeasured = json.value("bytes_measured", true); // an older version did not ask
    return row;
}

/// For an old record, which does not name its recipe: the built-in recipe of that title, else the title.
std::string recipeTitled(const std::string &title) {
    for (const std::string &name : builtInRecipes())
        if (const auto recipe = loadRecipe(name); recipe && recipe->title == title)
            return name;
    return title;
}

bool isForNodes(const ForecastRecord &record, const std::vector<NodePlace> &nodes) {
    return record.input.config.nodes.empty() == nodes.empty() &&
           placesOf(record.input.config.nodes) == placesOf(firstDevices(nodes, deviceCount(record.input.config)));
}

MachineName makerOf(const ForecastRecord &record) {
    return {record.host, record.cpuModel};
}

/// Sorts forecasts: made here before made elsewhere, then by the start, unless that lies in the future.
class ForecastOrder {
public:
    [[nodiscard]] bool isBefore(const ForecastRecord &one, const ForecastRecord &other) const {
        return keyOf(one) > keyOf(other);
    }

private:
    [[nodiscard]] std::tuple<bool, bool, std::int64_t, std::string> keyOf(const ForecastRecord &record) const {
        return {isSameMachine(makerOf(record), m_here), record.startWallUs <= m_nowUs, record.startWallUs, record.id};
    }

    MachineName m_here = thisMachine();
    std::int64_t m_nowUs = SystemClock().wallUs();
};

std::optional<ForecastRecord> newestForecastThat(const std::function<bool(const ForecastRecord &)> &wanted) {
    const ForecastOrder order;
    std::optional<ForecastRecord> newest;
    eachForecast([&](ForecastRecord &record) {
        if (wanted(record) && (!newest || order.isBefore(record, *newest)))
            newest = std::move(record);
        return false;
    });
    return newest;
}

} // namespace

ForecastPlace placeOf(const ForecastRecord &record) {
    return {record.input.config.nodes, makerOf(record)};
}

bool isFor(const ForecastRecord &record, const ForecastPlace &place) {
    return isForNodes(record, place.nodes) && (!place.nodes.empty() || isSameMachine(makerOf(record), place.machine));
}

std::string elsewhereSentence(const ForecastRecord &record, const MachineName &here) {
    if (isSameMachine(makerOf(record), here))
        return {};
    return "This forecast was made on " + (record.host.empty() ? "an unknown machine" : record.host) +
           (record.cpuModel.empty() ? "" : " (" + record.cpuModel + ")") + ", not on this machine.";
}

std::string forecastsFolder() {
    return dataHome() + "/forecasts";
}

std::string toJson(const ForecastRecord &record) {
    Json probes = Json::array(), layers = Json::array(), rows = Json::array(), best = Json::object();
    for (const ComputeProbe &probe : record.input.probes)
        probes.push_back(jsonOf(probe));
    for (const LayerCost &layer : record.input.layers)
        layers.push_back(jsonOf(layer));
    for (const ForecastRow &row : record.forecast.rows) {
        rows.push_back(jsonOf(row));
        if (const auto devices = bestDevices(record.forecast, row.way); devices && row.way.settings.empty())
            best[std::string(toString(row.way.method))] = *devices;
    }
    const Json json = {{forecastIdKey, record.id},
                       {"title", record.title},
                       {"recipe", record.recipe},
                       {"lab", record.lab},
                       {"host", record.host},
                       {"cpu_model", record.cpuModel},
                       {"start_wall_us", record.startWallUs},
                       {"other_cores", orNull(record.otherCores)},
                       {"config", Json::parse(toJson(record.input.config))},
                       {"probes", probes},
                       {"layers", layers},
                       {"samples", record.input.samples},
                       {"parameter_bytes", record.input.parameterBytes},
                       {"buffer_bytes", record.input.bufferBytes},
                       {"devices_here", record.input.devicesHere},
                       {"one_device_step_s", record.forecast.oneDeviceStepS},
                       {"one_device_epoch_s", record.forecast.oneDeviceEpochS},
                       {"gradient_bytes", record.forecast.gradientBytes},
                       {"buckets_bytes", record.forecast.bucketsBytes},
                       {"best_devices", best},
                       {"reservations", record.forecast.reservations},
                       {"interval_level", record.calibration.graded > 0 ? Json(forecastLevel) : Json()},
                       {"widened_by", record.calibration.factor},
                       {"widened_by_graded", record.calibration.graded},
                       {"rows", rows}};
    return json.dump(1) + "\n";
}

Result<ForecastRecord> forecastRecordFromJson(std::string_view text) {
    try {
        const Json json = documents::objectIn(text, mostRecordValues);
        ForecastRecord record;
        record.id = json.at(forecastIdKey).get<std::string>();
        record.title = boundedText(json.at("title").get<std::string>(), "title");
        record.recipe = boundedText(json.value("recipe", ""), "recipe");
        if (record.recipe.empty())
            record.recipe = recipeTitled(record.title);
        record.otherCores = documents::optionalIn<double>(json, "other_cores");
        record.lab = boundedText(json.value("lab", ""), "lab");
        record.host = boundedText(json.value("host", ""), "host");
        record.cpuModel = boundedText(json.value("cpu_model", ""), "cpu_model");
        record.startWallUs = json.at("start_wall_us").get<std::int64_t>();
        auto config = runConfigFromJson(json.at("config").dump());
        if (!config)
            return fail(config.error().front());
        record.input.config = std::move(*config);
        if (!json.contains(
                "layers")) { // a version that forecast even shards and servers that train, whatever was asked
            record.input.config.shards = RunConfig().shards;
            record.input.config.serverDevices = RunConfig().serverDevices;
        }
        for (const Json &probe : listIn(json, "probes", mostRows))
            record.input.probes.push_back(probeFrom(probe, record.input.config));
        if (json.contains("layers"))
            for (const Json &layer : listIn(json, "layers", mostTensors))
                record.input.layers.push_back(layerFrom(layer));
        record.input.samples = json.at("samples").get<std::int64_t>();
        record.input.parameterBytes = numbersIn(json, "parameter_bytes", mostTensors);
        if (json.contains("buffer_bytes"))
            record.input.bufferBytes = numbersIn(json, "buffer_bytes", mostTensors);
        record.input.devicesHere = json.at("devices_here").get<int>();
        record.forecast.oneDeviceStepS = durationFrom(json, "one_device_step_s");
        record.forecast.oneDeviceEpochS = durationFrom(json, "one_device_epoch_s");
        record.forecast.gradientBytes = json.at("gradient_bytes").get<double>();
        record.forecast.bucketsBytes = numbersIn(json, "buckets_bytes", mostTensors);
        for (auto &sentence : listIn(json, "reservations", mostRows).get<std::vector<std::string>>())
            record.forecast.reservations.push_back(boundedText(std::move(sentence), "a reservation"));
        record.calibration.factor = json.value("widened_by", 1.0);
        record.calibration.graded = json.value("widened_by_graded", 0);
        for (const Json &row : listIn(json, "rows", mostRows))
            record.forecast.rows.push_back(forecastRowFrom(row));
        for (const ForecastRow &row : record.forecast.rows)
            record.input.runs.insert({row.way, row.devices});
        return record;
    } catch (const std::exception &exception) {
        return fail(Error::failed(std::string("a forecast's record is not understood: ") + exception.what(),
                                  "make it again: lockstepctl forecast"));
    }
}

Result<void> writeForecast(const ForecastRecord &record) {
    if (auto made = realFileSystem().makeFolders(forecastsFolder()); !made)
        return made;
    return realFileSystem().writeAtomically(forecastsFolder() + "/" + record.id + ".json", toJson(record));
}

std::vector<std::string> listForecasts() {
    std::vector<std::string> ids;
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator(forecastsFolder(), error))
        if (const std::string id = entry.path().stem().string(); entry.path().extension() == ".json" && isRunId(id))
            ids.push_back(id);
    std::sort(ids.rbegin(), ids.rend());
    return ids;
}

void eachForecast(const std::function<bool(ForecastRecord &)> &take, const std::stop_token &stop) {
    std::vector<std::string> ids = listForecasts();
    ids.resize(std::min(ids.size(), mostForecastsRead));
    for (const std::string &id : ids) {
        if (stop.stop_requested())
            return;
        if (const auto text = readRecordFile(forecastsFolder(), forecastIdKey, id))
            if (auto record = forecastRecordFromJson(*text); record && take(*record))
                return;
    }
}

std::optional<ForecastRecord> newestForecast() {
    return newestForecastThat([](const ForecastRecord &) { return true; });
}

std::optional<ForecastRecord> newestForecastOf(std::string_view recipe) {
    return newestForecastThat([&](const ForecastRecord &record) { return record.recipe == recipe; });
}

std::vector<ForecastRecord> newestForecastsFor(const std::vector<NodePlace> &nodes, const std::stop_token &stop) {
    const ForecastOrder order;
    std::vector<ForecastRecord> out;
    eachForecast(
        [&](ForecastRecord &record) {
            if (!isForNodes(record, nodes))
                return false;
            const auto known = std::ranges::find(out, record.recipe, &ForecastRecord::recipe);
            if (known == out.end())
                out.push_back(std::move(record));
            else if (order.isBefore(record, *known))
                *known = std::move(record);
            return false;
        },
        stop);
    std::ranges::sort(
        out, [&](const ForecastRecord &one, const ForecastRecord &other) { return order.isBefore(one, other); });
    return out;
}

} // namespace lockstep::core
