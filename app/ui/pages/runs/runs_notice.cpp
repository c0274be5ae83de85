// SPDX-License-Identifier: MIT
#include "app/ui/pages/runs/runs_notice.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"

namespace lockstep::ui {

RunsNotice::RunsNotice(const Theme &theme, QWidget *parent) : QFrame(parent), m_theme(theme) {
    setObjectName(QStringLiteral("notice"));
    auto *line = new QHBoxLayout(this);
    line->setContentsMargins(grid, grid / 2, grid / 2, grid / 2);
    m_text = makeLabel({}, "secondary", this);
    m_text->setWordWrap(true);
    m_button = new QPushButton(tr("Undo"), this);
    m_button->setShortcut(QKeySequence(Qt::ALT | Qt::Key_Z));
    m_button->setToolTip(tr("Undoes it (Ctrl+Z, Alt+Z)"));
    connect(m_button, &QPushButton::clicked, this,
            [this] { m_offer == Offer::Redo ? Q_EMIT redoWanted() : Q_EMIT undoWanted(); });
    auto *close = new QPushButton(tr("Close"), this);
    close->setProperty("verb", tr("Close the notice"));
    close->setShortcut(QKeySequence(Qt::ALT | Qt::Key_X));
    close->setToolTip(tr("Closes this line (Alt+X)"));
    connect(close, &QPushButton::clicked, this, &QWidget::hide);
    line->addWidget(m_text, 1);
    line->addWidget(m_button);
    line->addWidget(close);
    hide();
    connect(&m_theme, &Theme::changed, this, &RunsNotice::restyle);
    restyle();
}

void RunsNotice::say(const QString &sentence, Offer offer) {
    m_offer = offer;
    m_text->setText(sentence);
    setWords(m_button, offer == Offer::Redo ? tr("Redo") : tr("Undo"));
    m_button->setToolTip(offer == Offer::Redo ? tr("Redoes it (Ctrl+Shift+Z, Alt+Z)")
                                              : tr("Undoes it (Ctrl+Z, Alt+Z)"));
    m_button->setVisible(offer != Offer::None);
    show();
}

void RunsNotice::restyle() {
    m_theme.setIcon(m_button, QStringLiteral("undo"), m_theme.palette().textSecondary);
}

} // namespace lockstep::ui

#include "moc_runs_notice.cpp"
