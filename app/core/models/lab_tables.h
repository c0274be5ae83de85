// SPDX-License-Identifier: MIT
#pragma once
// The Lab page's tables, out of core's analysis: the same figures as `lockstepctl lab` and `forecast` print.
#include "lab/forecast_grades.h"
#include "lab/lab_record.h"
#include "lab/lab_report.h"
#include "models/cell_table_model.h"

namespace lockstep::core {

/// A row an operation and number of ranks: start-up time, bus bandwidth, pieces, and how well sizes were met that the fit
/// never saw.
[[nodiscard]] CellTable fitTable(const LabRecord &record, const CommunicationModel &model);
/// A row a size: ring and server, by formula and measured.
[[nodiscard]] CellTable ringTable(const LabRecord &record, const CommunicationModel &model, int ranks);
/// A row a method and number of devices: forecast, interval, what came out, grade.
[[nodiscard]] CellTable forecastTable(const ForecastRecord &record, const std::vector<ForecastOutcome> &outcomes);

} // namespace lockstep::core
