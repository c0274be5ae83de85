// SPDX-License-Identifier: MIT
#include "nodes/node_shell.h"

#include <algorithm>
#include <unistd.h>

#include <QDeadlineTimer>
#include <QRandomGenerator>
#include <QRegularExpression>

#include "base/command_request.h"
#include "ipc/run_folder.h"
#include "ipc/socket_folder.h"

namespace lockstep::core {
namespace {

using namespace std::chrono_literals;

constexpr auto questionsLimit = 180s; ///< time for a person to read and type
constexpr auto connectLimit = 20s;
constexpr const char *linkWord = "lockstep-link-is-up";

std::unique_ptr<QProcess> start(std::vector<std::string> words) {
    auto process = std::make_unique<QProcess>();
    QStringList list;
    for (const std::string &word : words)
        list << QString::fromStdString(word);
    endWithUs(*process);
    process->setProgram(list.takeFirst());
    process->setArguments(list);
    boundOutput(*process, mostAnswerBytes);
    return process;
}

void end(QProcess &process) {
    if (process.state() == QProcess::NotRunning)
        return;
    process.closeWriteChannel();
    if (process.waitForFinished(1000))
        return;
    process.terminate();
    if (!process.waitForFinished(1000)) {
        process.kill();
        process.waitForFinished(1000);
    }
}

std::string oneLine(const std::string &text) {
    QStringList lines;
    for (const QString &line : QString::fromUtf8(text).split(u'\n')) {
        const QString plain = line.trimmed();
        if (!plain.isEmpty() && !plain.startsWith(u"@@@") && !plain.startsWith(u"Warning: Permanently added"))
            lines << plain;
    }
    return lines.join(QStringLiteral("; ")).toStdString();
}

NodeError hostKeyChanged(const std::string &host, const QString &text, const std::string &known) {
    static const QRegularExpression sent(
        QStringLiteral("\\S+ key sent by the remote host is\\s+(SHA256:[A-Za-z0-9+/=]{1,64})"));
    const auto now = sent.match(text);
    const std::string word = quoteForShell(host);
    return {NodeTrouble::HostKeyChanged,
            Error::badArgument(
                host + " has a different host key than before: it sent " +
                    (now.hasMatch() ? now.captured(1).toStdString() : "one that ssh did not show") + ", known is " +
                    (known.empty() ? "what this prints: ssh-keygen -l -F " + word : known),
                "it may be another machine: ask its administrator, and only if the new fingerprint is right, "
                "ssh-keygen -R " +
                    word,
                "host")};
}

/// What a program of this machine that ends soon prints.
QStringList printedLines(std::vector<std::string> words) {
    constexpr int limitMs = 2000;
    const auto process = start(std::move(words));
    process->start();
    process->closeWriteChannel();
    if (!process->waitForFinished(limitMs))
        end(*process);
    return QString::fromUtf8(process->readAllStandardOutput()).split(u'\n', Qt::SkipEmptyParts);
}

/// ssh's own configuration for a host, by lower-case keyword.
std::map<QString, QString> configurationOf(const CommandPrefix &prefix) {
    std::vector<std::string> words = prefix.words; // ends in the host
    words.insert(words.end() - 1, "-G");
    std::map<QString, QString> values;
    for (const QString &line : printedLines(std::move(words)))
        values.emplace(line.section(u' ', 0, 0), line.section(u' ', 1));
    return values;
}

} // namespace

std::string knownFingerprints(const CommandPrefix &prefix) {
    auto values = configurationOf(prefix);
    QString name = values[QStringLiteral("hostkeyalias")];
    if (name.isEmpty()) {
        name = values[QStringLiteral("hostname")];
        if (const QString port = values[QStringLiteral("port")]; port != u"22")
            name = u'[' + name + QStringLiteral("]:") + port;
    }
    QStringList found;
    for (const char *files : {"userknownhostsfile", "globalknownhostsfile"})
        for (const QString &file : values[QLatin1String(files)].split(u' ', Qt::SkipEmptyParts).mid(0, 2))
            for (const QString &line :
                 printedLines({"ssh-keygen", "-l", "-F", name.toStdString(), "-f", file.toStdString()}))
                if (const QString print = line.section(u' ', 2, 2); print.startsWith(u"SHA256:"))
                    found << print;
    found.removeDuplicates();
    return found.mid(0, 4).join(QStringLiteral(", ")).toStdString();
}

NodeError sshError(const std::string &host, const std::string &said, const std::string &known) {
    const QString text = QString::fromUtf8(said.data(), qsizetype(said.size()));
    const auto says = [&](const char *words) { return text.contains(QString::fromLatin1(words), Qt::CaseInsensitive); };
    const std::string lines = oneLine(said);
    if (says("HOST IDENTIFICATION HAS CHANGED") || (says("Offending") && says("Host key verification failed")))
        return hostKeyChanged(host, text, known);
    if (says("Host key verification failed"))
        return {NodeTrouble::HostKeyUnknown,
                Error::badArgument("the host key of " + host + " is not known and was not confirmed",
                                   "connect once by hand and compare the fingerprint: ssh " + host + " true", "host")};
    if (says("Permission denied") || says("Too many authentication failures"))
        return {NodeTrouble::KeyRefused, Error::badArgument(host + " accepts none of your keys: " + lines,
                                                            "put your key there: ssh-copy-id " + host, "host")};
    if (says("Could not resolve hostname"))
        return {NodeTrouble::NameUnknown,
                Error::badArgument("there is no host " + host + ": " + lines,
                                   "give the name under which ssh reaches it, or add a Host block to ~/.ssh/config",
                                   "host")};
    return {NodeTrouble::Unreachable,
            Error::badArgument(host + " can't be reached: " + (lines.empty() ? "ssh printed nothing" : lines),
                               "try: ssh " + host + " true", "host")};
}

tl::expected<std::unique_ptr<NodeShell>, NodeError> NodeShell::open(const NodeEntry &node, const SshAnswers &answers,
                                                                    std::stop_token stop) {
    std::unique_ptr<NodeShell> shell(new NodeShell);
    shell->m_node = node;
    shell->m_stop = std::move(stop);
    const auto prefix = prefixFor(node);
    if (!prefix)
        return tl::unexpected(NodeError{NodeTrouble::Unreachable, prefix.error()});
    shell->m_prefix = *prefix;
    if (node.how == "ssh")
        if (auto connected = shell->connectMaster(answers); !connected)
            return tl::unexpected(connected.error());
    return shell;
}

NodeShell::~NodeShell() {
    if (m_master)
        end(*m_master); // it removes its socket
    if (!m_control.empty())
        ::unlink(m_control.c_str());
}

tl::expected<void, NodeError> NodeShell::connectMaster(const SshAnswers &answers) {
    const auto unreachable = [](const Error &error) {
        return tl::unexpected(NodeError{NodeTrouble::Unreachable, error});
    };
    auto hold = holdSocketFolder(); // ssh binds its socket there later
    if (!hold)
        return unreachable(hold.error());
    m_folder = std::move(*hold);
    const auto folder = socketFolder();
    if (!folder)
        return unreachable(folder.error());
    const auto environment = answers.environment();
    if (!environment)
        return unreachable(environment.error());
    m_control = *folder + "/link-" + QString::number(QRandomGenerator::system()->generate(), 16).toStdString();
    const std::vector<std::string> control = {"-oControlPath=" + m_control, "-oConnectTimeout=10"};

    std::vector<std::string> words = m_prefix.words; // ends in the host
    words.insert(words.end() - 1, control.begin(), control.end());
    m_prefix.words = words;
    m_prefix.words.insert(m_prefix.words.end() - 1, "-oControlMaster=no");
    if (answers.who != SshAnswers::Who::Nobody)
        words = mayAsk(std::move(words));
    words.insert(words.end() - 1, {"-oControlMaster=yes", "-oControlPersist=no"});
    // Its session reports that the link is up, and ends when we close its stdin.
    words.push_back(std::string("echo ") + linkWord + " && exec cat");
    m_master = start(words);
    m_master->setProcessEnvironment(environmentWith(*environment));
    m_master->start();
    const auto limit = answers.who == SshAnswers::Who::Nobody ? connectLimit : questionsLimit;
    const QDeadlineTimer deadline{std::chrono::milliseconds(limit)};
    for (;;) {
        const auto line = readLine(*m_master, std::chrono::milliseconds(deadline.remainingTime()));
        if (line == linkWord)
            return {};
        if (line) // the host's greeting
            continue;
        if (stopped())
            return unreachable(Error::failed("connecting to " + m_node.host + " was cancelled"));
        if (m_master->error() == QProcess::FailedToStart)
            return unreachable(Error::badArgument("ssh can't be started", "install openssh-client"));
        if (m_master->state() == QProcess::NotRunning || m_master->waitForFinished(500))
            return tl::unexpected(masterError());
        return unreachable(
            Error::badArgument(m_node.host + " did not answer within " + std::to_string(limit.count()) + " s",
                               "try: ssh " + m_node.host + " true", "host"));
    }
}

NodeError NodeShell::masterError() const {
    const std::string said = endOfStderr(*m_master).toStdString();
    NodeError error = sshError(m_node.host, said);
    if (error.trouble == NodeTrouble::HostKeyChanged)
        error = sshError(m_node.host, said, knownFingerprints(m_prefix));
    return error;
}

std::optional<std::string> NodeShell::readLine(QProcess &process, Limit limit) const {
    const QDeadlineTimer deadline(limit);
    process.setReadChannel(QProcess::StandardOutput);
    while (!process.canReadLine()) {
        if (stopped() || deadline.hasExpired() || process.state() == QProcess::NotRunning)
            return std::nullopt;
        process.waitForReadyRead(int(std::min<qint64>(200, std::max<qint64>(1, deadline.remainingTime()))));
    }
    QByteArray line = process.readLine();
    line.chop(line.endsWith('\n') ? 1 : 0);
    return line.toStdString();
}

std::vector<std::string> NodeShell::scriptWords(const std::string &text,
                                                const std::vector<std::string> &arguments) const {
    std::vector<std::string> words = m_prefix.words;
    std::vector<std::string> command = {"sh", "-c", text, "lockstep"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const bool asTheyAre = m_prefix.local() || !m_prefix.shell;
    for (const std::string &word : command)
        words.push_back(asTheyAre ? word : quoteForShell(word));
    return words;
}

Said NodeShell::run(std::vector<std::string> words, const std::string &input, Limit limit) {
    Said said;
    const auto process = start(std::move(words));
    process->start();
    process->write(input.data(), qint64(input.size()));
    process->closeWriteChannel();
    const QDeadlineTimer deadline(limit);
    while (process->state() != QProcess::NotRunning && !deadline.hasExpired() && !stopped())
        process->waitForFinished(100);
    if (process->state() != QProcess::NotRunning) {
        said.late = true;
        process->kill();
        process->waitForFinished(1000);
    }
    said.out = process->readAllStandardOutput().toStdString();
    said.err = endOfStderr(*process).toStdString();
    if (process->error() == QProcess::FailedToStart) {
        said.code = 127;
        said.err = process->program().toStdString() + " can't be started";
    } else {
        said.code = process->exitStatus() == QProcess::NormalExit ? process->exitCode() : 128 + process->exitCode();
    }
    return said;
}

Said NodeShell::agent(const std::vector<std::string> &arguments, const std::string &input, Limit limit) {
    return run(agentCommand(m_prefix, arguments), input, limit);
}

Said NodeShell::script(const std::string &text, const std::vector<std::string> &arguments, const std::string &input,
                       Limit limit) {
    return run(scriptWords(text, arguments), input, limit);
}

std::unique_ptr<QProcess> NodeShell::startAgent(const std::vector<std::string> &arguments) {
    auto process = start(agentCommand(m_prefix, arguments));
    process->start();
    return process;
}

std::unique_ptr<QProcess> NodeShell::startScript(const std::string &text, const std::vector<std::string> &arguments) {
    auto process = start(scriptWords(text, arguments));
    process->start();
    return process;
}

} // namespace lockstep::core
