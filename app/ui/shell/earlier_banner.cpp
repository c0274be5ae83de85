// SPDX-License-Identifier: MIT
#include "app/ui/shell/earlier_banner.h"

#include <QAction>
#include <QDateTime>
#include <QHBoxLayout>
#include <QToolButton>

#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/elided_label.h"
#include "queue/experiment_follower.h"

namespace lockstep::ui {
namespace {

/// "03:43", and the day where it is not today's.
QString beginOf(std::int64_t wallUs) {
    const QDateTime when = QDateTime::fromMSecsSinceEpoch(wallUs / 1000);
    return when.toString(when.date() == QDate::currentDate() ? QStringLiteral("HH:mm")
                                                             : QStringLiteral("yyyy-MM-dd HH:mm"));
}

} // namespace

EarlierBanner::EarlierBanner(Workspace &workspace, QAction *watch, QWidget *parent)
    : QFrame(parent), m_workspace(workspace) {
    setObjectName(QStringLiteral("banner"));
    auto *line = new QHBoxLayout(this);
    line->setContentsMargins(2 * grid, grid / 2, 2 * grid, grid / 2);
    m_words = new ElidedLabel("", 20 * grid, this);
    line->addWidget(m_words, 1);
    auto *button = new QToolButton(this);
    button->setDefaultAction(watch); // the key is the window's
    button->setToolButtonStyle(Qt::ToolButtonTextOnly);
    line->addWidget(button);
    connect(&m_workspace.strip(), &StripState::changed, this, &EarlierBanner::refresh);
    connect(&m_workspace, &Workspace::opened, this, &EarlierBanner::refresh);
    refresh();
}

void EarlierBanner::setPageShowsOpen(bool shows) {
    m_pageShowsOpen = shows;
    refresh();
}

QString EarlierBanner::text() const {
    return m_words->text();
}

void EarlierBanner::refresh() {
    const bool elsewhere = m_workspace.isOpen() && !m_workspace.strip().runningElsewhere().isEmpty();
    if (elsewhere) {
        const core::Experiment *open = m_workspace.experiment();
        const core::ExperimentFollower *running = m_workspace.strip().queue().follower();
        const QString title = m_workspace.title();
        const bool later = open && running && open->createdWallUs > running->experiment().createdWallUs;
        m_words->setText(!open   ? tr("Not the running experiment: %1").arg(title)
                         : later ? tr("Later experiment, of %1: %2").arg(beginOf(open->createdWallUs), title)
                                 : tr("Earlier experiment, of %1: %2").arg(beginOf(open->createdWallUs), title));
    }
    setVisible(elsewhere && m_pageShowsOpen);
}

} // namespace lockstep::ui

#include "moc_earlier_banner.cpp"
