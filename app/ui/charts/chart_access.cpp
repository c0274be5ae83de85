// SPDX-License-Identifier: MIT
#include "app/ui/charts/chart_access.h"

#include <QAccessible>
#include <QAccessibleWidget>
#include <QStringList>
#include <QWidget>

#include <algorithm>

#include "app/ui/charts/chart_export.h"
#include "app/ui/charts/chart_source.h"
#include "base/format.h"

namespace lockstep::ui {
namespace {

constexpr qsizetype mostRows = 60;

class ReadableChart : public QAccessibleWidget {
public:
    ReadableChart(QWidget *widget, const ChartSource &chart)
        : QAccessibleWidget(widget, QAccessible::Chart), m_chart(chart) {}

    [[nodiscard]] QString text(QAccessible::Text kind) const override {
        return kind == QAccessible::Description ? m_chart.chartWords() : QAccessibleWidget::text(kind);
    }

private:
    const ChartSource &m_chart;
};

QAccessibleInterface *readableChart(const QString &, QObject *object) {
    auto *widget = qobject_cast<QWidget *>(object);
    const auto *chart = dynamic_cast<const ChartSource *>(widget);
    return chart ? new ReadableChart(widget, *chart) : nullptr;
}

QString rowWords(const QStringList &heads, const QStringList &cells) {
    QStringList names, figures;
    for (qsizetype i = 0; i < std::min(heads.size(), cells.size()); ++i) {
        bool number = false;
        const double value = cells[i].toDouble(&number);
        if (number)
            figures.append(heads[i] + u' ' + core::significant(value));
        else if (cells[i] == QLatin1String("true")) // a mark of the row
            names.append(heads[i]);
        else if (!cells[i].isEmpty() && cells[i] != QLatin1String("false") && cells[i] != QLatin1String("-"))
            names.append(cells[i]);
    }
    return names.join(QStringLiteral(", ")) + (figures.isEmpty() ? QString() : QStringLiteral(": ")) +
           figures.join(QStringLiteral(", ")) + u'.';
}

} // namespace

void makeReadable(QWidget *widget, const ChartSource *chart) {
    static const bool installed = [] {
        QAccessible::installFactory(readableChart);
        return true;
    }();
    Q_UNUSED(installed);
    widget->setAccessibleName(chartTitle(*chart));
}

QString tableWords(const QString &tabbed) {
    QStringList rows = tabbed.split(u'\n', Qt::SkipEmptyParts);
    if (rows.size() < 2)
        return QObject::tr("No values yet.");
    const QStringList heads = rows.takeFirst().split(u'\t');
    QStringList out;
    for (const QString &row : rows.first(std::min(rows.size(), mostRows)))
        out.append(rowWords(heads, row.split(u'\t')));
    if (rows.size() > mostRows)
        out.append(QObject::tr("And %1 more rows.").arg(rows.size() - mostRows));
    return out.join(u' ');
}

QString ChartSource::chartWords() const {
    return tableWords(chartData());
}

} // namespace lockstep::ui
