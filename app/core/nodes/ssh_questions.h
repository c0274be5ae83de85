// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <string>

#include <QObject>
#include <QSocketNotifier>

#include "ipc/error.h"
#include "ipc/unix_socket.h"

namespace lockstep::core {

/// A question of ssh's to a person, parsed from its prompt.
struct SshQuestion {
    enum class Kind { HostKey, Passphrase, Password, Other };
    Kind kind = Kind::Other;
    std::string prompt;      ///< ssh's own text
    std::string host;        ///< HostKey, Password: as ssh names it
    std::string fingerprint; ///< HostKey: "SHA256:…"
    std::string keyType;     ///< HostKey: "ED25519"
    std::string keyFile;     ///< Passphrase
    [[nodiscard]] bool secret() const { return kind == Kind::Passphrase || kind == Kind::Password; }
};
[[nodiscard]] SshQuestion sshQuestion(std::string_view prompt);

/// Who answers ssh's questions. ssh starts lockstepctl as its SSH_ASKPASS, which asks there. Nobody: ssh runs in batch
/// mode.
struct SshAnswers {
    enum class Who { Nobody, Terminal, Socket };
    Who who = Who::Nobody;
    std::string socket; ///< of an SshQuestionServer
    /// ssh's environment: SSH_ASKPASS and what it needs. Empty for Nobody.
    [[nodiscard]] Result<std::map<std::string, std::string>> environment() const;
};

/// Passes ssh's questions to a window: one JSON line {"prompt":…} arrives on a local socket that only this user can
/// open, and {"answer":…} goes back; a closed connection is a refusal. Lives on the event loop.
class SshQuestionServer : public QObject {
    Q_OBJECT
public:
    explicit SshQuestionServer(QObject *parent = nullptr);
    ~SshQuestionServer() override;
    [[nodiscard]] Result<SshAnswers> start();
    void answer(int id, const QString &text); ///< "yes" accepts a host key
    void refuse(int id);

Q_SIGNALS:
    void asked(int id, const lockstep::core::SshQuestion &question);
    void withdrawn(int id); ///< ssh no longer waits

private:
    void take();
    void read(int id);
    struct Asking {
        Fd fd;
        std::string text;
        bool announced = false;
        std::unique_ptr<QSocketNotifier> notifier;
    };
    std::unique_ptr<UnixListener> m_listener;
    std::unique_ptr<QSocketNotifier> m_notifier;
    std::map<int, Asking> m_asking;
    int m_nextId = 1;
};

/// What lockstepctl does as SSH_ASKPASS: asks the socket that LOCKSTEP_ASKPASS names, or the terminal, and prints the
/// answer. The exit code: 0 answered, 1 refused or nobody to ask.
[[nodiscard]] int askForSsh(const std::string &prompt);

} // namespace lockstep::core
