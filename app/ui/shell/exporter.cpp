// SPDX-License-Identifier: MIT
#include "app/ui/shell/exporter.h"

#include <QFileInfo>

#include "app/ui/charts/chart_export.h"
#include "app/ui/charts/chart_source.h"
#include "app/ui/shell/report_pdf.h"
#include "app/ui/shell/workspace.h"
#include "export/export.h"
#include "export/report.h"
#include "models/cells.h"

namespace lockstep::ui {
namespace {

std::vector<core::ExportedCurve> curvesOf(Workspace &workspace) {
    std::vector<core::ExportedCurve> out;
    for (int i = 0; i < workspace.runs().count(); ++i) {
        core::ExportedCurve curve = core::exportedCurve(*workspace.runs().at(i));
        curve.name = workspace.runs().label(i).toStdString();
        out.push_back(std::move(curve));
    }
    return out;
}

core::Report reportOf(Workspace &workspace) {
    return {workspace.results().table(),
            workspace.results().judgement().judgement(),
            curvesOf(workspace),
            core::stepAnatomies({workspace.runs().stores().begin(), workspace.runs().stores().end()}),
            workspace.results().targets().target().value > 0 ? std::optional(workspace.results().targets().target())
                                                             : std::nullopt,
            workspace.results().targets().times()};
}

std::vector<core::ReportPicture> picturesOf(const std::vector<ChartSource *> &charts) {
    static const QStringList drawnByTheReport = {"speed-up",           "waterfall",    "loss",
                                                 "duration-per-epoch", "step-anatomy", "dp-anatomy"};
    std::vector<core::ReportPicture> out;
    for (ChartSource *chart : charts) { // two stand beside each other on a page
        if (drawnByTheReport.contains(chart->chartName()))
            continue;
        const QSize size(640, chart->exportSize() == QSize(960, 540) ? 360 : chart->exportSize().height());
        out.push_back({chartTitle(*chart).toStdString(), chartSvg(*chart, size).toStdString()});
    }
    return out;
}

} // namespace

QStringList exportFormats() {
    QStringList out;
    for (const core::ExportFormatSpec &spec : core::resultFormats())
        out.append(core::qs(spec.suffix));
    return out + QStringList{"pdf", "png", "svg"};
}

Result<void> saveResults(Workspace &workspace, const std::vector<ChartSource *> &charts, const QString &path) {
    const QString suffix = QFileInfo(path).suffix().toLower();
    if (suffix == QLatin1String("pdf"))
        return writePdf(path, reportOf(workspace), charts);
    if (suffix == QLatin1String("html"))
        return core::writeExport(path.toStdString(), core::htmlReport(reportOf(workspace), picturesOf(charts)));
    const auto format = core::exportFormatFrom(suffix.toStdString());
    if (!format)
        return fail(Error::badArgument("results can't be written as ." + suffix.toStdString(),
                                       "use the suffix " + core::resultFormatNames({"pdf"})));
    return core::writeExport(path.toStdString(), core::exportResults(reportOf(workspace), *format));
}

Result<QStringList> exportAll(Workspace &workspace, const std::vector<ChartSource *> &charts, const QString &folder,
                              const QStringList &formats, const QSize &chartSize) {
    const QStringList wanted = formats.isEmpty() ? exportFormats() : formats;
    if (const auto writable = core::checkWritableFolder(folder.toStdString()); !writable)
        return fail(writable.error());
    QStringList written;
    const auto keep = [&](const QString &path, const Result<void> &done) {
        if (done)
            written.append(path);
        return done;
    };
    for (const QString &format : wanted) {
        if (!exportFormats().contains(format))
            return fail(Error::badArgument("\"" + format.toStdString() + "\" is not an export format",
                                           "use " + exportFormats().join(QStringLiteral(", ")).toStdString(),
                                           "--format"));
        const auto name = [&](const QString &what) { return QStringLiteral("%1/%2.%3").arg(folder, what, format); };
        if (format == QLatin1String("png") || format == QLatin1String("svg")) {
            for (ChartSource *chart : charts) {
                const QString path = name(chart->chartName());
                const QSize size = chartSize.isEmpty() ? chart->exportSize() : chartSize;
                if (const auto done = keep(path, saveChart(*chart, size, path)); !done)
                    return fail(done.error());
            }
            continue;
        }
        const QString results = name(QStringLiteral("results"));
        if (const auto done = keep(results, saveResults(workspace, charts, results)); !done)
            return fail(done.error());
        const auto inCore = core::exportFormatFrom(format.toStdString());
        if (!inCore || !core::carriesCurves(*inCore))
            continue;
        const auto text = core::exportCurves(curvesOf(workspace), *inCore);
        if (!text)
            return fail(text.error());
        const QString curves = name(QStringLiteral("curves"));
        if (const auto done = keep(curves, core::writeExport(curves.toStdString(), *text)); !done)
            return fail(done.error());
    }
    return written;
}

} // namespace lockstep::ui
