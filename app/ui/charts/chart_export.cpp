// SPDX-License-Identifier: MIT
#include "app/ui/charts/chart_export.h"

#include <QBuffer>
#include <QFileInfo>
#include <QImage>
#include <QPainter>
#include <QPicture>
#include <QSvgGenerator>

#include "app/ui/charts/chart_source.h"
#include "base/whole_file.h"
#include "base/xml_text.h"
#include "export/cell_text.h"

namespace lockstep::ui {

QString chartTitle(const ChartSource &chart) {
    const QString name = chart.chartName().replace(QLatin1Char('-'), QLatin1Char(' '));
    return name == QLatin1String("speed up") ? QStringLiteral("Speed-up") : name.left(1).toUpper() + name.mid(1);
}

namespace {

template <class Paint> QImage imageOf(const QSize &size, const Paint &paint) {
    constexpr int scale = 2;
    QImage image(size * scale, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(scale);
    image.fill(Qt::transparent);
    QPainter painter(&image);
    painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
    paint(painter);
    return image;
}

} // namespace

QImage chartImage(ChartSource &chart, const QSize &size) {
    return imageOf(size, [&](QPainter &painter) { chart.renderChart(&painter, size); });
}

QPicture chartPicture(ChartSource &chart, const QSize &size) {
    QPicture picture;
    QPainter painter(&picture);
    chart.renderChart(&painter, size);
    painter.end();
    return picture;
}

QByteArray chartSvg(ChartSource &chart, const QSize &size) {
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setSize(size);
    generator.setViewBox(QRect(QPoint(), size));
    generator.setTitle(chart.chartName());
    {
        QPainter painter(&generator);
        chart.renderChart(&painter, size);
    }
    return QByteArray::fromStdString(core::allowedInXml(buffer.data().toStdString())); // Qt writes names as they are
}

namespace {

Result<void> cannotWrite(const QString &path, const QString &why) {
    return fail(Error::failed(QStringLiteral("can't write %1: %2").arg(path, why).toStdString(),
                              "choose another folder or free some space"));
}

QString toCsv(const QString &tabbed) {
    QString out;
    for (const QString &line : tabbed.split(QLatin1Char('\n'), Qt::SkipEmptyParts)) {
        QStringList cells = line.split(QLatin1Char('\t'));
        for (QString &cell : cells)
            cell = QString::fromStdString(core::csvField(cell.toStdString()));
        out += cells.join(QLatin1Char(',')) + QLatin1Char('\n');
    }
    return out;
}

QByteArray pngOf(const QImage &image) {
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    (void)image.save(&buffer, "PNG"); // into memory
    return buffer.data();
}

} // namespace

Result<std::function<QByteArray()>> chartBytes(ChartSource &chart, const QSize &size, const QString &format) {
    const auto ready = [](QByteArray bytes) { return [bytes = std::move(bytes)] { return bytes; }; };
    if (format == QLatin1String("png")) // painting many long lines takes seconds, recording them does not
        return [picture = chartPicture(chart, size), size] {
            return pngOf(imageOf(size, [&](QPainter &painter) { painter.drawPicture(0, 0, picture); }));
        };
    if (format == QLatin1String("svg"))
        return ready(chartSvg(chart, size));
    if (format == QLatin1String("csv"))
        return ready(toCsv(chart.chartData()).toUtf8());
    if (format == QLatin1String("tsv"))
        return ready(chart.chartData().toUtf8());
    return fail(
        Error::badArgument("a chart can't be written as ." + format.toStdString(), "use .png, .svg, .csv or .tsv"));
}

Result<void> saveChart(ChartSource &chart, const QSize &size, const QString &path) {
    const auto bytes = chartBytes(chart, size, QFileInfo(path).suffix().toLower());
    if (!bytes)
        return fail(bytes.error());
    const QByteArray content = (*bytes)();
    const std::string why = core::writeWhole(path.toStdString(), {content.data(), std::size_t(content.size())});
    return why.empty() ? Result<void>() : cannotWrite(path, QString::fromStdString(why));
}

} // namespace lockstep::ui
