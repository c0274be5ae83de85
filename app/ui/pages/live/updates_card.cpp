// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/updates_card.h"

#include <QVBoxLayout>

#include <numeric>

#include "app/ui/charts/bar_chart.h"
#include "app/ui/pages/live/shown_runs.h"
#include "base/format.h"

namespace lockstep::ui {

using core::RunStore;

namespace {

constexpr int axisRoom = 64, leastBar = 22; ///< px that the bars' axis and a bar take
constexpr std::size_t mostBars = 6;         ///< of a run; the last one takes all staler updates

/// The mean of each rank: "rank 0: 0.9, rank 1: 2.4".
QString meansOf(const core::RunUpdates &updates) {
    QStringList means;
    for (const auto &[rank, counts] : updates.ofRanks())
        means.append(QObject::tr("rank %1: %2").arg(rank).arg(core::meanStaleness(counts), 0, 'g', 3));
    return means.join(QStringLiteral(", "));
}

} // namespace

UpdatesCard::UpdatesCard(const Theme &theme, const ShownRuns &shown, QWidget *parent)
    : LiveCard(tr("Staleness"), shown, Changes(RunStore::Phases) | RunStore::Record, parent, pauseOfMeans),
      m_chart(new BarChart(theme, QStringLiteral("staleness"), this)) {
    setToolTip(tr(
        "Asynchronous server: how many updates by others came between a rank's reading of the parameters and its own "
        "update, as shares of all updates of the run"));
    m_chart->setAxisTitle(tr("share of updates / %"));
    body()->addWidget(m_chart, 1);
    m_chart->follow(shown.highlight());
}

bool UpdatesCard::isBlank() const {
    return m_chart->bars().isEmpty();
}

ChartSource *UpdatesCard::picture() const {
    return m_chart;
}

void UpdatesCard::draw(Changes) {
    QList<BarData> bars;
    QStringList notes;
    for (const RunStyle &style : shown().stylesByMethod()) {
        if (!style.median)
            continue;
        const core::RunUpdates &updates = shown().storeOf(style).updates();
        const auto counts = updates.byStaleness();
        const double all = double(std::accumulate(counts.begin(), counts.end(), std::int64_t(0)));
        if (!(all > 0))
            continue;
        notes.append(tr("mean %1 (%2)").arg(core::meanStaleness(counts), 0, 'g', 3).arg(meansOf(updates)));
        for (std::size_t stale = 0; stale < std::min(counts.size(), mostBars); ++stale) {
            const bool last = stale + 1 == mostBars && counts.size() > mostBars;
            const auto end = last ? counts.end() : counts.begin() + std::ptrdiff_t(stale) + 1;
            const double share =
                double(std::accumulate(counts.begin() + std::ptrdiff_t(stale), end, std::int64_t(0))) / all;
            BarData bar;
            bar.name = (last ? tr("%1, %2 or more") : tr("%1, %2 stale")).arg(style.name, QString::number(stale));
            bar.color = style.color;
            bar.value = share * 100;
            bar.text = core::percent(share, 1);
            bar.whose = style.key();
            bars.append(bar);
        }
    }
    notes.append(shown().medianNote());
    notes.removeAll(QString());
    setNote(notes.join(QStringLiteral("; ")));
    m_chart->setBars(bars);
    m_chart->setMinimumHeight(axisRoom + leastBar * int(m_chart->rows()));
}

} // namespace lockstep::ui

#include "moc_updates_card.cpp"
