// SPDX-License-Identifier: MIT
#include "launch/agent_launcher.h"

#include <nlohmann/json.hpp>
#include <QFileInfo>

#include "base/command_request.h"
#include "base/last_line.h"
#include "ipc/documents.h"

namespace lockstep::core {
namespace {

constexpr int startLimitMs = 30'000; // includes ssh, a cold disk and LibTorch's start-up
constexpr int endLimitMs = 6000;
constexpr int largestAnswer = 64 * 1024;

} // namespace

AgentLauncher::AgentLauncher(QObject *parent) : QObject(parent) {
    m_limit.setSingleShot(true);
    connect(&m_limit, &QTimer::timeout, this, [this] {
        m_process.kill();
        finish(Error::failed("lockstep-agent did not answer within 30 s", "check that machine, then start again"), 1);
    });
    connect(&m_process, &QProcess::readyReadStandardOutput, this, &AgentLauncher::readAnswer);
    connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            finish(Error::badArgument(m_process.program().toStdString() +
                                          " can't be started: " + m_process.errorString().toStdString(),
                                      "build it with ./run, or set LOCKSTEP_AGENT"),
                   2);
    });
    connect(&m_process, &QProcess::finished, this, [this](int code, QProcess::ExitStatus) {
        readAnswer();
        if (m_ready && m_attended)
            Q_EMIT ended(code, lastLine(endOfStderr(m_process)));
        if (m_over)
            return;
        const std::string said = lastLine(endOfStderr(m_process)).toStdString();
        const std::string who = m_host.isEmpty() ? "lockstep-agent" : m_host.toStdString();
        if (code == 255 && !m_host.isEmpty())
            finish(Error::badArgument(who + " can't be reached: " + said, "try: ssh " + who + " true"), linkFailed);
        else if (code == 127 && !m_host.isEmpty())
            finish(
                Error::badArgument(who + " has no lockstep-agent: " + said, "give its path with --remote-agent PATH"),
                2);
        else
            finish(Error::failed(who + " ended without an answer: " +
                                 (said.empty() ? "exit code " + std::to_string(code) : said)),
                   code == 2 ? 2 : 1);
    });
}

AgentLauncher::~AgentLauncher() {
    m_process.disconnect(this);
    if (!m_attended || m_process.state() == QProcess::NotRunning)
        return;
    m_process.closeWriteChannel(); // the agent ends its ranks and removes its folder
    if (!m_process.waitForFinished(endLimitMs))
        m_process.kill();
    m_process.waitForFinished(500);
}

void AgentLauncher::start(const CommandPrefix &prefix, const LaunchRequest &request) {
    CommandPrefix resolved = prefix;
    m_host = QString::fromStdString(prefix.host);
    if (prefix.local() && prefix.agent == CommandPrefix().agent) {
        const Result<std::string> found = findAgent();
        if (!found)
            return finish(found.error(), 2);
        resolved.agent = *found;
    }
    if (prefix.local() && resolved.agent.find('/') != std::string::npos) // it may be started in another folder
        resolved.agent = QFileInfo(QString::fromStdString(resolved.agent)).absoluteFilePath().toStdString();
    LaunchRequest sent = request;
    if (!prefix.local())
        sent.record.folder.clear(); // it is one of this machine
    else if (const auto there = startIn(sent.record.folder); !there)
        return finish(there.error(), 2);
    QStringList words;
    for (const std::string &word : agentCommand(resolved, {"serve"}))
        words << QString::fromStdString(word);
    m_limit.start(startLimitMs);
    m_asked = request.record.run;
    boundOutput(m_process, mostAnswerBytes);
    m_process.start(words.takeFirst(), words);
    m_process.write(QByteArray::fromStdString(toJson(sent)) + '\n');
    m_attended = request.attended;
    if (!m_attended)
        m_process.closeWriteChannel(); // closing an attended agent's stdin would end its run
}

Result<void> AgentLauncher::startIn(const std::string &folder) {
    if (folder.empty())
        return {};
    const QFileInfo there(QString::fromStdString(folder));
    if (!there.isDir() || !there.isExecutable())
        return fail(Error::badArgument("the folder " + folder +
                                           ", in which the experiment's runs are started, is gone or can't be entered",
                                       "put it back and retry, or run the recipe from another folder"));
    m_process.setWorkingDirectory(there.filePath());
    if (qEnvironmentVariableIsSet("LOCKSTEP_HOME")) // it may be relative to this process's folder
        m_process.setProcessEnvironment(environmentWith({{"LOCKSTEP_HOME", dataHome()}}));
    return {};
}

void AgentLauncher::stop() {
    m_process.closeWriteChannel();
}

void AgentLauncher::readAnswer() {
    m_answer += m_process.readAllStandardOutput();
    if (m_ready && m_attended)
        return readLines();
    if (m_over)
        return m_answer.clear(); // nothing more is expected
    const auto end = m_answer.indexOf('\n');
    if (end < 0 && m_answer.size() < largestAnswer)
        return;
    const auto json = documents::objectOrNull({m_answer.constData(), std::size_t(std::max<qsizetype>(end, 0))});
    const auto text = [&](const char *key) { return documents::valueIn(json, key, ""); };
    if (!json.is_object())
        return finish(Error::failed("lockstep-agent's answer is not one line of JSON"), 1);
    const int code = documents::valueIn(json, "exit_code", 1);
    if (text("type") == "error")
        return finish(Error{text("message"), {}, code == 2 ? ErrorKind::BadArgument : ErrorKind::Failed, {}}, code);
    if (text("type") != "ready" || !isRunId(text("run")))
        return finish(Error::failed("lockstep-agent's answer is not valid", "update it to this version"), 1);
    if (!m_asked.empty() && text("run") != m_asked) // it may be any run here, with a record of its own
        return finish(Error::failed("lockstep-agent was asked for run " + m_asked + ", and answers for " + text("run")),
                      1);
    m_over = m_ready = true;
    m_limit.stop();
    m_answer.remove(0, end + 1);
    m_join = text("join");
    m_token = text("token");
    const qint64 pid = documents::valueIn(json, "pid", qint64{0});
    Q_EMIT ready(QString::fromStdString(text("run")), QString::fromStdString(text("socket")), pid);
    if (m_attended)
        readLines();
}

void AgentLauncher::readLines() {
    for (qsizetype end = m_answer.indexOf('\n'); end >= 0; end = m_answer.indexOf('\n')) {
        const QByteArray line = m_answer.left(end);
        m_answer.remove(0, end + 1);
        Q_EMIT said(line);
    }
    if (m_answer.size() > mostAnswerBytes)
        m_process.kill();
}

void AgentLauncher::finish(const Error &error, int exitCode) {
    if (m_over)
        return;
    m_over = true;
    m_limit.stop();
    Q_EMIT failed(error, exitCode);
}

} // namespace lockstep::core

#include "moc_agent_launcher.cpp"
