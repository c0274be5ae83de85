// SPDX-License-Identifier: MIT
#include "launch/attended_run.h"

#include <algorithm>

namespace lockstep::core {
std::vector<std::string> trainerCommand(const std::string &mode, const RunConfig &config) {
    std::vector<std::string> words = {
        "lockstep-trainer", mode,        "--device",  "{device}",           "--devices",
        "{devices}",        "--backend", "{backend}", "--cores-per-device", "{cores_per_device}"};
    if (!config.nodes.empty() && std::all_of(config.nodes.begin(), config.nodes.end(),
                                             [](const NodePlace &node) { return !node.interface.empty(); }))
        words.insert(words.end(), {"--interface", "{interface}"});
    if (config.oversubscribe)
        words.emplace_back("--oversubscribe");
    return words;
}

AttendedRun::AttendedRun(QObject *parent) : QObject(parent) {
    connect(&m_launcher, &NodesLauncher::said, this, &AttendedRun::take);
    const auto end = [this](const std::optional<Error> &error) {
        if (!std::exchange(m_ended, true))
            Q_EMIT ended(error);
    };
    connect(&m_launcher, &NodesLauncher::failed, this, [this, end](const Error &error, int exitCode) {
        m_linkFailed = exitCode == AgentLauncher::linkFailed || exitCode == NodesLauncher::nodeUnreachable;
        end(error);
    });
    connect(&m_launcher, &NodesLauncher::ended, this, [end](int exitCode, const QString &sentence) {
        if (exitCode == 0)
            return end(std::nullopt);
        end(Error{sentence.isEmpty() ? "its ranks reported nothing" : sentence.toStdString(),
                  {},
                  exitCode == exitBadArguments ? ErrorKind::BadArgument : ErrorKind::Failed,
                  {}});
    });
}

void AttendedRun::start(const RunConfig &config, std::vector<std::string> command, const std::string &name,
                        const CommandPrefix &where) {
    LaunchRequest request;
    request.record.name = name;
    request.record.config = config;
    request.record.command = std::move(command);
    request.record.processes = processCount(config);
    request.detach = false;
    request.attended = true;
    m_launcher.start(where, request);
}

void AttendedRun::stop() {
    m_launcher.stop();
}

void endWithoutWaiting(std::unique_ptr<AttendedRun> run) {
    if (!run)
        return;
    AttendedRun *left = run.release();
    left->disconnect();
    if (left->hasEnded())
        return left->deleteLater();
    QObject::connect(left, &AttendedRun::ended, left, &QObject::deleteLater);
    left->stop();
}

/// "[rank 2] text"
void AttendedRun::take(const QByteArray &line) {
    constexpr qsizetype before = 6; // "[rank "
    const qsizetype bracket = line.indexOf(']');
    bool number = false;
    const int rank = line.mid(before, bracket - before).toInt(&number);
    if (line.startsWith("[rank ") && number)
        Q_EMIT said(rank, line.mid(bracket + 2));
}

} // namespace lockstep::core

#include "moc_attended_run.cpp"
