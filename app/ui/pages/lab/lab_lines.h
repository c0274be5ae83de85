// SPDX-License-Identifier: MIT
#pragma once
#include <QList>

#include "app/ui/charts/line_chart.h"
#include "app/ui/theme/palette.h"
#include "lab/cost_model.h"
#include "lab/lab_record.h"

namespace lockstep::ui {

/// Three kinds of all-reduce on so many ranks: dots are medians, lines the fit, dotted lines the formulas. Named at their ends are
/// medians and formulas. x is log2 of bytes, y milliseconds.
[[nodiscard]] QList<LineData> sumLines(const core::LabRecord &lab, const core::CommunicationModel &model, int ranks,
                                       const Palette &palette);
/// Bus bandwidth of every operation, GB/s.
[[nodiscard]] QList<LineData> bandwidthLines(const core::LabRecord &lab, int ranks);

} // namespace lockstep::ui
