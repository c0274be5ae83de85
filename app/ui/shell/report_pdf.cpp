// SPDX-License-Identifier: MIT
#include "app/ui/shell/report_pdf.h"

#include <cmath>

#include <QAbstractTextDocumentLayout>
#include <QBuffer>
#include <QPageLayout>
#include <QPainter>
#include <QPdfWriter>
#include <QTextCursor>
#include <QTextDocument>

#include "analysis/compare/verdict.h"
#include "app/ui/charts/chart_export.h"
#include "app/ui/charts/chart_source.h"
#include "export/report.h"

namespace lockstep::ui {
namespace {

constexpr int dotsPerInch = 96, footer = 32, sectionGap = 8, head = 20;
constexpr int chartObject = QTextFormat::UserObject + 1, chartProperty = QTextFormat::UserProperty + 1;

QPageLayout pageLayout() {
    return {QPageSize(QPageSize::A4), QPageLayout::Landscape, QMarginsF(15, 15, 15, 12), QPageLayout::Millimeter};
}

/// Where text and charts stand on a page, at dotsPerInch.
QSizeF roomOf(const QSize &page, double scale) {
    return {std::floor(page.width() / scale), std::floor(page.height() / scale) - footer};
}

/// A plain chart takes half the width, one whose height follows its rows all of it.
QSize paintSize(const ChartSource &chart) {
    const QSizeF room = roomOf(pageLayout().paintRectPixels(dotsPerInch).size(), 1);
    const QSize own = chart.exportSize();
    const bool half = own == QSize(960, 540);
    const int width = int(half ? room.width() / 2 - sectionGap : room.width() - sectionGap);
    return {width, half ? width * 9 / 16 : own.height()};
}

/// Draws a chart where a character stands in the text.
class ChartObject : public QObject, public QTextObjectInterface {
    Q_OBJECT
    Q_INTERFACES(QTextObjectInterface)
public:
    ChartObject(const std::vector<PdfChart> &charts, const QSizeF &room) : m_charts(charts), m_room(room) {}

    /// Only what stands on this page is drawn.
    void setPage(const QRectF &page) { m_page = page; }
    QSizeF intrinsicSize(QTextDocument *, int, const QTextFormat &format) override {
        const QSizeF size = chart(format).size;
        return size * scaleOf(size) + QSizeF(sectionGap, sectionGap + head);
    }
    void drawObject(QPainter *painter, const QRectF &rect, QTextDocument *, int, const QTextFormat &format) override {
        if (rect.top() < m_page.top() || rect.top() >= m_page.bottom())
            return; // charts mind no clip
        const PdfChart &drawn = chart(format);
        painter->save();
        painter->translate(rect.topLeft());
        QFont bold = painter->font();
        bold.setBold(true);
        painter->setFont(bold);
        painter->setPen(Qt::black);
        painter->drawText(QRectF(exportMargin, 0, drawn.size.width(), head), int(Qt::AlignLeft | Qt::AlignVCenter),
                          drawn.title);
        painter->translate(0, head);
        painter->scale(scaleOf(drawn.size), scaleOf(drawn.size));
        // A picture plays in the inches of the device that it was drawn for.
        painter->scale(double(drawn.picture.logicalDpiX()) / painter->device()->logicalDpiX(),
                       double(drawn.picture.logicalDpiY()) / painter->device()->logicalDpiY());
        painter->drawPicture(0, 0, drawn.picture);
        painter->restore();
    }

private:
    [[nodiscard]] const PdfChart &chart(const QTextFormat &format) const {
        return m_charts[std::size_t(format.intProperty(chartProperty))];
    }
    [[nodiscard]] double scaleOf(const QSizeF &size) const {
        return std::min(1.0, (m_room.height() - 2 * sectionGap - head) / size.height());
    }
    const std::vector<PdfChart> &m_charts;
    QSizeF m_room;
    QRectF m_page;
};

QString tableHtml(const core::TextTable &table) {
    const auto line = [&](const std::vector<std::string> &cells, bool isHead) {
        QString out = QStringLiteral("<tr>");
        for (std::size_t i = 0; i < cells.size(); ++i)
            out +=
                QStringLiteral("<td align='%1' style='border-bottom:1px solid %2;'>%3%4%5</td>")
                    .arg(table.numbers[i] ? QStringLiteral("right") : QStringLiteral("left"),
                         isHead ? QStringLiteral("#6b7280") : QStringLiteral("#e5e7eb"),
                         isHead ? QStringLiteral("<b>") : QString(), QString::fromStdString(core::htmlText(cells[i])),
                         isHead ? QStringLiteral("</b>") : QString());
        return out + QStringLiteral("</tr>");
    };
    QString out = QStringLiteral("<table width='100%' cellspacing='0' cellpadding='4' style='font-size:10px; "
                                 "border-collapse:collapse; border-style:none;'><thead>") +
                  line(table.heads, true) + QStringLiteral("</thead>");
    for (const auto &row : table.rows)
        out += line(row, false);
    return out + QStringLiteral("</table>");
}

QString headHtml(const core::Report &report) {
    const core::ResultTable &table = report.table;
    const core::VerdictText verdict = core::verdictText(table);
    const auto text = [](const std::string &words) { return QString::fromStdString(core::htmlText(words)); };
    QString out = QStringLiteral("<p style='font-size:16px;'><b>%1</b></p>").arg(text(table.title));
    out += QStringLiteral("<p style='color:#6b7280;'>%1</p>").arg(text(table.datasetNote));
    out += QStringLiteral("<p style='font-size:20px;'>%1</p>")
               .arg(text(verdict.sentence.empty() ? core::noVerdictText(table) : verdict.sentence));
    out += QStringLiteral("<p style='color:#6b7280;'>%1</p>").arg(text(verdict.spread));
    const core::TextTable lines = core::verdictTable(report.judgement);
    return lines.rows.empty() ? out : out + tableHtml(lines) + QStringLiteral("<p></p>");
}

QString titleHtml(const std::string &title) {
    return QStringLiteral("<p><b>%1</b></p>").arg(QString::fromStdString(core::htmlText(title)));
}

QString linesHtml(const std::vector<std::string> &lines) {
    QString out;
    for (const std::string &line : lines)
        out += QStringLiteral("<p style='margin-top:0px; margin-bottom:4px;'>• %1</p>")
                   .arg(QString::fromStdString(core::htmlText(line)));
    return out;
}

QString sectionsHtml(const core::Report &report) {
    QString out;
    for (const core::ReportSection &section : core::reportSections(report)) {
        out += titleHtml(section.title);
        if (!section.said.empty())
            out += QStringLiteral("<p>%1</p>").arg(QString::fromStdString(core::htmlText(section.said)));
        if (!section.table.rows.empty())
            out += tableHtml(section.table);
        out += linesHtml(section.lines);
    }
    if (const auto notes = core::noteLines(report.table); !notes.empty())
        out += titleHtml("Keep in mind") + linesHtml(notes);
    return out;
}

void fill(QTextDocument &document, const core::Report &report, std::size_t charts) {
    QTextCursor cursor(&document);
    cursor.insertHtml(headHtml(report) + tableHtml(core::textTable(report.table, core::TextColumns::Reading)) +
                      sectionsHtml(report));
    cursor.movePosition(QTextCursor::End);
    QTextBlockFormat pageBreak;
    pageBreak.setPageBreakPolicy(QTextFormat::PageBreak_AlwaysBefore);
    cursor.insertBlock(pageBreak, QTextCharFormat());
    for (std::size_t i = 0; i < charts; ++i) {
        QTextCharFormat format;
        format.setObjectType(chartObject);
        format.setProperty(chartProperty, int(i));
        cursor.insertText(QString(QChar::ObjectReplacementCharacter), format);
    }
}

void paint(QPainter &painter, QTextDocument &document, ChartObject &object, const QSizeF &room, QPdfWriter &writer,
           const QString &title) {
    const int pages = document.pageCount();
    for (int page = 0; page < pages; ++page) {
        if (page > 0)
            writer.newPage();
        painter.save();
        painter.translate(0, -page * room.height());
        const QRectF visible(0, page * room.height(), room.width(), room.height());
        painter.setClipRect(visible);
        object.setPage(visible);
        QAbstractTextDocumentLayout::PaintContext context;
        context.palette.setColor(QPalette::Text, Qt::black);
        context.clip = visible;
        document.documentLayout()->draw(&painter, context);
        painter.restore();
        painter.setFont(document.defaultFont());
        painter.setPen(QColor(0x6b, 0x72, 0x80));
        painter.drawText(QRectF(0, room.height(), room.width(), footer), int(Qt::AlignLeft | Qt::AlignBottom), title);
        painter.drawText(QRectF(0, room.height(), room.width(), footer), int(Qt::AlignRight | Qt::AlignBottom),
                         QStringLiteral("%1 / %2").arg(page + 1).arg(pages));
    }
}

} // namespace

PdfChart pdfChart(ChartSource &chart) {
    const QSize size = paintSize(chart);
    return {chartTitle(chart), size, chartPicture(chart, size)};
}

QByteArray pdfReport(const core::Report &report, const std::vector<PdfChart> &charts) {
    const QString title = QString::fromStdString(report.table.title);
    QBuffer file;
    file.open(QIODevice::WriteOnly);
    QPdfWriter writer(&file);
    writer.setPageLayout(pageLayout());
    writer.setTitle(title);
    writer.setCreator(QStringLiteral("Lockstep " LOCKSTEP_VERSION));
    {
        QPainter painter(&writer);
        const double scale = writer.resolution() / double(dotsPerInch);
        painter.scale(scale, scale);
        const QSizeF room = roomOf({writer.width(), writer.height()}, scale);
        ChartObject object(charts, room);
        QTextDocument document;
        QFont font(QStringLiteral("DejaVu Sans"));
        font.setPixelSize(11);
        document.setDefaultFont(font);
        document.setDocumentMargin(0);
        document.setUseDesignMetrics(true);
        document.documentLayout()->registerHandler(chartObject, &object);
        document.setPageSize(room);
        fill(document, report, charts.size());
        paint(painter, document, object, room, writer, title);
    }
    return file.data();
}

} // namespace lockstep::ui

#include "report_pdf.moc"
