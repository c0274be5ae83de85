// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/metric_card.h"

#include <QComboBox>
#include <QSettings>
#include <QVBoxLayout>

#include <algorithm>
#include <set>

#include "app/ui/charts/line_chart.h"
#include "app/ui/pages/live/live_setting.h"
#include "app/ui/pages/live/shown_runs.h"
#include "base/format.h"
#include "ipc/metrics.h"

namespace lockstep::ui {

namespace {

using core::RunStore;

constexpr const char *shownMetric = "shown_metric";

QString helpOf(const MetricSpec &spec) {
    const QString help = QString::fromStdString(spec.help);
    return spec.better == Better::Neither  ? help
           : spec.better == Better::Higher ? MetricCard::tr("%1 Higher is better.").arg(help)
                                           : MetricCard::tr("%1 Lower is better.").arg(help);
}

} // namespace

MetricCard::MetricCard(const Theme &theme, const ShownRuns &shown, QWidget *parent)
    : LiveCard(tr("Metric"), shown, Changes(RunStore::Loss) | RunStore::Record | RunStore::State, parent),
      m_curves(&shown.runs()), m_choice(new QComboBox(this)),
      m_chart(new LineChart(theme, QStringLiteral("metric"), this)) {
    setToolTip(tr("A metric by step, over all ranks; scripts can report their own"));
    m_choice->setAccessibleName(tr("Metric"));
    m_choice->setFixedHeight(28);
    m_choice->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    addTool(m_choice);
    body()->addWidget(m_chart, 1);
    m_chart->follow(shown.highlight());
    m_chart->setEmptyText(tr("No shown run has reported this metric yet"));
    connect(m_choice, &QComboBox::activated, this, [this] {
        m_wanted = metric();
        Q_EMIT refreshWanted(RunStore::Loss);
    });
}

bool MetricCard::isBlank() const {
    return m_choice->count() == 0;
}

ChartSource *MetricCard::picture() const {
    return m_chart;
}

void MetricCard::showAll() {
    m_chart->showAll();
}

QString MetricCard::metric() const {
    return m_choice->currentData().toString();
}

void MetricCard::saveChoices(QSettings &settings) const {
    settings.setValue(liveSetting(shownMetric), metric());
}

void MetricCard::restoreChoices(const QSettings &settings) {
    m_wanted = settings.value(liveSetting(shownMetric)).toString();
    if (const int place = m_choice->findData(m_wanted); place >= 0)
        m_choice->setCurrentIndex(place);
}

/// The metrics of the shown runs; what is chosen stays chosen while a run knows it.
void MetricCard::offer() {
    std::set<std::string> known;
    for (const RunStyle &style : shown().styles())
        if (style.shown)
            for (std::string &name : shown().storeOf(style).metrics().names())
                if (metricSpec(name).onLive)
                    known.insert(std::move(name));
    std::vector<std::string> names(known.begin(), known.end());
    std::ranges::sort(names, metricBefore);
    std::vector<std::string> offered;
    for (int i = 0; i < m_choice->count(); ++i)
        offered.push_back(m_choice->itemData(i).toString().toStdString());
    if (names == offered)
        return;
    m_choice->clear();
    for (const std::string &name : names) {
        const MetricSpec spec = metricSpec(name);
        m_choice->addItem(QString::fromStdString(spec.title), QString::fromStdString(name));
        m_choice->setItemData(m_choice->count() - 1, helpOf(spec), Qt::ToolTipRole);
    }
    m_choice->setCurrentIndex(std::max(0, m_choice->findData(m_wanted)));
}

void MetricCard::draw(Changes) {
    offer();
    if (isBlank())
        return m_chart->setLines({});
    const MetricSpec spec = metricSpec(metric().toStdString());
    const CurveView &view = shown().view();
    m_choice->setToolTip(helpOf(spec));
    m_curves.setMetric(spec.name);
    // The box above says which metric it is: the axis has its unit.
    setCurveAxes(*m_chart, view, QString::fromStdString(spec.unit.empty() ? spec.title : spec.unit), shown().epochs());
    m_chart->setLines(curveLines(m_curves, shown().stylesByMethod(), view));
}

} // namespace lockstep::ui

#include "moc_metric_card.cpp"
