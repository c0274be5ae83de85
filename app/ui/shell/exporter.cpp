#include "app/ui/shell/exporter.h"

#include "app/ui/charts/chart_export.h"
#include "app/ui/charts/chart_source.h"
#include "app/ui/shell/workspace.h"
#include "export/export.h"

namespace lockstep::ui {
namespace {

std::vector<core::ExportedCurve> curvesOf(Workspace &workspace) {
    std::vector<core::ExportedCurve> out;
    for (int i = 0; i < workspace.runs().count(); ++i) {
        const core::RunStore *store = workspace.runs().at(i);
        core::ExportedCurve curve;
        curve.run = store->runId().toStdString();
        curve.name = workspace.runs().label(i).toStdString();
        curve.method = store->method().toStdString();
        curve.points = store->loss().points();
        out.push_back(std::move(curve));
    }
    return out;
}

Result<void> write(const QString &path, const Result<std::string> &text, QStringList &written) {
    if (!text)
        return fail(text.error());
    const Result<void> done = core::writeExport(path.toStdString(), *text);
    if (done)
        written.append(path);
    return done;
}

} // namespace

QStringList exportFormats() {
    return {"csv", "json", "md", "png", "svg"};
}

Result<QStringList> exportAll(Workspace &workspace, const std::vector<ChartSource *> &charts, const QString &folder,
                              const QStringList &formats, const QSize &chartSize) {
    const QStringList wanted = formats.isEmpty() ? exportFormats() : formats;
    if (const auto writable = core::checkWritableFolder(folder.toStdString()); !writable)
        return fail(writable.error());
    const core::ResultTable &table = workspace.results().table();
    const auto curves = curvesOf(workspace);
    QStringList written;
    for (const QString &format : wanted) {
        Result<void> done;
        if (format == QLatin1String("png") || format == QLatin1String("svg")) {
            for (ChartSource *chart : charts) {
                const QString path = QStringLiteral("%1/%2.%3").arg(folder, chart->chartName(), format);
                if (done = saveChart(*chart, chartSize.isEmpty() ? chart->exportSize() : chartSize, path); !done)
                    return fail(done.error());
                written.append(path);
            }
            continue;
        }
        const auto kind = core::exportFormatFrom(format.toStdString());
        if (!kind)
            return fail(Error::badArgument("\"" + format.toStdString() + "\" is no export format",
                                           "use " + exportFormats().join(QStringLiteral(", ")).toStdString(),
                                           "--format"));
        if (done =
                write(QStringLiteral("%1/results.%2").arg(folder, format), core::exportResults(table, *kind), written);
            !done)
            return fail(done.error());
        if (*kind == core::ExportFormat::Markdown)
            continue;
        if (done =
                write(QStringLiteral("%1/curves.%2").arg(folder, format), core::exportCurves(curves, *kind), written);
            !done)
            return fail(done.error());
    }
    return written;
}

} // namespace lockstep::ui
