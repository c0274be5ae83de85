// SPDX-License-Identifier: MIT
// How Live is arranged: what a person changes is kept, and can be put back.
#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QFile>
#include <QMenu>
#include <QSettings>
#include <QSlider>
#include <QSplitter>
#include <QToolButton>

#include <functional>
#include <utility>

#include "app/ui/pages/live/live_page.h"
#include "app/ui/pages/live/live_side.h"
#include "app/ui/pages/live/metric_card.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "ipc/run_folder.h"

namespace lockstep::ui {
namespace {

constexpr int usualSmoothing = 60;

QString key(const char *name) {
    return QStringLiteral("live/") + QLatin1String(name);
}

} // namespace

/// Loss is always there: it carries the tools.
void LivePage::buildChartsMenu(Card *card) {
    auto *button = new QToolButton(card);
    button->setText(tr("Charts"));
    button->setShortcut(QKeySequence(Qt::ALT | Qt::Key_H));
    button->setToolTip(tr("Which charts show (Alt+H)"));
    button->setPopupMode(QToolButton::InstantPopup);
    auto *menu = new QMenu(button);
    const auto add = [&](const char *name, const QString &words, const std::function<void(bool)> &show) {
        QAction *action = menu->addAction(words);
        action->setCheckable(true);
        action->setChecked(true);
        connect(action, &QAction::toggled, this, show);
        m_pictureActions.insert(QLatin1String(name), action);
    };
    add("duration", tr("Duration per epoch"), [this](bool on) { m_durationCard->setVisible(on); });
    const auto bottom = [this](Card *one, bool on) {
        one->setVisible(on);
        m_bottom->setVisible(!m_lanesCard->isHidden() || !m_phasesCard->isHidden());
    };
    add("devices", tr("Devices"), [this, bottom](bool on) { bottom(m_lanesCard, on); });
    add("phases", tr("Where a step goes"), [this, bottom](bool on) { bottom(m_phasesCard, on); });
    add("anatomy", tr("Anatomy of data parallel"), [this](bool) { drawAnatomy(); });
    add("nodes", tr("Nodes of the run"), [this](bool) { drawNodes(); });
    add("metric", tr("Metric"), [this](bool) { drawMetric(); });
    button->setMenu(menu);
    card->addTool(button);
}

void LivePage::saveLayout(QSettings &settings) const {
    settings.setValue(key("rows"), m_rows->saveState());
    settings.setValue(key("top"), m_top->saveState());
    settings.setValue(key("bottom"), m_bottom->saveState());
    QStringList hidden;
    for (auto it = m_pictureActions.begin(); it != m_pictureActions.end(); ++it)
        if (!it.value()->isChecked())
            hidden.append(it.key());
    settings.setValue(key("hidden"), hidden);
    settings.setValue(key("runs"), m_sideButton->isChecked());
    settings.setValue(key("axis"), m_side->axisBox()->currentIndex());
    settings.setValue(key("smoothing"), m_side->smoothSlider()->value());
    settings.setValue(key("log"), m_side->logBox()->isChecked());
    settings.setValue(key("durations"), m_durationView->currentIndex());
    settings.setValue(key("metric"), m_metric->currentIndex());
    settings.setValue(key("shown_metric"), m_metricCard->metric());
    settings.setValue(key("window"), m_window->currentIndex());
    settings.setValue(key("pinned"), m_workspace.pictured().choice().pinned());
}

void LivePage::restoreLayout(const QSettings &settings) {
    for (const auto &[splitter, name] : {std::pair(m_rows, "rows"), {m_top, "top"}, {m_bottom, "bottom"}})
        splitter->restoreState(settings.value(key(name)).toByteArray());
    const QStringList hidden = settings.value(key("hidden")).toStringList();
    for (auto it = m_pictureActions.begin(); it != m_pictureActions.end(); ++it)
        it.value()->setChecked(!hidden.contains(it.key()));
    m_sideButton->setChecked(settings.value(key("runs"), true).toBool());
    const auto choose = [&](QComboBox *box, const char *name) {
        const int index = settings.value(key(name), 0).toInt();
        box->setCurrentIndex(index >= 0 && index < box->count() ? index : 0);
    };
    choose(m_side->axisBox(), "axis");
    choose(m_durationView, "durations");
    choose(m_metric, "metric");
    choose(m_window, "window");
    m_metricCard->setMetric(settings.value(key("shown_metric")).toString());
    m_side->smoothSlider()->setValue(settings.value(key("smoothing"), usualSmoothing).toInt());
    m_side->logBox()->setChecked(settings.value(key("log"), false).toBool());
    for (const QString &run : settings.value(key("pinned")).toStringList())
        if (isRunId(run.toStdString()) && QFile::exists(QString::fromStdString(runFolder(run.toStdString()).config())))
            m_workspace.pictured().choice().setPinned(run, true); // one that was deleted meanwhile is forgotten
}

/// Pins stay: they say which runs matter, not how the page is arranged.
void LivePage::resetLayout() {
    for (QAction *action : std::as_const(m_pictureActions))
        action->setChecked(true);
    m_sideButton->setChecked(true);
    for (QComboBox *box : {m_side->axisBox(), m_durationView, m_metric, m_window})
        box->setCurrentIndex(0);
    m_side->smoothSlider()->setValue(usualSmoothing);
    m_side->logBox()->setChecked(false);
    // Parts of a whole: a splitter shares out what there is.
    m_top->setSizes({1100, 1000});
    m_bottom->setSizes({1100, 1000});
    m_rows->setSizes({500, 500, 200, 200, 300});
}

} // namespace lockstep::ui
