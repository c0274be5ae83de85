// SPDX-License-Identifier: MIT
// listen and follow: runs that somebody else started. lockstep-agent records them; here they are only shown.
#include <csignal>
#include <cstdio>

#include <sys/prctl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <QCoreApplication>
#include <QProcess>

#include "base/command_prefix.h"
#include "commands.h"
#include "ipc/documents.h"
#include "job_commands.h"
#include "output.h"

namespace lockstep::cli {
namespace {

void printAddress(const nlohmann::json &line) {
    const std::string address = documents::valueIn(line, "address", "");
    print("listening on " + address + "\n");
    if (const std::string token = documents::valueIn(line, "token", ""); !token.empty())
        print("start every rank with LOCKSTEP_FRAMES=" + address + " LOCKSTEP_FRAMES_TOKEN=" + token + "\n");
    else
        print("start every rank with LOCKSTEP_FRAMES=" + address +
              (address.starts_with("tcp:") ? " and its token in LOCKSTEP_FRAMES_TOKEN\n" : "\n"));
}

/// Runs `lockstep-agent listen …` and follows the resulting run.
int serve(const QStringList &words) {
    const auto agent = core::findAgent();
    if (!agent)
        return complain(agent.error());
    QProcess process;
    process.setProcessChannelMode(QProcess::ForwardedErrorChannel);
    process.setStandardInputFile(QProcess::nullDevice());
    process.setChildProcessModifier(
        [parent = ::getpid()] { // nobody would know of a listener that outlived this command
            ::prctl(PR_SET_PDEATHSIG, SIGTERM);
            if (::getppid() != parent)
                ::_exit(Failed);
        });
    process.start(QString::fromStdString(*agent), words);
    if (!process.waitForStarted())
        return complain(Error::failed("lockstep-agent can't be started: " + process.errorString().toStdString()));
    std::string run;
    // Ctrl-C reaches the agent too, and it ends the run cleanly.
    while (run.empty() && (process.canReadLine() || process.waitForReadyRead(-1)))
        while (process.canReadLine() && run.empty()) {
            const auto line = documents::objectOrNull(process.readLine().toStdString());
            if (!line.is_object())
                continue;
            if (documents::valueIn(line, "type", "") == "listening")
                printAddress(line);
            else if (documents::valueIn(line, "type", "") == "ready")
                run = documents::valueIn(line, "run", "");
        }
    if (!run.empty()) {
        print("run " + run + "\n");
        attachCommand({run, {}});
    }
    process.waitForFinished(-1);
    return process.exitStatus() == QProcess::NormalExit ? process.exitCode() : int(Failed);
}

void add(QStringList &words, const char *flag, const std::string &value) {
    if (!value.empty())
        words << QString::fromLatin1(flag) + u'=' + QString::fromStdString(value);
}

} // namespace

int listenCommand(const ListenOptions &options) {
    QStringList words = {QStringLiteral("listen")};
    add(words, "--port", options.port);
    add(words, "--interface", options.interface);
    add(words, "--socket", options.socket);
    add(words, "--token-file", options.tokenFile);
    add(words, "--name", options.name);
    if (options.ranks > 0)
        add(words, "--ranks", std::to_string(options.ranks));
    if (options.patienceS > 0)
        add(words, "--patience", std::to_string(options.patienceS));
    return serve(words);
}

int followFilesCommand(const FollowFilesOptions &options) {
    QStringList words = {QStringLiteral("listen")};
    add(words, "--files", options.path);
    add(words, "--name", options.name);
    if (options.ranks > 0)
        add(words, "--ranks", std::to_string(options.ranks));
    if (options.import)
        words << QStringLiteral("--import");
    return serve(words);
}

} // namespace lockstep::cli
