// SPDX-License-Identifier: MIT
#pragma once
#include <QByteArray>
#include <QPicture>
#include <QSize>
#include <QString>

#include <vector>

#include "export/export.h"

namespace lockstep::ui {
class ChartSource;

/// A chart as it stands in the report.
struct PdfChart {
    QString title;
    QSize size;
    QPicture picture;
};
/// Draws it now, in the report's size.
[[nodiscard]] PdfChart pdfChart(ChartSource &chart);

/// The report, its sections and the charts as a PDF by Qt's own printing: A4 across, text and charts as vectors. Any thread.
[[nodiscard]] QByteArray pdfReport(const core::Report &report, const std::vector<PdfChart> &charts);

} // namespace lockstep::ui
