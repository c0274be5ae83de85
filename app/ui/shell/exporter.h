// SPDX-License-Identifier: MIT
#pragma once
#include <QSize>
#include <QStringList>

#include <vector>

#include "ipc/error.h"

namespace lockstep::ui {
class ChartSource;
class Workspace;

/// What can be written: core::resultFormats(), pdf (a page with charts), png and svg (charts).
[[nodiscard]] QStringList exportFormats();

/// Writes the results alone, by the file's suffix: .csv, .json, .md, .tex, .html, .pdf.
[[nodiscard]] Result<void> saveResults(Workspace &workspace, const std::vector<ChartSource *> &charts,
                                       const QString &path);

/// Writes results, curves and charts of what is open into `folder` (made when missing). Empty `formats`: all of them; no `chartSize`: each
/// chart's own.
/// Returns the files written; an error names the file and the way out.
[[nodiscard]] Result<QStringList> exportAll(Workspace &workspace, const std::vector<ChartSource *> &charts,
                                            const QString &folder, const QStringList &formats = {},
                                            const QSize &chartSize = {});

} // namespace lockstep::ui
