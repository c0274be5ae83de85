// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/verdict_anatomy.h"

#include <QVBoxLayout>

#include "analysis/causes/dp_anatomy.h"
#include "app/ui/charts/anatomy_view.h"
#include "app/ui/theme/palette.h"
#include "models/run_set.h"

namespace lockstep::ui {

VerdictAnatomy::VerdictAnatomy(Theme &theme, core::RunSet &runs, QWidget *parent)
    : Card(tr("What device 0 of DP does while the others wait"), parent), m_runs(runs),
      m_view(new AnatomyView(theme, QStringLiteral("step-anatomy"), this)) {
    setToolTip(
        tr("A mean step as it happens. DP: device 0 scatters the batch, copies the parameters, gathers the outputs, "
           "computes the loss and reduces the gradients; the others work only in the parallel parts. DDP: each "
           "rank does the whole step and communicates what backward does not hide. Lines are waiting"));
    body()->addWidget(m_view);
    hide();
}

void VerdictAnatomy::refresh() {
    const auto &stores = m_runs.stores();
    QList<AnatomyRun> runs;
    QStringList drawn;
    for (const core::StepAnatomy &one : core::stepAnatomies({stores.begin(), stores.end()})) {
        const QString name = QString::fromStdString(one.name);
        runs.append({name, methodColor(QString::fromStdString(one.method)), one.anatomy});
        if (!name.isEmpty() && one.repeats > 1)
            drawn.append(tr("%1 repeat %2").arg(name).arg(one.repeat));
    }
    setNote(drawn.isEmpty() ? QString() : tr("the median of each: %1").arg(drawn.join(QStringLiteral(", "))));
    m_view->setRuns(runs);
    m_view->setFixedHeight(m_view->sizeHint().height());
    setVisible(!runs.isEmpty());
}

} // namespace lockstep::ui
