// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/anatomy_card.h"

#include <QVBoxLayout>

#include "analysis/causes/dp_anatomy.h"
#include "app/ui/charts/anatomy_view.h"
#include "app/ui/pages/live/shown_runs.h"

namespace lockstep::ui {

using core::RunStore;

AnatomyCard::AnatomyCard(const Theme &theme, const ShownRuns &shown, QWidget *parent)
    : LiveCard(tr("Anatomy of data parallel"), shown, Changes(RunStore::Phases) | RunStore::Epochs | RunStore::Record,
               parent, pauseOfMeans),
      m_view(new AnatomyView(theme, QStringLiteral("dp-anatomy"), this)) {
    setToolTip(tr("A mean step of DP as it happens: device 0 scatters the batch, copies the parameters, gathers the "
                  "outputs, computes the loss and reduces the gradients; the others work only in the parallel parts"));
    body()->addWidget(m_view, 1);
}

bool AnatomyCard::isBlank() const {
    return m_view->runs().isEmpty();
}

ChartSource *AnatomyCard::picture() const {
    return m_view;
}

void AnatomyCard::draw(Changes) {
    QList<AnatomyRun> all;
    for (const RunLook &look : shown().looksByMethod())
        if (look.median)
            if (const auto anatomy = core::dpAnatomy(shown().storeOf(look)))
                all.append({look.name, look.color, *anatomy});
    m_view->setRuns(all);
    setNote(m_view->hasUnknown()
                ? tr("dashed, with ?: how long that device took wasn't recorded, only the slowest one's time")
                : tr("bars: each device's own time; the line behind: its wait for the slowest one"));
}

} // namespace lockstep::ui
