// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/verdict_stages.h"

#include <QVBoxLayout>

#include "analysis/causes/median_repeat.h"
#include "analysis/causes/pipeline_step.h"
#include "app/ui/charts/stage_view.h"
#include "app/ui/theme/palette.h"
#include "models/run_set.h"
#include "store/run_store.h"

namespace lockstep::ui {

VerdictStages::VerdictStages(Theme &theme, core::RunSet &runs, QWidget *parent)
    : Card(StageView::title(), parent), m_runs(runs),
      m_view(new StageView(theme, QStringLiteral("pipeline-step"), this)) {
    setToolTip(StageView::explanation());
    body()->addWidget(m_view);
    hide();
}

void VerdictStages::refresh(const core::ResultTable &table) {
    const auto &stores = m_runs.stores();
    QList<StageBar> bars;
    IdleNote idle;
    for (const core::RowRepeat &one : core::medianRepeats(table, {stores.begin(), stores.end()}))
        if (const auto step = core::pipelineStep(*one.run)) {
            const QString name = QString::fromStdString(one.name);
            bars.append(stageBars(*step, name, methodColor(one.run->identity().method())));
            idle.add(name, *step);
        }
    setNote(idle.text());
    m_view->setBars(bars);
    m_view->setFixedHeight(m_view->sizeHint().height());
    setVisible(!bars.isEmpty());
}

} // namespace lockstep::ui

#include "moc_verdict_stages.cpp"
