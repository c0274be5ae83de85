// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/duration_card.h"

#include <QComboBox>
#include <QScrollArea>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

#include "app/ui/charts/bar_chart.h"
#include "app/ui/charts/line_chart.h"
#include "app/ui/pages/live/shown_marks.h"
#include "base/format.h"
#include "experiment/recipe.h"
#include "ipc/median.h"
#include "models/live_figures.h"
#include "store/run_progress.h"

namespace lockstep::ui {

using core::RunStore;

namespace {
constexpr int axisRoom = 56, leastBar = 20; ///< px that the bars' axis and a bar take
} // namespace

DurationCard::DurationCard(const Theme &theme, const ShownRuns &shown, QWidget *parent)
    : LiveCard(tr("Duration per epoch"), shown,
               Changes(RunStore::Epochs) | RunStore::Record | RunStore::State | RunStore::Alerts | RunStore::Link |
                   RunStore::Loss,
               parent) {
    setToolTip(tr("Wall time of an epoch's training loop on the slowest rank, without evaluation"));
    const QComboBox *choice =
        addChoice("durations", {tr("each epoch"), tr("median")}, tr("Every whole epoch, or their median"));
    m_chart = new LineChart(theme, QStringLiteral("duration-per-epoch"), this);
    m_chart->setAxisTitles(tr("epoch"), tr("duration / s"));
    m_chart->setWholeX(true);
    m_chart->setZeroBased(true);
    m_medians = new BarChart(theme, QStringLiteral("median-epoch-duration"), this);
    m_medians->setAxisTitle(tr("median duration of an epoch / s"));
    m_chart->follow(shown.highlight());
    m_medians->follow(shown.highlight());
    auto *stack = new QStackedWidget(this);
    stack->addWidget(m_chart);
    auto *scrolled = new QScrollArea(this); // of many runs: rows stay readable
    scrolled->setWidgetResizable(true);
    scrolled->setFrameShape(QFrame::NoFrame);
    scrolled->setFocusPolicy(Qt::NoFocus);
    scrolled->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scrolled->setWidget(m_medians);
    stack->addWidget(scrolled);
    connect(choice, &QComboBox::currentIndexChanged, stack, &QStackedWidget::setCurrentIndex);
    body()->addWidget(stack, 1);
}

ChartSource *DurationCard::picture() const {
    return m_chart;
}

void DurationCard::showAll() {
    m_chart->showAll();
}

void DurationCard::draw(Changes what) {
    const QString empty =
        shown().whyEmpty(tr("The first bar appears after the first epoch"), tr("No epoch was completed"));
    m_chart->setEmptyText(empty);
    m_medians->setEmptyText(empty);
    if (what & (RunStore::Epochs | RunStore::Record | RunStore::State))
        drawDurations();
    drawMarks();
}

void DurationCard::drawDurations() {
    const QList<LineData> lines = durationLines();
    QList<LineData> published;
    if (const auto *all = shown().published()) {
        published = publishedLines(*all, &core::PublishedEpoch::durationS);
        for (LineData &line : published)
            line.endText = core::seconds(line.points.constLast().y());
    }
    const QList<LineData> all = lines + published;
    double last = std::max(1.0, shown().epochs());
    for (const LineData &line : all)
        if (!line.points.isEmpty())
            last = std::max(last, line.points.constLast().x());
    if (last > 1)
        m_chart->setXRange(1, last);
    else
        m_chart->setXRange(0.5, 1.5); // the only epoch in the middle, and no second one
    m_chart->setLines(all);
    const QList<BarData> medians = medianBars(published);
    m_medians->setBars(medians);
    m_medians->setMinimumHeight(axisRoom + leastBar * int(m_medians->rows()));
}

QList<LineData> DurationCard::durationLines() const {
    QList<LineData> lines;
    for (const RunStyle &style : shown().stylesByMethod()) {
        if (!style.shown)
            continue;
        LineData line = lineOf(style);
        line.markers = true;
        for (const core::MergedEpoch *epoch : core::wholeEpochs(shown().storeOf(style)))
            line.points.append({double(epoch->epoch), epoch->durationS});
        if (!line.points.isEmpty())
            line.endText = core::seconds(line.points.constLast().y());
        lines.append(line);
    }
    return lines;
}

QList<BarData> DurationCard::medianBars(const QList<LineData> &published) const {
    QList<BarData> bars;
    for (const RunStyle &style : shown().stylesByMethod()) {
        if (!style.latest) // nor shown, then
            continue;
        const RunStore &run = shown().storeOf(style);
        const auto median = core::medianEpochS(run);
        bars.append(
            {style.name,
             style.color,
             false,
             median,
             median ? core::seconds(median) + (run.over() ? QString() : tr(" (live)")) : tr("no epoch complete yet"),
             tr("Median over the whole epochs of the newest repeat"),
             {},
             {},
             style.key()});
    }
    for (const LineData &line : published) {
        std::vector<double> all;
        for (const QPointF &p : line.points)
            all.push_back(p.y());
        const auto median = lockstep::median(all);
        bars.append(
            {line.name, line.color, true, median, core::seconds(median),
             tr("Median of the published epochs, %1").arg(QString::fromStdString(shown().published()->machine))});
    }
    return bars;
}

void DurationCard::drawMarks() {
    QList<ChartMark> marks = shownMarks(shown(), core::RunCurves::XAxis::Epoch);
    marks.removeIf([](const ChartMark &mark) { // one after each epoch would be on every tick
        return mark.kind == ChartMark::Kind::Checkpoint;
    });
    for (ChartMark &mark : marks)
        mark.x = std::max(1.0, std::ceil(mark.x - 1e-9));
    m_chart->setMarks(marks);
}

} // namespace lockstep::ui

#include "moc_duration_card.cpp"
