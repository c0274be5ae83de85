// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/anatomy_card.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <QVBoxLayout>

#include "analysis/causes/dp_anatomy.h"
#include "app/ui/charts/anatomy_view.h"
#include "app/ui/pages/live/shown_runs.h"
#include "store/run_store.h"

namespace lockstep::ui {

using core::RunStore;

AnatomyCard::AnatomyCard(const Theme &theme, const ShownRuns &shown, QWidget *parent)
    : LiveCard(tr("Step by device"), shown, Changes(RunStore::Phases) | RunStore::Epochs | RunStore::Record, parent,
               pauseOfMeans),
      m_view(new AnatomyView(theme, QStringLiteral("dp-anatomy"), this)) {
    setToolTip(tr("A mean step of the median repeats, device by device, on one axis. DP: one device serves the others, "
                  "which work only in the parallel parts. DDP: each rank does a whole step. Busy: mean utilisation "
                  "while training, without "
                  "start-up and evaluation"));
    body()->addWidget(m_view, 1);
    m_view->follow(shown.highlight());
}

bool AnatomyCard::isBlank() const {
    return m_view->runs().isEmpty();
}

ChartSource *AnatomyCard::picture() const {
    return m_view;
}

/// DP as a whole, DDP rank by rank. Empty without DP, since there is nothing to compare DDP's step with.
void AnatomyCard::draw(Changes) {
    QList<RunStyle> medians;
    std::ranges::copy_if(shown().stylesByMethod(), std::back_inserter(medians), &RunStyle::median);
    QList<std::optional<core::DpAnatomy>> wholes;
    for (const RunStyle &style : medians)
        wholes.append(core::dpAnatomy(shown().storeOf(style)));
    const bool parallel = std::ranges::any_of(wholes, [](const auto &whole) { return whole.has_value(); });
    QList<AnatomyRun> all;
    for (qsizetype i = 0; parallel && i < medians.size(); ++i) {
        const RunStyle &style = medians[i];
        if (wholes[i])
            all.append({style.name, style.color, *wholes[i], style.key()});
        QString name = style.name;
        for (const auto &[rank, step] : core::ddpAnatomies(shown().storeOf(style))) {
            all.append({name, style.color, step, style.key()});
            name.clear();
        }
    }
    m_view->setRuns(all);
    setNote(m_view->hasUnknown() ? tr("dashed, with ?: only the slowest device's time was recorded") : QString());
}

} // namespace lockstep::ui

#include "moc_anatomy_card.cpp"
