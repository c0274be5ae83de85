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

/// For people: "duration-per-epoch" is "Duration per epoch".
[[nodiscard]] QString chartTitle(const ChartSource &chart);
/// The picture at twice the size's pixels.
[[nodiscard]] QImage chartImage(ChartSource &chart, const QSize &size);
/// What is painted, to be played on any thread.
[[nodiscard]] QPicture chartPicture(ChartSource &chart, const QSize &size);
/// The drawing as a whole SVG document.
[[nodiscard]] QByteArray chartSvg(ChartSource &chart, const QSize &size);
/// Draws it now; what is returned makes the file's bytes, on any thread. Format: png, svg, tsv (the data), csv (the data).
[[nodiscard]] Result<std::function<QByteArray()>> chartBytes(ChartSource &chart, const QSize &size,
                                                             const QString &format);
/// Format by the file's suffix.
[[nodiscard]] Result<void> saveChart(ChartSource &chart, const QSize &size, const QString &path);

} // namespace lockstep::ui
