// SPDX-License-Identifier: MIT
#include "base/command_request.h"

#include <csignal>
#include <sys/prctl.h>
#include <unistd.h>
#include <utility>

#include <QCoreApplication>
#include <QVariant>

namespace lockstep::core {
namespace {

constexpr int killAfterMs = 1000;
constexpr const char *stderrProperty = "endOfStderr";

} // namespace

void endWithUs(QProcess &process, bool ownGroup) {
    process.setChildProcessModifier([ownGroup] {
        if (ownGroup)
            ::setpgid(0, 0);
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    });
}

void boundOutput(QProcess &process, qint64 mostUnread) {
    QObject::connect(&process, &QProcess::readyReadStandardOutput, &process, [&process, mostUnread] {
        if (process.bytesAvailable() > mostUnread)
            process.kill();
    });
    QObject::connect(&process, &QProcess::readyReadStandardError, &process,
                     [&process] { process.setProperty(stderrProperty, endOfStderr(process)); });
}

QByteArray endOfStderr(QProcess &process) {
    constexpr int kept = 16 << 10;
    return (process.property(stderrProperty).toByteArray() + process.readAllStandardError()).right(kept);
}

CommandRequest::CommandRequest(const std::vector<std::string> &words, const std::string &input,
                               std::chrono::milliseconds limit, Judge judge)
    : m_process(std::make_unique<QProcess>()), m_judge(std::move(judge)) {
    using End = CommandAnswer::End;
    connect(m_process.get(), &QProcess::finished, this, [this] { conclude(End::Exited); });
    connect(m_process.get(), &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            conclude(End::NotStarted);
    });
    connect(&m_limit, &QTimer::timeout, this, [this] { conclude(End::TimedOut); });
    m_limit.setSingleShot(true);
    m_limit.start(limit);
    QStringList list;
    for (const std::string &word : words)
        list << QString::fromStdString(word);
    endWithUs(*m_process);
    boundOutput(*m_process, mostAnswerBytes);
    const QString program = list.takeFirst();
    m_process->start(program, list);
    if (!m_process)
        return; // it could not be started, which was reported already
    if (!input.empty())
        m_process->write(input.data(), qint64(input.size()));
    m_process->closeWriteChannel();
}

CommandRequest::~CommandRequest() {
    endWithoutWaiting(std::move(m_process));
}

void CommandRequest::conclude(CommandAnswer::End end) {
    if (!m_process)
        return;
    m_limit.stop();
    CommandAnswer answer;
    answer.end = end;
    answer.code = m_process->exitStatus() == QProcess::NormalExit ? m_process->exitCode() : CommandAnswer::noLink;
    answer.out = m_process->readAllStandardOutput().toStdString();
    answer.err = endOfStderr(*m_process).toStdString();
    std::unique_ptr<QProcess> process = std::move(m_process);
    if (end == CommandAnswer::End::TimedOut)
        endWithoutWaiting(std::move(process));
    else
        process.release()->deleteLater(); // we are inside its signal
    finish(m_judge(answer));
}

void endWithoutWaiting(std::unique_ptr<QProcess> process) {
    if (!process)
        return;
    process->disconnect();
    process->closeWriteChannel(); // some agents end when stdin closes
    QProcess *ending = process.release();
    ending->setParent(QCoreApplication::instance()); // which kills it at exit if it still runs
    if (ending->state() == QProcess::NotRunning)
        return ending->deleteLater(); // we may be inside its signal
    QObject::connect(ending, &QProcess::finished, ending, &QObject::deleteLater);
    ending->terminate();
    QTimer::singleShot(killAfterMs, ending, [ending] { ending->kill(); });
}

} // namespace lockstep::core

#include "moc_command_request.cpp"
