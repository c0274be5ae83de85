// SPDX-License-Identifier: MIT
#include "queue/alert_command.h"

#include <QProcess>

#include "ipc/alerts.h"
#include "ipc/logging.h"

namespace lockstep::core {
namespace {

constexpr int longestText = 4000; ///< a program's environment is limited

} // namespace

void setAlertCommand(const std::string &command) {
    if (!command.empty())
        qputenv(alertCommandVariable, QByteArray::fromStdString(command));
}

QString alertCommand() {
    return qEnvironmentVariable(alertCommandVariable);
}

Result<void> startAlertCommand(const QString &command, const RaisedAlert &raised) {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    const auto set = [&](const char *name, QString value) {
        environment.insert(QString::fromLatin1(name), value.remove(QChar(u'\0')).left(longestText));
    };
    set("LOCKSTEP_ALERT", sentenceOf(raised));
    set("LOCKSTEP_ALERT_KIND", QString::fromStdString(raised.alert.kind));
    set("LOCKSTEP_ALERT_SEVERITY", QString::fromStdString(raised.alert.severity));
    set("LOCKSTEP_ALERT_RUN", raised.run);
    set("LOCKSTEP_ALERT_TITLE", raised.title);
    set("LOCKSTEP_ALERT_ADVICE", QString::fromStdString(adviceFor(raised.alert.kind)));
    QProcess process;
    process.setProgram(QStringLiteral("/bin/sh"));
    process.setArguments({QStringLiteral("-c"), command});
    process.setProcessEnvironment(environment);
    process.setStandardInputFile(QProcess::nullDevice());
    process.setStandardOutputFile(QProcess::nullDevice()); // what it says of errors stands beside the owner's own
    if (!process.startDetached())
        return fail(Error::failed("the command for alerts can't be started: " + process.errorString().toStdString()));
    return {};
}

AlertFeed *feedOfAlertCommand(const QString &command, QObject *parent) {
    auto *feed = new AlertFeed(parent);
    QObject::connect(feed, &AlertFeed::raised, feed, [command](const RaisedAlert &raised) {
        if (const auto started = startAlertCommand(command, raised); !started)
            logWarning(started.error().message());
    });
    return feed;
}

} // namespace lockstep::core
