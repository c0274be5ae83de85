// SPDX-License-Identifier: MIT
#pragma once
// A forecast on disk, made before its runs: dataHome()/forecasts/ID.json. ID as a run's. Afterwards it is graded by the runs
// of the same work on the same machine (lab/forecast_grades.h). None is removed.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "ipc/run_config.h"
#include "lab/forecast.h"
#include "store/run_index.h"

namespace lockstep::core {

/// The share of forecasts whose interval is to hold the measured step.
inline constexpr double forecastLevel = 0.9;

/// How intervals were widened to hold that share, from the grades of earlier forecasts (lab/forecast_grades.h).
struct Calibration {
    double factor = 1; ///< of the logarithmic distance from the forecast to either bound of the model
    int graded = 0;    ///< forecasts that it rests on; 0: too few were graded, the model's own bounds stand
    bool operator==(const Calibration &) const = default;
};

struct ForecastRecord {
    std::string id, title, lab, host,
        cpuModel;       ///< title: the recipe's or the run's name; lab: the one whose fit was used
    std::string recipe; ///< its name, or the id of the run that was forecast; guessed from the title in an old record
    std::int64_t startWallUs = 0;
    std::optional<double> otherCores; ///< cores' worth that other programs took while probes ran; absent: unknown
    ForecastInput input;
    Forecast forecast; ///< its intervals widened
    Calibration calibration = {};
};

/// Where runs are forecast for: nodes, or without any, a machine.
struct ForecastPlace {
    std::vector<NodePlace> nodes;
    MachineName machine; ///< what counts without nodes
};
/// That of the record. Without nodes, the machine that made it.
[[nodiscard]] ForecastPlace placeOf(const ForecastRecord &record);
/// Whether the record is for these nodes (placesOf()) or for the first devices of them; without nodes, for that machine.
[[nodiscard]] bool isFor(const ForecastRecord &record, const ForecastPlace &place);
/// "This forecast was made on hostX (Xeon 8592+), not on this machine."; empty: it was made on `here`.
[[nodiscard]] std::string elsewhereSentence(const ForecastRecord &record, const MachineName &here);

[[nodiscard]] std::string forecastsFolder(); ///< dataHome()/forecasts
[[nodiscard]] std::string toJson(const ForecastRecord &record);
/// Refuses one with many times the entries of a list, or a much longer text, than a forecast of ours has.
[[nodiscard]] Result<ForecastRecord> forecastRecordFromJson(std::string_view text);
[[nodiscard]] Result<void> writeForecast(const ForecastRecord &record);
/// Newest first.
[[nodiscard]] std::vector<std::string> listForecasts();
/// The functions below look at so many of the newest, and pass over a file that doesn't begin with the id in its name.
inline constexpr std::size_t mostForecastsRead = 500;
/// Newest first, until `take` says that it has enough or a stop is requested. One is held at a time, unless `take` keeps it.
void eachForecast(const std::function<bool(ForecastRecord &)> &take, const std::stop_token &stop = {});
/// The newest by its start; one that was made elsewhere, or that claims to start in the future, only where there is no other.
[[nodiscard]] std::optional<ForecastRecord> newestForecast();
/// The newest in that order of that recipe or run, on any devices.
[[nodiscard]] std::optional<ForecastRecord> newestForecastOf(std::string_view recipe);
/// The newest in that order of each recipe or run for these places (placesOf()) or for the first devices of them, empty: for a single
/// machine; sorted by it. After a requested stop: of those read so far.
[[nodiscard]] std::vector<ForecastRecord> newestForecastsFor(const std::vector<NodePlace> &nodes,
                                                             const std::stop_token &stop = {});

} // namespace lockstep::core
