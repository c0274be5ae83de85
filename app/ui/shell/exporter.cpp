// SPDX-License-Identifier: MIT
#include "app/ui/shell/exporter.h"

#include <QFileInfo>
#include <QPointer>
#include <QWidget>

#include <algorithm>
#include <optional>

#include "app/ui/charts/chart_export.h"
#include "app/ui/charts/chart_source.h"
#include "app/ui/shell/export_job.h"
#include "app/ui/shell/report_pdf.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "export/export.h"
#include "export/report.h"
#include "models/cells.h"

namespace lockstep::ui {
namespace {

/// Of `charts`, those that the HTML page doesn't draw from the report itself.
std::vector<ChartSource *> besidesTheReports(std::vector<ChartSource *> charts) {
    static const QStringList drawnByTheReport = {"speed-up",           "waterfall",    "loss",
                                                 "duration-per-epoch", "step-anatomy", "dp-anatomy"};
    std::erase_if(charts, [](const ChartSource *chart) { return drawnByTheReport.contains(chart->chartName()); });
    return charts;
}

/// Divides an export into steps: one per run's curves, one per chart, then the files made from them.
class Steps {
public:
    explicit Steps(const ExportSource &source) : m_source(source), m_open(source.workspace.openId()) {
        for (const auto &draw : m_source.draw)
            add({}, [draw] {
                draw();
                return MakeBytes();
            });
        addReport();
    }

    /// What `fill` adds, once all is drawn.
    void addDrawn(const std::function<void(Steps &)> &fill) {
        Steps rest = *this;
        rest.m_steps.clear();
        m_steps.push_back({{}, {}, [rest, fill]() mutable {
                               rest.m_charts =
                                   rest.m_source.charts ? rest.m_source.charts() : std::vector<ChartSource *>();
                               fill(rest);
                               return rest.take();
                           }});
    }

    void addResults(const QString &format, const QString &file) {
        if (format == QLatin1String("pdf"))
            return addPdf(file);
        if (format == QLatin1String("html"))
            return addPage(file);
        add(file, [report = m_report, inCore = core::exportFormatFrom(format.toStdString())] {
            return [report, inCore]() -> Result<QByteArray> {
                return QByteArray::fromStdString(core::exportResults(*report, *inCore));
            };
        });
    }
    void addCurves(const QString &format, const QString &file) {
        const auto inCore = core::exportFormatFrom(format.toStdString());
        if (!inCore || !core::carriesCurves(*inCore))
            return;
        add(file, [report = m_report, format = *inCore] {
            return [report, format]() -> Result<QByteArray> {
                const auto text = core::exportCurves(report->curves, format);
                return text ? Result<QByteArray>(QByteArray::fromStdString(*text)) : fail(text.error());
            };
        });
    }
    /// A file each, named after its chart.
    void addCharts(const QString &format, const QSize &size) {
        for (ChartSource *chart : m_charts)
            addDrawing(*chart, chart->chartName() + u'.' + format, [format, size](ChartSource &drawn) -> MakeBytes {
                const auto bytes = chartBytes(drawn, size.isEmpty() ? drawn.exportSize() : size, format);
                return bytes ? MakeBytes(*bytes) : [error = bytes.error()] { return fail(error); };
            });
    }
    [[nodiscard]] std::vector<ExportStep> take() { return std::move(m_steps); }

private:
    static MakeBytes refuse() {
        return [] {
            return fail(Error::failed("another experiment was opened while this one was exported",
                                      "export the open one again"));
        };
    }
    void add(const QString &file, std::function<MakeBytes()> take) {
        const auto same = [&workspace = m_source.workspace, open = m_open] { return workspace.openId() == open; };
        m_steps.push_back({file, [take = std::move(take), same] { return same() ? take() : refuse(); }});
    }
    /// `draw` is not called when the chart has gone meanwhile.
    void addDrawing(ChartSource &chart, const QString &file, std::function<MakeBytes(ChartSource &)> draw) {
        add(file,
            [&chart, draw = std::move(draw), paper = m_source.paper,
             widget = QPointer<QWidget>(dynamic_cast<QWidget *>(&chart))]() -> MakeBytes {
                if (!widget)
                    return {};
                std::optional<PaperColours> light;
                if (paper)
                    light.emplace(*paper);
                return draw(chart);
            });
    }
    void addReport() {
        add({}, [report = m_report, &workspace = m_source.workspace]() -> MakeBytes {
            OpenResults &results = workspace.results();
            report->table = results.table();
            report->judgement = results.judgement().judgement();
            report->anatomies = core::stepAnatomies(
                report->table, {workspace.runs().stores().begin(), workspace.runs().stores().end()});
            if (results.targets().target().value > 0)
                report->target = results.targets().target();
            report->times = results.targets().times();
            return {};
        });
        for (int i = 0; i < m_source.workspace.runs().count(); ++i)
            add({}, [report = m_report, &workspace = m_source.workspace, i]() -> MakeBytes {
                if (i >= workspace.runs().count())
                    return {};
                report->curves.push_back(core::exportedCurve(*workspace.runs().at(i)));
                report->curves.back().name = workspace.runs().label(i).toStdString();
                return {};
            });
    }
    void addPdf(const QString &file) {
        const auto charts = std::make_shared<std::vector<PdfChart>>();
        for (ChartSource *chart : m_charts)
            addDrawing(*chart, {}, [charts](ChartSource &drawn) -> MakeBytes {
                charts->push_back(pdfChart(drawn));
                return {};
            });
        add(file, [report = m_report, charts] {
            return [report, charts]() -> Result<QByteArray> { return pdfReport(*report, *charts); };
        });
    }
    void addPage(const QString &file) {
        const auto pictures = std::make_shared<std::vector<core::ReportPicture>>();
        for (ChartSource *chart : besidesTheReports(m_charts))
            addDrawing(*chart, {}, [pictures](ChartSource &drawn) -> MakeBytes {
                // Two stand beside each other on a page.
                const QSize own = drawn.exportSize();
                const QSize size(640, own == QSize(960, 540) ? 360 : own.height());
                pictures->push_back({chartTitle(drawn).toStdString(), chartSvg(drawn, size).toStdString()});
                return {};
            });
        add(file, [report = m_report, pictures] {
            return [report, pictures]() -> Result<QByteArray> {
                return QByteArray::fromStdString(core::htmlReport(*report, *pictures));
            };
        });
    }

    ExportSource m_source;
    QString m_open;
    /// Filled by steps on the GUI thread, then read on the export's thread.
    std::shared_ptr<core::Report> m_report = std::make_shared<core::Report>();
    std::vector<ChartSource *> m_charts;
    std::vector<ExportStep> m_steps;
};

bool isOfCharts(const QString &format) {
    return format == QLatin1String("png") || format == QLatin1String("svg");
}

} // namespace

QStringList exportFormats() {
    QStringList out;
    for (const core::ExportFormatSpec &spec : core::resultFormats())
        out.append(core::qs(spec.suffix));
    return out + QStringList{"pdf", "png", "svg"};
}

Result<std::unique_ptr<ExportJob>> resultsJob(const ExportSource &source, const QString &path) {
    const QFileInfo file(path);
    const QString suffix = file.suffix().toLower();
    if (!exportFormats().contains(suffix) || isOfCharts(suffix))
        return fail(Error::badArgument("results can't be written as ." + suffix.toStdString(),
                                       "use the suffix " + core::resultFormatNames({"pdf"})));
    Steps steps(source);
    steps.addDrawn([suffix, name = file.fileName()](Steps &drawn) { drawn.addResults(suffix, name); });
    return std::make_unique<ExportJob>(steps.take(), ExportTarget{file.path(), true});
}

Result<std::unique_ptr<ExportJob>> folderJob(const ExportSource &source, const QString &folder,
                                             const QStringList &formats, const QSize &chartSize) {
    const QStringList wanted = formats.isEmpty() ? exportFormats() : formats;
    for (const QString &format : wanted)
        if (!exportFormats().contains(format))
            return fail(Error::badArgument("\"" + format.toStdString() + "\" is not an export format",
                                           "use " + exportFormats().join(QStringLiteral(", ")).toStdString(),
                                           "--format"));
    Steps steps(source);
    steps.addDrawn([wanted, chartSize](Steps &drawn) {
        for (const QString &format : wanted) {
            if (isOfCharts(format)) {
                drawn.addCharts(format, chartSize);
            } else {
                drawn.addResults(format, QStringLiteral("results.") + format);
                drawn.addCurves(format, QStringLiteral("curves.") + format);
            }
        }
    });
    return std::make_unique<ExportJob>(steps.take(), ExportTarget{folder});
}

Result<std::unique_ptr<ExportJob>> chartJob(ChartSource &chart, const QSize &size, const QString &path) {
    const QFileInfo file(path);
    auto bytes = chartBytes(chart, size, file.suffix().toLower()); // before the chart changes
    if (!bytes)
        return fail(bytes.error());
    std::vector<ExportStep> steps{{file.fileName(), [make = *bytes]() -> MakeBytes { return make; }}};
    return std::make_unique<ExportJob>(std::move(steps), ExportTarget{file.path(), true});
}

Result<void> saveResults(Workspace &workspace, const std::vector<ChartSource *> &charts, const QString &path) {
    const auto job = resultsJob({workspace, [charts] { return charts; }}, path);
    if (!job)
        return fail(job.error());
    const auto written = waitFor(**job);
    return written ? Result<void>() : fail(written.error());
}

Result<QStringList> exportAll(Workspace &workspace, const std::vector<ChartSource *> &charts, const QString &folder,
                              const QStringList &formats, const QSize &chartSize) {
    const auto job = folderJob({workspace, [charts] { return charts; }}, folder, formats, chartSize);
    return job ? waitFor(**job) : fail(job.error());
}

} // namespace lockstep::ui
