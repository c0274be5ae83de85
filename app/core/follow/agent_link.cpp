// SPDX-License-Identifier: MIT
#include "follow/agent_link.h"

#include "base/command_request.h"
#include "base/last_line.h"

namespace lockstep::core {

AgentLink::AgentLink(std::function<void(std::string_view)> take, QObject *parent)
    : QObject(parent), m_take(std::move(take)) {}

AgentLink::~AgentLink() {
    if (m_socket)
        m_socket->disconnect(this);
    endWithoutWaiting(std::move(m_process));
}

QIODevice *AgentLink::device() const {
    return m_socket ? static_cast<QIODevice *>(m_socket.get()) : m_process.get();
}

void AgentLink::connectToSocket(const QString &path) {
    m_framer = std::make_unique<LineFramer>();
    m_answered = false;
    m_socket = std::make_unique<QLocalSocket>();
    connect(m_socket.get(), &QLocalSocket::connected, this, &AgentLink::connected);
    connect(m_socket.get(), &QLocalSocket::readyRead, this, &AgentLink::read);
    connect(m_socket.get(), &QLocalSocket::disconnected, this, &AgentLink::close);
    connect(m_socket.get(), &QLocalSocket::errorOccurred, this, [this](QLocalSocket::LocalSocketError error) {
        if (error != QLocalSocket::PeerClosedError && !m_answered)
            close();
    });
    m_socket->connectToServer(path);
}

void AgentLink::runCommand(const std::vector<std::string> &command) {
    QStringList words;
    for (const std::string &word : command)
        words << QString::fromStdString(word);
    m_framer = std::make_unique<LineFramer>();
    m_answered = false;
    m_process = std::make_unique<QProcess>();
    endWithUs(*m_process, true); // Ctrl-C must not end ssh: the link still has to carry the stop
    boundOutput(*m_process, qint64(maxFrameBytes) * 1024); // read as it comes
    connect(m_process.get(), &QProcess::readyReadStandardOutput, this, &AgentLink::read);
    connect(m_process.get(), &QProcess::finished, this, &AgentLink::close);
    connect(m_process.get(), &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            close();
    });
    m_process->start(words.takeFirst(), words);
    if (m_process)
        Q_EMIT connected();
}

Result<void> AgentLink::send(const std::string &line) {
    const QByteArray bytes = QByteArray::fromStdString(line) + '\n';
    if (!device() || device()->write(bytes) != bytes.size())
        return fail(Error::failed(device() ? device()->errorString().toStdString() : "the link is down"));
    return {};
}

void AgentLink::read() {
    if (!device() || !device()->isOpen()) // a socket that nobody answered
        return;
    const QByteArray bytes = device()->readAll();
    const Result<void> fed =
        m_framer->feed({bytes.constData(), std::size_t(bytes.size())}, [this](std::string_view line) {
            m_answered = true;
            m_take(line);
        });
    Q_EMIT taken();
    if (!fed && device()) // no longer our protocol: cut the connection, so that a new one can begin
        m_socket ? m_socket->abort() : m_process->kill();
}

void AgentLink::close() {
    if (!device())
        return;
    read(); // what came with the end
    QString said;
    int code = 0;
    if (m_process) {
        said = lastLine(endOfStderr(*m_process));
        code = m_process->error() == QProcess::FailedToStart ? 127 : m_process->exitCode();
        m_process.release()->deleteLater();
    }
    if (m_socket)
        m_socket.release()->deleteLater();
    Q_EMIT closed(said, code);
}

} // namespace lockstep::core

#include "moc_agent_link.cpp"
