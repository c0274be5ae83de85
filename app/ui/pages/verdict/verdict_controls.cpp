// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/verdict_controls.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"

namespace lockstep::ui {
namespace {

constexpr std::size_t mostOffered = 3; // as in the terminal: most informative first

} // namespace

VerdictControls::VerdictControls(QWidget *parent) : QWidget(parent), m_layout(new QVBoxLayout(this)) {
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setSpacing(grid);
    hide();
}

void VerdictControls::addRow(const core::SuggestedRun &run) {
    auto *row = new QWidget(this);
    auto *below = new QVBoxLayout(row); // the card is half a page wide: too narrow for words beside the button
    below->setContentsMargins(0, 0, 0, 0);
    below->setSpacing(grid / 2);
    const QKeySequence keys(int(Qt::CTRL) | int(Qt::Key_G), int(Qt::Key_A) + int(m_buttons.all().size()));
    below->addWidget(m_buttons.add(suggestionText(run), run, keys, row));
    QLabel *reason = makeLabel(QString::fromStdString(run.why), "muted", row);
    reason->setWordWrap(true);
    reason->setTextInteractionFlags(Qt::TextSelectableByMouse);
    below->addWidget(reason);
    m_layout->addWidget(row);
}

void VerdictControls::setRuns(const std::vector<core::SuggestedRun> &runs) {
    if (runs == m_runs)
        return;
    m_runs = runs;
    m_buttons.clear();
    clear(*m_layout);
    if (!runs.empty())
        m_layout->addWidget(makeLabel(tr("Missing controls"), "small", this));
    for (std::size_t i = 0; i < std::min(runs.size(), mostOffered); ++i)
        addRow(runs[i]);
    if (runs.size() > mostOffered)
        m_layout->addWidget(
            makeLabel(tr("%1 more are in the exported page").arg(runs.size() - mostOffered), "muted", this));
    m_buttons.refresh();
    setVisible(!runs.empty());
}

} // namespace lockstep::ui

#include "moc_verdict_controls.cpp"
