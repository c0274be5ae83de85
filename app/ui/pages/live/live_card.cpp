// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/live_card.h"

#include <QComboBox>
#include <QSettings>

#include <utility>

#include "app/ui/pages/live/live_setting.h"

namespace lockstep::ui {

LiveCard::LiveCard(const QString &title, const ShownRuns &shown, Changes watched, QWidget *parent,
                   std::chrono::milliseconds pause)
    : Card(title, parent), m_shown(shown), m_watched(watched) {
    m_rest.setSingleShot(true);
    m_rest.setInterval(pause);
    connect(&m_rest, &QTimer::timeout, this, [this] {
        if (m_waiting)
            Q_EMIT refreshWanted(std::exchange(m_waiting, {}));
    });
}

void LiveCard::refresh(Changes what) {
    const bool everything = what == Changes(core::RunStore::All);
    what &= m_watched;
    if (!what)
        return;
    if (m_rest.isActive() && !everything) {
        m_waiting |= what;
        return;
    }
    m_waiting = {};
    draw(what);
    if (m_rest.interval() > 0)
        m_rest.start();
}

QComboBox *LiveCard::addChoice(const char *key, const QStringList &items, const QString &hint) {
    auto *box = new QComboBox(this);
    box->addItems(items);
    box->setToolTip(hint);
    box->setAccessibleName(hint);
    box->setFixedHeight(28);
    addTool(box);
    m_choices.push_back({liveSetting(key), box});
    return box;
}

void LiveCard::saveChoices(QSettings &settings) const {
    for (const Choice &choice : m_choices)
        settings.setValue(choice.key, choice.box->currentIndex());
}

void LiveCard::restoreChoices(const QSettings &settings) {
    for (const Choice &choice : m_choices) {
        const int index = settings.value(choice.key, 0).toInt();
        choice.box->setCurrentIndex(index >= 0 && index < choice.box->count() ? index : 0);
    }
}

void LiveCard::resetChoices() {
    for (const Choice &choice : m_choices)
        choice.box->setCurrentIndex(0);
}

} // namespace lockstep::ui

#include "moc_live_card.cpp"
