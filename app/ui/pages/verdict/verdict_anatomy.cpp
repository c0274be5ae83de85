// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/verdict_anatomy.h"

#include <QVBoxLayout>

#include "analysis/causes/dp_anatomy.h"
#include "app/ui/charts/anatomy_view.h"
#include "app/ui/theme/palette.h"
#include "app/ui/widgets/name_lines.h"
#include "models/run_set.h"

namespace lockstep::ui {

VerdictAnatomy::VerdictAnatomy(Theme &theme, core::RunSet &runs, QWidget *parent)
    : Card(tr("Step by device"), parent), m_runs(runs),
      m_view(new AnatomyView(theme, QStringLiteral("step-anatomy"), this)) {
    setToolTip(tr("A mean step, device by device. DP: device 0 serves the others, which work only in the parallel "
                  "parts. DDP: each rank does a whole step. Lines are waiting"));
    body()->addWidget(m_view);
    hide();
}

void VerdictAnatomy::refresh(const core::ResultTable &table) {
    const auto &stores = m_runs.stores();
    QList<AnatomyRun> runs;
    QStringList drawn;
    for (const core::StepAnatomy &one : core::stepAnatomies(table, {stores.begin(), stores.end()})) {
        const QString name = QString::fromStdString(one.name);
        runs.append({name, methodColor(QString::fromStdString(one.method)), one.anatomy});
        if (!name.isEmpty() && one.repeats > 1)
            drawn.append(tr("%1 #%2").arg(paintedName(name), QString::number(one.repeat)));
    }
    setNote(drawn.isEmpty() ? QString() : tr("median repeats: %1").arg(drawn.join(QStringLiteral(", "))));
    m_view->setRuns(runs);
    m_view->setFixedHeight(m_view->sizeHint().height());
    setVisible(!runs.isEmpty());
}

} // namespace lockstep::ui

#include "moc_verdict_anatomy.cpp"
