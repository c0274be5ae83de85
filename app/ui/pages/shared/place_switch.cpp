// SPDX-License-Identifier: MIT
#include "app/ui/pages/shared/place_switch.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QPushButton>

#include "app/ui/theme/theme.h"

namespace lockstep::ui {

PlaceSwitch::PlaceSwitch(QWidget *parent) : QWidget(parent) {
    auto *both = new QHBoxLayout(this);
    both->setContentsMargins(0, 0, 0, 0);
    both->setSpacing(0);
    auto *group = new QButtonGroup(this);
    const auto add = [&](const QString &words, const char *place, const QKeySequence &keys, const QString &tip) {
        auto *button = new QPushButton(words, this);
        button->setObjectName(QStringLiteral("segment"));
        button->setProperty("place", QString::fromLatin1(place));
        button->setCheckable(true);
        button->setShortcut(keys);
        button->setToolTip(tip);
        group->addButton(button);
        both->addWidget(button, 1);
        return button;
    };
    m_here = add(tr("This machine"), "left", QKeySequence(Qt::ALT | Qt::Key_M), tr("Devices of this machine (Alt+M)"));
    m_nodes = add(tr("Nodes"), "right", QKeySequence(Qt::ALT | Qt::Key_E),
                  tr("Devices of the added nodes, several at once (Alt+E)"));
    m_here->setChecked(true);
    setMaximumWidth(64 * grid);
    connect(m_here, &QPushButton::clicked, this, [this] { Q_EMIT chosen(false); });
    connect(m_nodes, &QPushButton::clicked, this, [this] { Q_EMIT chosen(true); });
}

void PlaceSwitch::setOverNodes(bool on) {
    (on ? m_nodes : m_here)->setChecked(true);
}

bool PlaceSwitch::overNodes() const {
    return m_nodes->isChecked();
}

} // namespace lockstep::ui

#include "moc_place_switch.cpp"
