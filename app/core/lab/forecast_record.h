// SPDX-License-Identifier: MIT
#pragma once
// A forecast on disk, made before its runs: dataHome()/forecasts/ID.json. ID as a run's. Afterwards it is graded by the runs
// of the same work on the same machine.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "ipc/run_config.h"
#include "lab/forecast.h"

namespace lockstep::core {

struct ForecastRecord {
    std::string id, title, lab, host,
        cpuModel;       ///< title: the recipe's or the run's name; lab: the one whose fit was used
    std::string recipe; ///< its name, or the id of the run that was forecast; guessed from the title in an old record
    std::int64_t startWallUs = 0;
    std::optional<double> otherCores; ///< cores' worth that other programs took while probes ran; absent: unknown
    RunConfig config;                 ///< what is forecast; method and devices vary by row
    ForecastInput input;
    Forecast forecast;
};

/// The measured result for one row.
struct ForecastOutcome {
    std::optional<double> measuredStepS; ///< median over the runs
    int runs = 0;                        ///< begun after the forecast
    int runsBefore = 0;                  ///< of the same work, but older: not used for grading
    std::optional<ForecastGrade> grade;
};

[[nodiscard]] std::string forecastsFolder(); ///< dataHome()/forecasts
[[nodiscard]] std::string toJson(const ForecastRecord &record);
[[nodiscard]] Result<ForecastRecord> forecastRecordFromJson(std::string_view text);
[[nodiscard]] Result<void> writeForecast(const ForecastRecord &record);
/// Newest first.
[[nodiscard]] std::vector<std::string> listForecasts();
[[nodiscard]] std::optional<ForecastRecord> newestForecast();
/// The newest of that recipe or run, on any devices.
[[nodiscard]] std::optional<ForecastRecord> newestForecastOf(std::string_view recipe);
/// The newest of each recipe or run for these places (placesOf()) or for the first devices of them, empty: for this machine;
/// newest first.
[[nodiscard]] std::vector<ForecastRecord> newestForecastsFor(const std::vector<NodePlace> &nodes);

/// For each row of the forecast, the time of a step in done runs of the same work that began after the forecast: the median epoch
/// after the first (or the only epoch) ÷ its steps, then the median over runs. Same work: every field but method, devices, epochs, training
/// samples, backend, seed and files. Reads at most the newest `most` runs of the folder. With many runs, not for the GUI thread.
[[nodiscard]] std::vector<ForecastOutcome> outcomesOf(const ForecastRecord &record, int most = 200);

} // namespace lockstep::core
