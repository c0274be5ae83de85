// SPDX-License-Identifier: MIT
#pragma once
#include <QSize>
#include <QStringList>

#include <functional>
#include <memory>
#include <vector>

#include "ipc/error.h"

namespace lockstep::ui {
class ChartSource;
class ExportJob;
class Theme;
class Workspace;

/// The formats: core::resultFormats(), pdf (a page with charts), png and svg (charts).
[[nodiscard]] QStringList exportFormats();

using ChartList = std::function<std::vector<ChartSource *>()>;

/// The input of an export. All of it outlives the export.
struct ExportSource {
    Workspace &workspace;
    ChartList charts;       ///< asked when all is drawn
    Theme *paper = nullptr; ///< charts are drawn in light colours, whatever the window's are; nothing: as they are
    std::vector<std::function<void()>> draw = {}; ///< each brings a picture up to date, one a turn of the event loop
};

/// Only the results, by the file's suffix: .csv, .json, .md, .tex, .html, .pdf. An error names an unknown suffix.
[[nodiscard]] Result<std::unique_ptr<ExportJob>> resultsJob(const ExportSource &source, const QString &path);
/// Results, curves and charts of what is open into `folder`. Empty `formats`: all of them; no `chartSize`: each chart's own.
[[nodiscard]] Result<std::unique_ptr<ExportJob>> folderJob(const ExportSource &source, const QString &folder,
                                                           const QStringList &formats = {},
                                                           const QSize &chartSize = {});
/// One chart, by the file's suffix: .png, .svg, .csv, .tsv.
[[nodiscard]] Result<std::unique_ptr<ExportJob>> chartJob(ChartSource &chart, const QSize &size, const QString &path);

/// The same for a caller without a window: blocks. An error names the file and what to do.
[[nodiscard]] Result<void> saveResults(Workspace &workspace, const std::vector<ChartSource *> &charts,
                                       const QString &path);
[[nodiscard]] Result<QStringList> exportAll(Workspace &workspace, const std::vector<ChartSource *> &charts,
                                            const QString &folder, const QStringList &formats = {},
                                            const QSize &chartSize = {});

} // namespace lockstep::ui
