// SPDX-License-Identifier: MIT
#pragma once
#include <QByteArray>
#include <QSize>

#include <functional>

#include "ipc/error.h"

class QImage;
class QPicture;
class QString;

namespace lockstep::ui {
class ChartSource;

/// "Duration per epoch" for "duration-per-epoch".
[[nodiscard]] QString chartTitle(const ChartSource &chart);
/// The chart as pixels, at twice the size.
[[nodiscard]] QImage chartImage(ChartSource &chart, const QSize &size);
/// A recording of what the chart paints; any thread may play it.
[[nodiscard]] QPicture chartPicture(ChartSource &chart, const QSize &size);
/// The drawing as a whole SVG document.
[[nodiscard]] QByteArray chartSvg(ChartSource &chart, const QSize &size);
/// Draws the chart now; the returned function makes the file's bytes, on any thread. Format: png, svg, tsv (the data), csv (the data).
[[nodiscard]] Result<std::function<QByteArray()>> chartBytes(ChartSource &chart, const QSize &size,
                                                             const QString &format);
/// Format by the file's suffix.
[[nodiscard]] Result<void> saveChart(ChartSource &chart, const QSize &size, const QString &path);

} // namespace lockstep::ui
