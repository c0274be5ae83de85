// SPDX-License-Identifier: MIT
#include "app/ui/shell/connect_banner.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"

namespace lockstep::ui {

ConnectBanner::ConnectBanner(Workspace &workspace, QWidget *parent) : QFrame(parent), m_workspace(workspace) {
    setObjectName(QStringLiteral("banner"));
    auto *line = new QHBoxLayout(this);
    line->setContentsMargins(2 * grid, grid / 2, 2 * grid, grid / 2);
    m_words = new QLabel(this); // wrapped, never elided: the whole path is the question
    m_words->setWordWrap(true);
    m_words->setTextFormat(Qt::PlainText);
    line->addWidget(m_words, 1);
    auto *button = new QPushButton(tr("Connect"), this);
    button->setProperty("verb", tr("Connect, and trust the program"));
    button->setShortcut(QKeySequence(Qt::ALT | Qt::Key_K));
    button->setToolTip(tr("Trust this program on this machine, now and later (Alt+K)"));
    line->addWidget(button);
    connect(button, &QPushButton::clicked, this, [this] {
        if (auto connected = m_workspace.connectToPlaces(); !connected)
            Q_EMIT failed(QString::fromStdString(connected.error().message()));
    });
    connect(&m_workspace, &Workspace::opened, this, &ConnectBanner::refresh);
    refresh();
}

QString ConnectBanner::text() const {
    return m_words->text();
}

void ConnectBanner::refresh() {
    const QString question = m_workspace.placeQuestion();
    m_words->setText(question);
    setVisible(!question.isEmpty());
}

} // namespace lockstep::ui

#include "moc_connect_banner.cpp"
