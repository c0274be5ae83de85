// SPDX-License-Identifier: MIT
#pragma once
#include <QSize>

#include "ipc/error.h"

class QByteArray;
class QImage;
class QString;

namespace lockstep::ui {
class ChartSource;

/// For people: "duration-per-epoch" is "Duration per epoch".
[[nodiscard]] QString chartTitle(const ChartSource &chart);
/// The picture at twice the size's pixels.
[[nodiscard]] QImage chartImage(ChartSource &chart, const QSize &size);
/// The drawing as a whole SVG document.
[[nodiscard]] QByteArray chartSvg(ChartSource &chart, const QSize &size);
/// Format by the file's suffix: .png, .svg, .tsv (the data), .csv (the data).
[[nodiscard]] Result<void> saveChart(ChartSource &chart, const QSize &size, const QString &path);

} // namespace lockstep::ui
