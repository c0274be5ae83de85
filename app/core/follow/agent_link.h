// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <QLocalSocket>
#include <QObject>
#include <QProcess>

#include "ipc/error.h"
#include "ipc/line_framer.h"

namespace lockstep::core {

/// A connection that carries lines to and from a run's agent: its local socket, or a command such as
/// `ssh HOST lockstep-agent attach`. One connection at a time; a new one may be opened after closed().
class AgentLink : public QObject {
    Q_OBJECT
public:
    /// `take` is called with each line that comes, without its newline.
    explicit AgentLink(std::function<void(std::string_view)> take, QObject *parent = nullptr);
    ~AgentLink() override; ///< cuts the connection without waiting

    void connectToSocket(const QString &path);                ///< connected() or closed() follows
    void runCommand(const std::vector<std::string> &command); ///< likewise
    [[nodiscard]] bool open() const { return device() != nullptr; }
    /// Adds the newline. The error is the system's message.
    [[nodiscard]] Result<void> send(const std::string &line);

Q_SIGNALS:
    void connected();
    void taken(); ///< all lines received so far were passed on
    /// Not connected, or no longer. For a command: the last line of its stderr and its exit code, 127 if it could not start.
    void closed(const QString &said, int code);

private:
    void read();
    void close();
    [[nodiscard]] QIODevice *device() const;

    std::function<void(std::string_view)> m_take;
    std::unique_ptr<LineFramer> m_framer;
    std::unique_ptr<QLocalSocket> m_socket;
    std::unique_ptr<QProcess> m_process;
    bool m_answered = false;
};

} // namespace lockstep::core
