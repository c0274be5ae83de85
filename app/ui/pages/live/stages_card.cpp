// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/stages_card.h"

#include <QVBoxLayout>

#include "analysis/causes/pipeline_step.h"
#include "app/ui/charts/stage_view.h"
#include "app/ui/pages/live/shown_runs.h"

namespace lockstep::ui {

using core::RunStore;

StagesCard::StagesCard(const Theme &theme, const ShownRuns &shown, QWidget *parent)
    : LiveCard(StageView::title(), shown, Changes(RunStore::Phases) | RunStore::Record, parent, pauseOfMeans),
      m_view(new StageView(theme, QStringLiteral("stages"), this)) {
    setToolTip(StageView::explanation());
    body()->addWidget(m_view, 1);
    m_view->follow(shown.highlight());
}

bool StagesCard::isBlank() const {
    return m_view->bars().isEmpty();
}

ChartSource *StagesCard::picture() const {
    return m_view;
}

void StagesCard::draw(Changes) {
    QList<StageBar> bars;
    IdleNote idle;
    for (const RunStyle &style : shown().stylesByMethod())
        if (const auto step = style.median ? core::pipelineStep(shown().storeOf(style)) : std::nullopt) {
            bars.append(stageBars(*step, style.name, style.color, style.key()));
            idle.add(style.name, *step);
        }
    m_view->setBars(bars);
    QStringList notes = {idle.text(), shown().medianNote()};
    notes.removeAll(QString());
    setNote(notes.join(QStringLiteral("; ")));
}

} // namespace lockstep::ui

#include "moc_stages_card.cpp"
