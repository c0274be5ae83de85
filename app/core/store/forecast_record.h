#pragma once
// A forecast on disk, made before its runs: dataHome()/forecasts/ID.json. ID as a run's. Afterwards it is graded by the runs
// of the same work on the same machine.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/forecast.h"
#include "ipc/error.h"
#include "ipc/run_config.h"

namespace lockstep::core {

struct ForecastRecord {
    std::string id, title, lab, host, cpuModel; ///< title: the recipe's or the run's name; lab: whose fit it rests on
    std::string
        recipe; ///< its name, or the id of the run that was forecast; of an old record as far as its title tells
    std::int64_t startWallUs = 0;
    std::optional<double> otherCores; ///< cores' worth that other programs took while probes ran; absent: unknown
    RunConfig config;                 ///< what is forecast; its method and devices are the rows'
    ForecastInput input;
    Forecast forecast;
};

/// How one row came out.
struct ForecastOutcome {
    std::optional<double> measuredStepS; ///< median over the runs
    int runs = 0;                        ///< begun after the forecast
    int runsBefore = 0;                  ///< of the same work, but older: they grade nothing
    std::optional<ForecastGrade> grade;
};

[[nodiscard]] std::string forecastsFolder(); ///< dataHome()/forecasts
[[nodiscard]] std::string toJson(const ForecastRecord &record);
[[nodiscard]] Result<ForecastRecord> forecastRecordFromJson(std::string_view text);
[[nodiscard]] Result<void> writeForecast(const ForecastRecord &record);
/// Newest first.
[[nodiscard]] std::vector<std::string> listForecasts();
[[nodiscard]] std::optional<ForecastRecord> newestForecast();
/// The newest of that recipe or run, wherever.
[[nodiscard]] std::optional<ForecastRecord> newestForecastOf(std::string_view recipe);
/// The newest of each recipe or run for these places (placesOf()) or for the first devices of them, empty: for this machine;
/// newest first.
[[nodiscard]] std::vector<ForecastRecord> newestForecastsFor(const std::vector<NodePlace> &nodes);

/// For each row of the forecast what done runs of the same work, begun since it was made, took a step: the median epoch after the first (the only one,
/// where there is one) ÷ its steps, then the median over runs. Same work: every field but method, devices, epochs, training
/// samples, backend, seed and files. Reads at most the newest `most` runs of the folder. Not for the GUI thread when many.
[[nodiscard]] std::vector<ForecastOutcome> outcomesOf(const ForecastRecord &record, int most = 200);

} // namespace lockstep::core
