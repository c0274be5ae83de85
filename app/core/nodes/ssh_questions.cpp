// SPDX-License-Identifier: MIT
#include "nodes/ssh_questions.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <QRegularExpression>

#include "base/command_prefix.h"
#include "ipc/documents.h"
#include "ipc/run_folder.h"
#include "ipc/socket_folder.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t longest = 16 * 1024;

std::string captured(const QString &text, const char *pattern) {
    return QRegularExpression(QString::fromLatin1(pattern)).match(text).captured(1).toStdString();
}

bool sendAll(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t size = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
        if (size <= 0)
            return false;
        text.remove_prefix(std::size_t(size));
    }
    return true;
}

int askSocket(const std::string &path, const std::string &prompt) {
    const auto fd = connectUnix(path, false);
    if (!fd ||
        !sendAll(fd->get(), Json({{"prompt", prompt}}).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"))
        return 1;
    std::string text;
    char buffer[4096];
    while (text.find('\n') == std::string::npos && text.size() < longest) {
        const ssize_t size = ::recv(fd->get(), buffer, sizeof buffer, 0);
        if (size <= 0)
            return 1;
        text.append(buffer, std::size_t(size));
    }
    const Json json = documents::objectOrNull(text.substr(0, text.find('\n')));
    const auto answer = documents::optionalIn<std::string>(json, "answer");
    if (!answer)
        return 1;
    std::printf("%s\n", answer->c_str());
    return std::fflush(stdout) == 0 ? 0 : 1;
}

/// Asks on this process's controlling terminal, whatever its stdin is. Secrets are not echoed.
int askTerminal(const std::string &prompt) {
    const Fd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC));
    if (!terminal.valid()) {
        std::fprintf(stderr, "lockstepctl: ssh asks \"%s\" but there is no terminal to answer on\n", prompt.c_str());
        return 1;
    }
    const bool secret = sshQuestion(prompt).secret();
    termios before{};
    const bool known = ::tcgetattr(terminal.get(), &before) == 0;
    if (known && secret) {
        termios quiet = before;
        quiet.c_lflag &= ~tcflag_t(ECHO);
        ::tcsetattr(terminal.get(), TCSAFLUSH, &quiet);
    }
    std::string text = prompt;
    [[maybe_unused]] ssize_t written = ::write(terminal.get(), text.data(), text.size());
    std::string answer;
    char c = 0;
    bool whole = false;
    while (answer.size() < longest && ::read(terminal.get(), &c, 1) == 1) {
        if (c == '\n') {
            whole = true;
            break;
        }
        answer += c;
    }
    if (known && secret) {
        ::tcsetattr(terminal.get(), TCSAFLUSH, &before);
        written = ::write(terminal.get(), "\n", 1);
    }
    if (!whole)
        return 1;
    std::printf("%s\n", answer.c_str());
    return std::fflush(stdout) == 0 ? 0 : 1;
}

} // namespace

SshQuestion sshQuestion(std::string_view prompt) {
    SshQuestion question;
    question.prompt = prompt;
    const QString text = QString::fromUtf8(prompt.data(), qsizetype(prompt.size()));
    if (text.contains(u"authenticity of host")) {
        question.kind = SshQuestion::Kind::HostKey;
        question.host = captured(text, "authenticity of host '([^']+)'");
        question.fingerprint = captured(text, "(SHA256:[A-Za-z0-9+/=]+)");
        question.keyType = captured(text, "(\\S+) key fingerprint is");
    } else if (text.contains(u"passphrase for")) {
        question.kind = SshQuestion::Kind::Passphrase;
        question.keyFile = captured(text, "'([^']+)'");
    } else if (text.contains(u"assword")) {
        question.kind = SshQuestion::Kind::Password;
        question.host = captured(text, "^(\\S+)'s password");
    }
    return question;
}

Result<std::map<std::string, std::string>> SshAnswers::environment() const {
    std::map<std::string, std::string> out;
    if (who == Who::Nobody)
        return out;
    const auto ctl = findCtl();
    if (!ctl)
        return fail(ctl.error());
    out["SSH_ASKPASS"] = *ctl;
    out["SSH_ASKPASS_REQUIRE"] = "force";
    out["LOCKSTEP_ASKPASS"] = who == Who::Socket ? socket : "terminal";
    return out;
}

SshQuestionServer::SshQuestionServer(QObject *parent) : QObject(parent) {}
SshQuestionServer::~SshQuestionServer() = default;

Result<SshAnswers> SshQuestionServer::start() {
    const auto hold = holdSocketFolder();
    if (!hold)
        return fail(hold.error());
    const auto folder = socketFolder();
    if (!folder)
        return fail(folder.error());
    static int number = 0;
    auto listener = UnixListener::bind(*folder + "/ask-" + std::to_string(::getpid()) + "-" + std::to_string(++number));
    if (!listener)
        return fail(listener.error());
    m_listener = std::make_unique<UnixListener>(std::move(*listener));
    m_notifier = std::make_unique<QSocketNotifier>(m_listener->fd(), QSocketNotifier::Read);
    connect(m_notifier.get(), &QSocketNotifier::activated, this, &SshQuestionServer::take);
    return SshAnswers{SshAnswers::Who::Socket, m_listener->path()};
}

void SshQuestionServer::take() {
    auto fd = m_listener->accept();
    if (!fd || !fd->valid())
        return;
    const int id = m_nextId++;
    Asking asking;
    asking.notifier = std::make_unique<QSocketNotifier>(fd->get(), QSocketNotifier::Read);
    asking.fd = std::move(*fd);
    connect(asking.notifier.get(), &QSocketNotifier::activated, this, [this, id] { read(id); });
    m_asking.emplace(id, std::move(asking));
}

void SshQuestionServer::read(int id) {
    const auto found = m_asking.find(id);
    if (found == m_asking.end())
        return;
    Asking &asking = found->second;
    char buffer[4096];
    const ssize_t size = ::recv(asking.fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0 || asking.text.size() + std::size_t(size) > longest) {
        const bool announced = asking.announced;
        asking.notifier->setEnabled(false);
        asking.notifier.release()->deleteLater(); // we are inside its signal
        m_asking.erase(found);
        if (announced)
            Q_EMIT withdrawn(id);
        return;
    }
    asking.text.append(buffer, std::size_t(size));
    const auto end = asking.text.find('\n');
    if (asking.announced || end == std::string::npos)
        return;
    const Json json = documents::objectOrNull(asking.text.substr(0, end));
    const auto prompt = documents::optionalIn<std::string>(json, "prompt");
    if (!prompt)
        return refuse(id);
    asking.announced = true;
    Q_EMIT asked(id, sshQuestion(*prompt));
}

void SshQuestionServer::answer(int id, const QString &text) {
    const auto found = m_asking.find(id);
    if (found == m_asking.end())
        return;
    (void)sendAll(found->second.fd.get(), Json({{"answer", text.toStdString()}}).dump() + "\n");
    refuse(id); // done with it
}

void SshQuestionServer::refuse(int id) {
    const auto found = m_asking.find(id);
    if (found == m_asking.end())
        return;
    found->second.notifier->setEnabled(false);
    found->second.notifier.release()->deleteLater();
    m_asking.erase(found);
}

int askForSsh(const std::string &prompt) {
    const QByteArray where = qgetenv("LOCKSTEP_ASKPASS");
    return where.startsWith('/') ? askSocket(where.toStdString(), prompt) : askTerminal(prompt);
}

} // namespace lockstep::core

#include "moc_ssh_questions.cpp"
