// SPDX-License-Identifier: MIT
#include "app/ui/charts/chart_axes.h"

#include <QCategoryAxis>
#include <QChart>
#include <QLineSeries>
#include <QPen>
#include <QVariant>

#include "app/ui/charts/ticks.h"
#include "app/ui/theme/theme.h"

namespace lockstep::ui {
namespace {

void showTicks(QCategoryAxis *axis, const Ticks &ticks) {
    // An axis' categories are its labels at their upper ends: with labels on the value they are plain ticks.
    if (axis->categoriesLabels() != ticks.labels || axis->count() != int(ticks.at.size()) ||
        axis->property("at").value<QList<double>>() != ticks.at) {
        for (const QString &label : axis->categoriesLabels())
            axis->remove(label);
        axis->setStartValue(ticks.low);
        for (qsizetype i = 0; i < ticks.at.size(); ++i)
            axis->append(ticks.labels[i], ticks.at[i]);
        axis->setProperty("at", QVariant::fromValue(ticks.at));
    }
    axis->setRange(ticks.low, ticks.high);
}

} // namespace

ChartAxes::ChartAxes(QChart *chart) : m_x(new QCategoryAxis(chart)), m_y(new QCategoryAxis(chart)) {
    chart->addAxis(m_x, Qt::AlignBottom);
    chart->addAxis(m_y, Qt::AlignLeft);
    m_y->setTruncateLabels(false);         // 24 pixels apart, they have room enough, but Qt writes "..." for them
    auto *domain = new QLineSeries(chart); // axes take their range from the domain of a series
    chart->addSeries(domain);
    for (QCategoryAxis *axis : {m_x, m_y}) {
        axis->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
        domain->attachAxis(axis);
    }
}

void ChartAxes::restyle(const Palette &palette) {
    for (QCategoryAxis *axis : {m_x, m_y}) {
        axis->setLabelsFont(Theme::figures(Type::Small));
        axis->setLabelsColor(palette.textMuted);
        axis->setTitleFont(Theme::font(Type::Small));
        axis->setTitleBrush(palette.textMuted);
        axis->setGridLinePen(QPen(palette.grid, 1));
        axis->setLinePen(QPen(palette.border, 1));
    }
    m_x->setGridLineVisible(false);
    m_y->setLineVisible(false);
}

void ChartAxes::setTitles(const QString &x, const QString &y) {
    m_x->setTitleText(x);
    m_y->setTitleText(y);
}

void ChartAxes::setTicks(const Ticks &x, const Ticks &y) {
    showTicks(m_x, x);
    showTicks(m_y, y);
}

void ChartAxes::setVisible(bool visible) {
    m_x->setVisible(visible);
    m_y->setVisible(visible);
}

} // namespace lockstep::ui
