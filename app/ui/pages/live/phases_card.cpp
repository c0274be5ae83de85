// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/phases_card.h"

#include <QVBoxLayout>

#include "app/ui/charts/phase_bars.h"
#include "app/ui/charts/phase_style.h"
#include "app/ui/pages/live/shown_runs.h"
#include "models/live_figures.h"

namespace lockstep::ui {
namespace {

QList<PhasePart> phaseParts(const std::vector<core::StepPhase> &phases) {
    QList<PhasePart> out;
    for (const core::StepPhase &phase : phases)
        out.append({QString::fromStdString(phase.phase), phase.seconds});
    return out;
}

} // namespace

PhasesCard::PhasesCard(const Theme &theme, const ShownRuns &shown, QWidget *parent)
    : LiveCard(tr("Step by phase"), shown,
               Changes(core::RunStore::Phases) | core::RunStore::Record | core::RunStore::State | core::RunStore::Link,
               parent, pauseOfMeans),
      m_bars(new PhaseBars(theme, QStringLiteral("phases"), this)) {
    setToolTip(
        tr("Mean time of each phase of a step, by rank (%1). The thin row shows what is inside, a line in it waiting")
            .arg(phaseKey()));
    body()->addWidget(m_bars, 1);
    m_bars->follow(shown.highlight());
}

ChartSource *PhasesCard::picture() const {
    return m_bars;
}

void PhasesCard::draw(Changes) {
    m_bars->setEmptyText(shown().whyEmpty(tr("The phases of a step arrive with the first steps"),
                                          tr("No phase of a step was reported")));
    QList<PhaseBar> bars;
    for (const RunStyle &style : shown().stylesByMethod()) {
        if (!style.median)
            continue;
        const core::RunStore &run = shown().storeOf(style);
        for (const core::RankStep &step : core::rankSteps(run)) {
            const QString label =
                run.ranks().expected() > 1 ? tr("%1 rank %2").arg(style.name, QString::number(step.rank)) : style.name;
            if (!step.additive.empty())
                bars.append({label, style.color, phaseParts(step.additive), phaseParts(step.nested), style.key()});
        }
    }
    setNote(shown().medianNote());
    m_bars->setBars(bars);
}

} // namespace lockstep::ui

#include "moc_phases_card.cpp"
