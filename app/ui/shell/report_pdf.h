// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "export/export.h"
#include "ipc/error.h"

class QString;

namespace lockstep::ui {
class ChartSource;

/// The report, its sections and the charts as a PDF by Qt's own printing: A4 across, text and charts as vectors. An error names the file and the way out.
[[nodiscard]] Result<void> writePdf(const QString &path, const core::Report &report,
                                    const std::vector<ChartSource *> &charts);

} // namespace lockstep::ui
