// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/verdict_traffic.h"

#include <QVBoxLayout>

#include <set>

#include "analysis/causes/median_repeat.h"
#include "app/ui/charts/bar_chart.h"
#include "app/ui/theme/palette.h"
#include "base/format.h"
#include "models/run_set.h"
#include "models/run_traffic.h"

namespace lockstep::ui {
namespace {

QString megabytes(double bytes) {
    return QObject::tr("%1 MB").arg(core::threeDigits(bytes / 1e6));
}

QString hintOf(const core::RankTraffic &traffic) {
    QStringList ways;
    for (const core::TopologyFlow &flow : traffic.flows)
        ways.append(QObject::tr("%1 to rank %2").arg(megabytes(flow.bytes)).arg(flow.to));
    return (traffic.formula ? QObject::tr("by the formula ") : QString()) + ways.join(QStringLiteral(", "));
}

} // namespace

VerdictTraffic::VerdictTraffic(Theme &theme, core::RunSet &runs, QWidget *parent)
    : Card(tr("Sent per step"), parent), m_runs(runs), m_chart(new BarChart(theme, QStringLiteral("traffic"), this)) {
    setToolTip(tr("Counted by the kernel on each rank's connections, beside what the method's formula says: gradients "
                  "to the next rank of a ring, or to a server and parameters back. CPU devices only"));
    m_chart->setAxisTitle(tr("sent / MB"));
    body()->addWidget(m_chart);
    hide();
}

void VerdictTraffic::refresh(const core::ResultTable &table) {
    const auto &stores = m_runs.stores();
    QList<BarData> bars;
    std::set<Traffic> kinds;
    for (const core::RowRepeat &one : core::medianRepeats(table, {stores.begin(), stores.end()}))
        for (const core::RankTraffic &traffic : core::trafficOf(*one.run)) {
            const Method method = one.run->record()->config->method;
            kinds.insert(specOf(method).traffic);
            BarData bar;
            bar.name = tr("%1, rank %2").arg(QString::fromStdString(one.name), QString::number(traffic.rank));
            bar.color = methodColor(method);
            bar.value = traffic.counted / 1e6;
            bar.text = traffic.formula
                           ? tr("%1, formula %2").arg(megabytes(traffic.counted), megabytes(*traffic.formula))
                           : megabytes(traffic.counted);
            bar.hint = hintOf(traffic);
            bars.append(bar);
        }
    const bool unlike = kinds.size() > 1 || kinds.contains(Traffic::Server) || kinds.contains(Traffic::Push);
    m_chart->setBars(unlike ? bars : QList<BarData>());
    m_chart->setFixedHeight(m_chart->sizeHint().height());
    setVisible(unlike);
}

} // namespace lockstep::ui

#include "moc_verdict_traffic.cpp"
