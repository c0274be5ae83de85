// SPDX-License-Identifier: MIT
#include "follow/alert_feed.h"

#include <cstdlib>

#include <QTimer>

#include "ipc/alerts.h"
#include "ipc/clock.h"
#include "store/run_store.h"

namespace lockstep::core {
namespace {

/// An alert of a log that is read again is news if it was raised so short a time ago, whichever clock is ahead.
constexpr std::int64_t stillNewUs = 60'000'000;

bool isRecent(const AlertLine &line) {
    return std::abs(SystemClock().wallUs() - line.wallUs) <= stillNewUs;
}

/// Kinds that a script invents count as one, since there may be any number of them.
std::string groupOf(const AlertFrame &alert) {
    return findAlert(alert.kind) ? alert.kind : std::string();
}

} // namespace

QString sentenceOf(const RaisedAlert &raised) {
    const QString message = QString::fromStdString(raised.alert.message);
    return raised.others > 0
               ? QStringLiteral("%1 (and %2 more of this kind)").arg(message, QString::number(raised.others))
               : message;
}

AlertFeed::AlertFeed(QObject *parent, std::chrono::milliseconds quiet) : QObject(parent), m_quiet(quiet) {}

void AlertFeed::watch(RunStore *store) {
    if (!m_read.try_emplace(store).second)
        return;
    connect(store, &QObject::destroyed, this, [this, store] { m_read.erase(store); });
    connect(store, &RunStore::changed, this, [this, store](RunStore::Changes what) {
        // What comes together with the change to a live link was read from the log.
        const bool live = store->lifecycle().link() == LinkState::Live && !(what & RunStore::Link);
        read(store, live);
    });
    read(store, false);
}

void AlertFeed::readAll() {
    for (const auto &[store, taken] : m_read)
        read(store, store->lifecycle().link() == LinkState::Live);
}

void AlertFeed::read(RunStore *store, bool live) {
    std::uint64_t &taken = m_read.at(store);
    for (const AlertLine &line : store->messages().alertsAfter(taken)) {
        taken = line.number;
        if ((live || isRecent(line)) && line.alert.severity != "info")
            take({store->runId(), store->identity().title(), line.alert, 0});
    }
}

void AlertFeed::take(const RaisedAlert &alert) {
    const auto [kind, first] = m_kinds.try_emplace(groupOf(alert.alert));
    if (!first) {
        kind->second.waiting = alert;
        ++kind->second.count;
        return;
    }
    raise(alert);
}

/// What comes in the time that follows waits.
void AlertFeed::raise(const RaisedAlert &alert) {
    QTimer::singleShot(m_quiet, this, [this, kind = groupOf(alert.alert)] { quietIsOver(kind); });
    Q_EMIT raised(alert);
}

void AlertFeed::quietIsOver(const std::string &kind) {
    const auto own = m_kinds.find(kind);
    if (own == m_kinds.end())
        return;
    if (!own->second.waiting)
        m_kinds.erase(own);
    else
        raiseWaiting(own->second);
}

void AlertFeed::raiseWaiting(OfKind &kind) {
    RaisedAlert newest = *kind.waiting;
    newest.others = kind.count - 1;
    kind = {};
    raise(newest);
}

void AlertFeed::raiseWaiting() {
    for (auto &[name, kind] : m_kinds)
        if (kind.waiting)
            raiseWaiting(kind);
}

} // namespace lockstep::core

#include "moc_alert_feed.cpp"
