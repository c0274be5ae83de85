// SPDX-License-Identifier: MIT
#pragma once
// The Lab page's tables, from core's analysis: the same figures as `lockstepctl lab` and `forecast` print.
#include "lab/forecast_grades.h"
#include "lab/lab_record.h"
#include "lab/lab_report.h"
#include "models/cell_table_model.h"

namespace lockstep::core {

/// One row per operation and number of ranks: start-up time, bus bandwidth, pieces of the fit, and its error at sizes that
/// were kept out of it.
[[nodiscard]] CellTable fitTable(const LabRecord &record, const CommunicationModel &model);
/// One row per size: ring and server, by formula and measured.
[[nodiscard]] CellTable ringTable(const LabRecord &record, const CommunicationModel &model, int ranks);
/// One row per method and number of devices: forecast, interval, the measured time, grade.
[[nodiscard]] CellTable forecastTable(const ForecastRecord &record, const std::vector<ForecastOutcome> &outcomes);

} // namespace lockstep::core
