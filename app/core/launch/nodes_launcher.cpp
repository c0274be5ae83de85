// SPDX-License-Identifier: MIT
#include "launch/nodes_launcher.h"

#include <filesystem>

#include <QTimer>

#include "ipc/logging.h"

namespace lockstep::core {
namespace {

constexpr double joinLimitS = 20; ///< for an agent that knows agent 0's address
constexpr int stopLimitMs = 25'000;

} // namespace

Result<CommandPrefix> prefixOfNode(const NodePlace &node, const CommandPrefix &where) {
    if (!node.host.empty())
        return prefixFor(node.host, node.agent);
    CommandPrefix prefix = where;
    if (!node.agent.empty())
        prefix.agent = node.agent;
    return prefix;
}

Result<CommandPrefix> prefixOfAgent0(const RunConfig &config, const CommandPrefix &where) {
    return config.nodes.empty() ? Result<CommandPrefix>(where) : prefixOfNode(config.nodes.front(), where);
}

NodesLauncher::NodesLauncher(QObject *parent) : QObject(parent) {}

void NodesLauncher::start(const CommandPrefix &where, const LaunchRequest &request) {
    m_where = where;
    m_request = request;
    const RunConfig config = request.record.config.value_or(RunConfig());
    for (const NodePlace &node : config.nodes) // before starting anything
        if (const Result<CommandPrefix> prefix = prefixOfNode(node, where); !prefix) {
            m_over = true;
            Q_EMIT failed(prefix.error(), exitBadArguments);
            return;
        }
    m_firstPrefix = *prefixOfAgent0(config, where);
    m_unreached = m_firstPrefix.host;
    m_first = std::make_unique<AgentLauncher>();
    connect(m_first.get(), &AgentLauncher::ready, this, &NodesLauncher::startOthers);
    connect(m_first.get(), &AgentLauncher::failed, this, &NodesLauncher::failed);
    attend(*m_first, 0);
    m_first->start(m_firstPrefix, m_request);
}

void NodesLauncher::attend(AgentLauncher &agent, int node) {
    if (!m_request.attended)
        return;
    connect(&agent, &AgentLauncher::said, this, &NodesLauncher::said);
    connect(&agent, &AgentLauncher::ready, this, [this] { ++m_alive; });
    connect(&agent, &AgentLauncher::ended, this, [this, node](int exitCode, const QString &lastSentence) {
        if (node == 0) { // it decides for the run
            m_exitCode = exitCode;
            m_lastSentence = lastSentence;
        }
        if (--m_alive == 0 && (m_over || m_others.empty()) && !m_stop)
            Q_EMIT ended(m_exitCode, m_lastSentence);
    });
}

void NodesLauncher::stop() {
    if (m_first)
        m_first->stop();
    for (const auto &other : m_others)
        other->stop();
}

void NodesLauncher::startOthers(const QString &run, const QString &socket, qint64 pid) {
    m_run = run.toStdString();
    const std::size_t nodes = m_request.record.config ? m_request.record.config->nodes.size() : 0;
    if (nodes < 2) {
        Q_EMIT ready(run, socket, pid);
        return;
    }
    m_waiting = int(nodes) - 1;
    for (std::size_t node = 1; node < nodes; ++node) {
        LaunchRequest request = m_request;
        request.record.run = m_run;
        request.node = int(node);
        request.join = m_first->join();
        request.token = m_first->token();
        request.joinLimitS = std::min(request.joinLimitS, joinLimitS);
        auto &launcher = m_others.emplace_back(std::make_unique<AgentLauncher>());
        connect(launcher.get(), &AgentLauncher::ready, this, [this, run, socket, pid] {
            if (--m_waiting == 0 && !m_over) {
                m_over = true;
                Q_EMIT ready(run, socket, pid);
            }
        });
        connect(launcher.get(), &AgentLauncher::failed, this,
                [this, node](const Error &error, int exitCode) { otherFailed(int(node), error, exitCode); });
        attend(*launcher, int(node));
        launcher->start(*prefixOfNode(m_request.record.config->nodes[node], m_where), request);
    }
}

void NodesLauncher::otherFailed(int node, const Error &error, int exitCode) {
    if (std::exchange(m_over, true))
        return; // only the first error is reported
    const NodePlace &place = m_request.record.config->nodes[std::size_t(node)];
    Error named = error;
    named.what = "node " + std::to_string(node) + " (" + titleOf(place) + "): " + error.what;
    m_unreached = place.host;
    stopAgent0(named, exitCode == AgentLauncher::linkFailed ? nodeUnreachable : exitCode);
}

void NodesLauncher::stopAgent0(const Error &error, int exitCode) {
    CommandPrefix prefix = m_firstPrefix;
    if (prefix.local() && prefix.agent == CommandPrefix().agent)
        prefix.agent = findAgent().value_or(prefix.agent);
    QStringList words;
    for (const std::string &word : agentCommand(prefix, {"stop", m_run, "--by", "its launch, which failed"}))
        words << QString::fromStdString(word);
    m_stop = std::make_unique<QProcess>();
    const auto done = [this, error, exitCode] {
        if (m_stop->state() != QProcess::NotRunning)
            m_stop->kill();
        m_stop.release()->deleteLater();
        std::error_code ignored;
        if (m_firstPrefix.local()) // a failed launch leaves no run
            std::filesystem::remove_all(runFolder(m_run).path, ignored);
        Q_EMIT failed(error, exitCode);
    };
    connect(m_stop.get(), &QProcess::finished, this, done);
    connect(m_stop.get(), &QProcess::errorOccurred, this, [done](QProcess::ProcessError what) {
        if (what == QProcess::FailedToStart)
            done();
    });
    QTimer::singleShot(stopLimitMs, m_stop.get(), [this] { m_stop->kill(); }); // finished() follows
    m_stop->setStandardInputFile(QProcess::nullDevice());
    m_stop->start(words.takeFirst(), words);
}

} // namespace lockstep::core

#include "moc_nodes_launcher.cpp"
