// SPDX-License-Identifier: MIT
#include "launch/detached_start.h"

#include <nlohmann/json.hpp>

#include "base/command_prefix.h"
#include "ipc/documents.h"

namespace lockstep::core {

DetachedStart::DetachedStart(QObject *parent) : QObject(parent) {
    connect(&m_process, &QProcess::finished, this, &DetachedStart::over);
    connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            Q_EMIT failed(Error::failed("lockstepctl can't be started: " + m_process.errorString().toStdString(),
                                        "build it with ./run, or set LOCKSTEP_CTL"));
    });
}

void DetachedStart::start(const StartRequest &request) {
    QStringList arguments = {QStringLiteral("run"), QStringLiteral("-"), QStringLiteral("--detach"),
                             QStringLiteral("--json")};
    if (request.quick)
        arguments << QStringLiteral("--quick");
    if (request.repeats)
        arguments << QStringLiteral("--repeats") << QString::number(*request.repeats);
    if (request.orderSeed)
        arguments << QStringLiteral("--order-seed") << QString::number(*request.orderSeed);
    if (request.sideBySide > 1)
        arguments << QStringLiteral("--side-by-side") << QString::number(request.sideBySide);
    if (!request.host.empty())
        arguments << QStringLiteral("--host=") + QString::fromStdString(request.host);
    if (!request.queueOn.empty())
        arguments << QStringLiteral("--queue-on=") + QString::fromStdString(request.queueOn);
    if (!request.remoteAgent.empty())
        arguments << QStringLiteral("--remote-agent=") + QString::fromStdString(request.remoteAgent);
    run(arguments, QByteArray::fromStdString(toJson(request.recipe)));
}

void DetachedStart::resumeQueue(const std::string &experimentId) {
    run({QStringLiteral("run"), QStringLiteral("--experiment"), QString::fromStdString(experimentId),
         QStringLiteral("--detach"), QStringLiteral("--json")},
        {});
}

void DetachedStart::run(const QStringList &arguments, const QByteArray &input) {
    const Result<std::string> ctl = findCtl();
    if (!ctl) {
        QTimer::singleShot(0, this, [this, error = ctl.error()] { Q_EMIT failed(error); });
        return;
    }
    m_process.start(QString::fromStdString(*ctl), arguments);
    m_process.write(input);
    m_process.closeWriteChannel();
}

void DetachedStart::over() {
    const QByteArray out = m_process.readAllStandardOutput();
    const auto json = documents::objectOrNull({out.constData(), std::size_t(out.size())});
    if (const auto id = documents::optionalIn<std::string>(json, "experiment"); id && m_process.exitCode() == 0) {
        Q_EMIT started(QString::fromStdString(*id));
        return;
    }
    const QString said = QString::fromUtf8(m_process.readAllStandardError()).trimmed();
    Q_EMIT failed(Error{said.isEmpty() ? "lockstepctl ended with exit code " + std::to_string(m_process.exitCode())
                                       : said.toStdString(),
                        {},
                        m_process.exitCode() == 2 ? ErrorKind::BadArgument : ErrorKind::Failed,
                        {}});
}

} // namespace lockstep::core

#include "moc_detached_start.cpp"
