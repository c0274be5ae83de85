// SPDX-License-Identifier: MIT
#include "app/ui/shell/desktop_notifier.h"

#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>
#include <QFile>
#include <QGuiApplication>

#include "ipc/alerts.h"

namespace lockstep::ui {
namespace {

const QString service = QStringLiteral("org.freedesktop.Notifications"),
              path = QStringLiteral("/org/freedesktop/Notifications");
constexpr uchar normal = 1, critical = 2; ///< levels of urgency of the specification

/// Else D-Bus would start a bus of its own, on which nobody shows anything.
bool hasDesktopBus() {
    return qEnvironmentVariableIsSet("DBUS_SESSION_BUS_ADDRESS") ||
           QFile::exists(qEnvironmentVariable("XDG_RUNTIME_DIR") + QStringLiteral("/bus"));
}

/// The body may hold markup, which a rank's own words must not be.
QString bodyOf(const core::RaisedAlert &raised) {
    const QString advice = QString::fromStdString(adviceFor(raised.alert.kind)).remove(u'`');
    QString text = sentenceOf(raised);
    if (!advice.isEmpty())
        text += u'\n' + advice;
    return text.toHtmlEscaped();
}

} // namespace

DesktopNotifier::DesktopNotifier(core::RunSet &runs, QObject *parent) : QObject(parent), m_runs(runs) {
    connect(&m_runs, &core::RunSet::reset, this, &DesktopNotifier::watchRuns);
    connect(&m_feed, &core::AlertFeed::raised, this, [this](const core::RaisedAlert &raised) {
        if (m_enabled && QGuiApplication::applicationState() != Qt::ApplicationActive)
            show(raised);
    });
    watchRuns();
}

void DesktopNotifier::watchRuns() {
    for (core::RunStore *store : m_runs.stores())
        m_feed.watch(store);
}

/// At the first alert, so that a window without any asks for no bus.
bool DesktopNotifier::listen() {
    if (m_listens || !hasDesktopBus())
        return m_listens;
    QDBusConnection bus = QDBusConnection::sessionBus();
    m_listens =
        bus.isConnected() &&
        bus.connect(service, path, service, QStringLiteral("ActionInvoked"), this, SLOT(onAction(uint, QString))) &&
        bus.connect(service, path, service, QStringLiteral("NotificationClosed"), this, SLOT(onClosed(uint, uint)));
    return m_listens;
}

void DesktopNotifier::show(const core::RaisedAlert &raised) {
    if (!listen())
        return;
    QDBusConnection bus = QDBusConnection::sessionBus();
    QDBusMessage call = QDBusMessage::createMethodCall(service, path, service, QStringLiteral("Notify"));
    const bool error = raised.alert.severity == "error";
    const QVariantMap hints{{QStringLiteral("urgency"), QVariant::fromValue(error ? critical : normal)},
                            {QStringLiteral("desktop-entry"), QStringLiteral("lockstep")}};
    const QStringList actions{QStringLiteral("default"), tr("Show")};
    call << QStringLiteral("Lockstep") << uint(0) << QStringLiteral("lockstep") << raised.title << bodyOf(raised)
         << actions << hints << -1;
    auto *watcher = new QDBusPendingCallWatcher(bus.asyncCall(call), this);
    connect(watcher, &QDBusPendingCallWatcher::finished, this, [this, watcher, run = raised.run] {
        if (const QDBusPendingReply<uint> reply = *watcher; !reply.isError())
            m_shown[reply.value()] = run;
        watcher->deleteLater();
    });
}

void DesktopNotifier::onAction(uint notification, const QString &action) {
    if (const auto shown = m_shown.find(notification); shown != m_shown.end() && action == QLatin1String("default"))
        Q_EMIT chosen(shown->second);
}

void DesktopNotifier::onClosed(uint notification, uint) {
    m_shown.erase(notification);
}

} // namespace lockstep::ui

#include "moc_desktop_notifier.cpp"
