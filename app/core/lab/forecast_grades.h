// SPDX-License-Identifier: MIT
#pragma once
// Forecasts against what was measured later, one by one and all together.
//
// An interval is to hold the measured step in 90 % of the forecasts. The model's own bounds (lab/forecast.h) say what probes,
// fit and overlap leave open, which is no level. So they are widened by what earlier forecasts missed (split conformal
// prediction): a graded forecast's score is |log(measured ÷ forecast)| ÷ the logarithmic distance to the model's bound on that
// side, and the bounds of the next forecast are moved out (or in) by the k-th smallest score of n, k = ceil(0.9 (n + 1)). If the
// next forecast misses as earlier ones did, its interval holds with at least 90 %. With fewer than nine grades there is no such
// k, and the model's bounds stand and say so.
// Sources: V. Vovk, A. Gammerman, G. Shafer, Algorithmic Learning in a Random World (2005); J. Lei et al., JASA 113 (2018) 1094.
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "experiment/plan.h"
#include "lab/forecast_record.h"

namespace lockstep::core {

/// Of the newest runs, that many are read.
inline constexpr int gradingRuns = 500;

/// The measured result for one row.
struct ForecastOutcome {
    std::optional<double> measuredStepS; ///< median over the runs
    int runs = 0;                        ///< begun after the forecast, and not disturbed
    int runsBefore = 0;                  ///< of the same work, but older: not used for grading
    int disturbed = 0; ///< begun after it, but others took a tenth of a core and more of theirs: not used
    std::optional<ForecastGrade> grade;
};

/// A done run as grading sees it.
struct GradingRun {
    RunConfig config;
    std::string host, cpuModel; ///< of a single machine; the model may be unknown
    std::int64_t startWallUs = 0;
    double stepS = 0; ///< the median epoch after the first (or the only epoch) ÷ its steps
    bool disturbed = false;
};
/// The newest runs of lockstep-trainer in the folder that are done, newest first; after a requested stop, of those read so far. With
/// many, not for the GUI thread.
[[nodiscard]] std::vector<GradingRun> readGradingRuns(int most = gradingRuns, const std::stop_token &stop = {});

/// Of a plan whose forecast has the config of `like`, the runs that it says nothing about, since their steps are others: "The forecast is of
/// steps as in "DDP on 2 devices, batch 64". …". Empty: there are none.
[[nodiscard]] std::string leftOutSentence(const PlannedRun &like, const std::vector<PlannedRun> &plan);

/// For each row of the forecast, the time of a step in done runs of the same work that began after the forecast. Same work: every
/// field but method, devices, epochs, training samples, backend, seed and files.
[[nodiscard]] std::vector<ForecastOutcome> outcomesOf(const ForecastRecord &record,
                                                      const std::vector<GradingRun> &runs);
[[nodiscard]] std::vector<ForecastOutcome> outcomesOf(const ForecastRecord &record);

/// All forecasts for a place together; a row of a forecast is one.
struct ForecastTally {
    int graded = 0, held = 0;   ///< with a measured step; of these, within the interval
    std::vector<double> scores; ///< of the graded ones, against the model's own bounds
};
/// Of rows with the same way and devices, the first that is graded.
void addTo(ForecastTally &tally, const ForecastRecord &record, const std::vector<GradingRun> &runs);
/// Of those for this place among the newest mostForecastsRead: what another machine's missed says nothing about this one's. After a
/// requested stop, of those read so far.
[[nodiscard]] ForecastTally tallyOfForecasts(const ForecastPlace &place, const std::vector<GradingRun> &runs,
                                             const std::stop_token &stop = {});
/// "27 of 31 forecasts held (87 %; 90 % are meant to).", "No forecast is graded yet …".
[[nodiscard]] std::string sentenceOf(const ForecastTally &tally);

[[nodiscard]] Calibration calibrationOf(const ForecastTally &tally);
/// What the intervals of a forecast are.
[[nodiscard]] std::string sentenceOf(const Calibration &calibration);
/// Moves the bounds of all rows.
void widen(Forecast &forecast, const Calibration &calibration);

} // namespace lockstep::core
