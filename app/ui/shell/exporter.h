// SPDX-License-Identifier: MIT
#pragma once
#include <QSize>
#include <QStringList>

#include <memory>
#include <vector>

#include "ipc/error.h"

namespace lockstep::ui {
class ChartSource;
class ExportJob;
class Theme;
class Workspace;

/// What can be written: core::resultFormats(), pdf (a page with charts), png and svg (charts).
[[nodiscard]] QStringList exportFormats();

/// What an export is made of, drawn up to date; it lives until the first step.
struct ExportSource {
    Workspace &workspace;
    std::vector<ChartSource *> charts;
    Theme *paper = nullptr; ///< charts are drawn in light colours, whatever the window's are; nothing: as they are
};

/// The results alone, by the file's suffix: .csv, .json, .md, .tex, .html, .pdf. An error names what can't be.
[[nodiscard]] Result<std::unique_ptr<ExportJob>> resultsJob(const ExportSource &source, const QString &path);
/// Results, curves and charts of what is open into `folder`. Empty `formats`: all of them; no `chartSize`: each chart's own.
[[nodiscard]] Result<std::unique_ptr<ExportJob>> folderJob(const ExportSource &source, const QString &folder,
                                                           const QStringList &formats = {},
                                                           const QSize &chartSize = {});
/// One chart, by the file's suffix: .png, .svg, .csv, .tsv.
[[nodiscard]] Result<std::unique_ptr<ExportJob>> chartJob(ChartSource &chart, const QSize &size, const QString &path);

/// The same for a caller without a window: they wait. An error names the file and the way out.
[[nodiscard]] Result<void> saveResults(Workspace &workspace, const std::vector<ChartSource *> &charts,
                                       const QString &path);
[[nodiscard]] Result<QStringList> exportAll(Workspace &workspace, const std::vector<ChartSource *> &charts,
                                            const QString &folder, const QStringList &formats = {},
                                            const QSize &chartSize = {});

} // namespace lockstep::ui
