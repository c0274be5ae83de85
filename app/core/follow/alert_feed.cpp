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
    return raised.others > 0 ? QStringLiteral("%1 (and %2 more of this kind)").arg(message).arg(raised.others)
                             : message;
}

AlertFeed::AlertFeed(QObject *parent, std::chrono::milliseconds quiet) : QObject(parent), m_quiet(quiet) {}

void AlertFeed::watch(RunStore *store) {
    if (!m_watched.try_emplace(store).second)
        return;
    connect(store, &QObject::destroyed, this, [this, store] { m_watched.erase(store); });
    connect(store, &RunStore::changed, this, [this, store](RunStore::Changes what) {
        // What comes together with the change to a live link was read from the log.
        const bool live = store->lifecycle().link() == LinkState::Live && !(what & RunStore::Link);
        read(store, live);
    });
    read(store, false);
}

void AlertFeed::readAll() {
    for (auto &[store, watched] : m_watched)
        read(store, store->lifecycle().link() == LinkState::Live);
}

void AlertFeed::read(RunStore *store, bool live) {
    Watched &watched = m_watched.at(store);
    const std::vector<AlertLine> &all = store->messages().alerts();
    for (; watched.read < all.size(); ++watched.read)
        if (const AlertLine &line = all[watched.read]; (live || isRecent(line)) && line.alert.severity != "info")
            take(store, line.alert);
    if (store->over())
        raiseWaiting(store);
}

void AlertFeed::take(RunStore *store, const AlertFrame &alert) {
    const auto [kind, first] = m_watched.at(store).quiet.try_emplace(groupOf(alert));
    if (!first) {
        kind->second.waiting = alert;
        ++kind->second.count;
        return;
    }
    raise(store, alert, 0);
}

/// What comes in the time that follows waits.
void AlertFeed::raise(RunStore *store, const AlertFrame &alert, int others) {
    QTimer::singleShot(m_quiet, this, [this, store, kind = groupOf(alert)] { quietIsOver(store, kind); });
    Q_EMIT raised({store->runId(), store->identity().title(), alert, others});
}

void AlertFeed::quietIsOver(RunStore *store, const std::string &kind) {
    const auto watched = m_watched.find(store);
    if (watched == m_watched.end())
        return;
    const auto own = watched->second.quiet.find(kind);
    if (own == watched->second.quiet.end())
        return;
    if (!own->second.waiting)
        watched->second.quiet.erase(own);
    else
        raiseWaiting(store, own->second);
}

void AlertFeed::raiseWaiting(RunStore *store, OfKind &kind) {
    const AlertFrame newest = *kind.waiting;
    const int others = kind.count - 1;
    kind = {};
    raise(store, newest, others);
}

void AlertFeed::raiseWaiting(RunStore *store) {
    for (auto &[name, kind] : m_watched.at(store).quiet)
        if (kind.waiting)
            raiseWaiting(store, kind);
}

} // namespace lockstep::core

#include "moc_alert_feed.cpp"
