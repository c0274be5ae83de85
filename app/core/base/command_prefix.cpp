// SPDX-License-Identifier: MIT
#include "base/command_prefix.h"
#include "ipc/documents.h"
#include "ipc/printable.h"
#include "ipc/safe_place.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <nlohmann/json.hpp>
#include <QCoreApplication>
#include <QFileInfo>
#include <QStandardPaths>

namespace lockstep::core {
namespace {

bool plainHost(std::string_view host) {
    constexpr std::string_view others = "._-@:[]%";
    return std::all_of(host.begin(), host.end(), [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               others.find(c) != std::string_view::npos;
    });
}

std::vector<std::string> splitAtBlanks(const char *text) {
    std::vector<std::string> words;
    for (const QString &word : QString::fromLocal8Bit(text).split(u' ', Qt::SkipEmptyParts))
        words.push_back(word.toStdString());
    return words;
}

Result<std::string> findProgram(const char *variable, const QString &name) {
    if (const QByteArray value = qgetenv(variable); !value.isEmpty()) {
        if (QFileInfo(QString::fromLocal8Bit(value)).isExecutable())
            return value.toStdString();
        return fail(Error::badArgument(std::string(variable) + "=" + value.toStdString() + " is not an executable file",
                                       "set it to the path of " + name.toStdString() + " or unset it"));
    }
    if (QCoreApplication::instance()) {
        const QString beside = QCoreApplication::applicationDirPath() + u'/' + name;
        if (QFileInfo(beside).isExecutable())
            return beside.toStdString();
    }
    const QString inPath = QStandardPaths::findExecutable(name);
    if (!inPath.isEmpty())
        return inPath.toStdString();
    return fail(Error::badArgument(name.toStdString() + " was found neither next to this program nor in PATH",
                                   "build it with ./run, or set " + std::string(variable)));
}

} // namespace

namespace {

/// JOB/NODE of "slurm:JOB/NODE". ssh host names never contain '/'.
Result<CommandPrefix> prefixInJob(std::string_view place, CommandPrefix prefix) {
    const auto slash = place.find('/');
    const std::string_view job = place.substr(0, slash);
    const std::string_view node = slash == std::string_view::npos ? std::string_view() : place.substr(slash + 1);
    const bool number = !job.empty() && job.find_first_not_of("0123456789") == std::string_view::npos;
    if (!number || node.empty() || node.front() == '-' || !plainHost(node))
        return fail(Error::badArgument("'slurm:" + printableName(place) + "' is not a node of a Slurm job",
                                       "write slurm:JOB/NODE", "host"));
    prefix.host = "slurm:" + std::string(place);
    prefix.shell = false;
    prefix.words = {"srun",       "--jobid=" + std::string(job),     "--overlap", "--nodes=1",
                    "--ntasks=1", "--nodelist=" + std::string(node), "--quiet"};
    return prefix;
}

} // namespace

bool isPlainWord(std::string_view word, std::size_t most) {
    return word.size() <= most && std::none_of(word.begin(), word.end(), [](char c) {
               return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
           });
}

Result<void> checkAgentPath(std::string_view path) {
    constexpr std::size_t longestPath = 4096;
    if (isPlainWord(path, longestPath))
        return {};
    return fail(Error::badArgument("the agent's path '" + printableName(path) + "' is refused: it is longer than " +
                                       std::to_string(longestPath) + " bytes or contains a control character",
                                   "give a plain path", "agent"));
}

Result<CommandPrefix> prefixFor(std::string_view host, std::string_view remoteAgent) {
    if (const Result<void> plain = checkAgentPath(remoteAgent); !plain)
        return fail(plain.error());
    CommandPrefix prefix;
    if (!remoteAgent.empty())
        prefix.agent = remoteAgent;
    if (host.empty())
        return prefix;
    if (host.starts_with("slurm:"))
        return prefixInJob(host.substr(6), prefix);
    if (host.front() == '-' || !plainHost(host))
        return fail(Error::badArgument("host name '" + printableName(host) +
                                           "' is refused: only letters, digits and ._-@:[]% are "
                                           "allowed, and no '-' in front",
                                       "give a name under which ssh reaches it", "host"));
    prefix.host = host;
    prefix.words = {"ssh", "-T", "-oBatchMode=yes", "-oServerAliveInterval=2", "-oServerAliveCountMax=3"};
    if (const char *options = std::getenv("LOCKSTEP_SSH_OPTIONS"))
        for (std::string &word : splitAtBlanks(options))
            prefix.words.push_back(std::move(word));
    prefix.words.push_back(prefix.host);
    return prefix;
}

std::optional<CommandPrefix> prefixOfOrigin(std::string_view originJson) {
    const auto json = documents::objectOrNull(originJson);
    const auto host = documents::optionalIn<std::string>(json, "host");
    if (!host)
        return std::nullopt;
    const Result<CommandPrefix> prefix = prefixFor(*host, documents::valueIn(json, "agent", "lockstep-agent"));
    if (!prefix || prefix->local())
        return std::nullopt;
    return *prefix;
}

std::vector<std::string> mayAsk(std::vector<std::string> words) {
    std::replace(words.begin(), words.end(), std::string("-oBatchMode=yes"), std::string("-oBatchMode=no"));
    return words;
}

QProcessEnvironment environmentWith(const std::map<std::string, std::string> &more) {
    QProcessEnvironment variables = QProcessEnvironment::systemEnvironment();
    for (const auto &[name, value] : more)
        variables.insert(QString::fromStdString(name), QString::fromStdString(value));
    return variables;
}

std::string quoteForShell(std::string_view word) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
    if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos)
        return std::string(word);
    std::string out = "'";
    for (char c : word)
        if (c == '\'')
            out += "'\"'\"'";
        else
            out += c;
    return out + "'";
}

std::vector<std::string> agentCommand(const CommandPrefix &prefix, const std::vector<std::string> &arguments) {
    std::vector<std::string> words = prefix.words;
    const bool asTheyAre = prefix.local() || !prefix.shell;
    words.push_back(asTheyAre ? prefix.agent : quoteForShell(prefix.agent));
    for (const std::string &argument : arguments)
        words.push_back(asTheyAre ? argument : quoteForShell(argument));
    return words;
}

Result<std::string> findAgent() {
    return findProgram("LOCKSTEP_AGENT", QStringLiteral("lockstep-agent"));
}
Result<std::string> findCtl() {
    return findProgram("LOCKSTEP_CTL", QStringLiteral("lockstepctl"));
}

std::string scriptsBeside(const std::string &agent) {
    std::error_code error;
    const auto programs = std::filesystem::canonical(std::filesystem::absolute(agent, error).parent_path(), error);
    for (const char *folder : {"../share/lockstep/python", "../../resources/python", "../../../share/lockstep/python",
                               "../../../../resources/python"}) // the second line's build is two folders deeper
        if (const auto python = (programs / folder).lexically_normal();
            std::filesystem::is_directory(python, error) && isAsSafeAs(programs, python))
            return python.string();
    return {};
}

Result<std::string> findScripts() {
    if (const char *named = ::getenv("LOCKSTEP_SCRIPTS"); named && *named)
        return std::string(named);
    const auto agent = findAgent();
    if (!agent)
        return fail(agent.error());
    std::error_code error;
    if (auto found = scriptsBeside(std::filesystem::canonical(*agent, error).string()); !found.empty())
        return found;
    return fail(
        Error::failed("Lockstep's Python files are not next to " + *agent, "set LOCKSTEP_SCRIPTS to their folder"));
}

} // namespace lockstep::core
