// SPDX-License-Identifier: MIT
#include "nodes/node_watch.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/command_request.h"
#include "base/format.h"
#include "ipc/clock.h"
#include "ipc/documents.h"

namespace lockstep::core {
namespace {

constexpr qint64 longestLine = 1 << 20; ///< of what a node says about itself

QString number(double value, int decimals) {
    return QString::number(value, 'f', decimals);
}

std::string of(const std::optional<double> &used, const std::optional<double> &total) {
    return used || total ? (bytes(used, total) + QStringLiteral(" of ") + bytes(total)).toStdString() : "-";
}

std::optional<double> memoryUsed(const NodeFacts &facts) {
    if (!facts.memoryTotalBytes || !facts.memoryAvailableBytes)
        return {};
    return *facts.memoryTotalBytes - *facts.memoryAvailableBytes;
}

std::string orDash(const std::string &text) {
    return text.empty() ? "-" : text;
}

} // namespace

NodeWatch::NodeWatch(NodeEntry node, SshAnswers answers, QObject *parent)
    : QObject(parent), m_node(std::move(node)), m_answers(std::move(answers)) {
    m_snapshot.node = m_node;
    m_again.setSingleShot(true);
    m_again.setInterval(againMs);
    connect(&m_again, &QTimer::timeout, this, &NodeWatch::start);
}

NodeWatch::~NodeWatch() {
    endWithoutWaiting(std::move(m_process));
}

void NodeWatch::start() {
    auto prefix = prefixFor(m_node);
    const auto environment = m_answers.environment();
    if (!prefix || !environment)
        return fail({NodeTrouble::Unreachable, prefix ? environment.error() : prefix.error()});
    std::vector<std::string> words = agentCommand(*prefix, {"node", "--every", "1"});
    if (!environment->empty())
        words = mayAsk(std::move(words));
    QStringList list;
    for (const std::string &word : words)
        list << QString::fromStdString(word);
    m_process = std::make_unique<QProcess>();
    m_process->setProcessEnvironment(environmentWith(*environment));
    endWithUs(*m_process);
    boundOutput(*m_process, longestLine);
    connect(m_process.get(), &QProcess::readyReadStandardOutput, this, &NodeWatch::read);
    connect(m_process.get(), &QProcess::finished, this, &NodeWatch::over);
    connect(m_process.get(), &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            fail({NodeTrouble::NoAgent, Error::badArgument(m_process->program().toStdString() + " can't be started",
                                                           "build it with ./run, or install it")});
    });
    const QString program = list.takeFirst();
    m_process->start(program, list);
}

void NodeWatch::read() {
    const std::int64_t nowUs = SystemClock().wallUs();
    while (m_process->canReadLine()) {
        const std::string line = m_process->readLine().trimmed().toStdString();
        const auto json = documents::objectOrNull(line);
        if (json.is_object() && documents::valueIn(json, "type", "") == "pong" && json.contains("wall_us") &&
            json["wall_us"].is_number_integer()) {
            const ClockView view = clockView(m_pingedUs, json["wall_us"].get<std::int64_t>(), nowUs);
            // Keep the most precise measurement, unless it is much older than a new one.
            if (!m_snapshot.clock || view.errorS <= m_snapshot.clock->errorS * 1.5)
                m_snapshot.clock = view;
            continue;
        }
        auto facts = nodeFactsFromJson(line);
        if (!facts)
            continue;
        m_snapshot.trouble = NodeTrouble::None;
        m_snapshot.problem.clear();
        m_snapshot.wayOut.clear();
        m_snapshot.agentVersion = facts->agent;
        m_snapshot.facts = std::move(*facts);
        m_live = true;
        ++m_taken;
        m_pingedUs = SystemClock().wallUs();
        m_process->write("ping 1\n");
        Q_EMIT changed();
    }
}

void NodeWatch::over() {
    Said said;
    said.code = m_process->exitStatus() == QProcess::NormalExit ? m_process->exitCode() : 128;
    said.err = endOfStderr(*m_process).toStdString();
    fail(agentError(m_node, said));
}

void NodeWatch::fail(const NodeError &error) {
    m_live = false;
    m_snapshot.trouble = error.trouble;
    m_snapshot.problem = error.error.what;
    m_snapshot.wayOut = error.error.wayOut;
    // A changed host key or a refused key needs a person; retrying would only ask again and again.
    if (error.trouble == NodeTrouble::Unreachable)
        m_again.start();
    Q_EMIT changed();
}

std::vector<NodeFigure> nodeFigures(const NodeSnapshot &snapshot) {
    std::vector<NodeFigure> rows;
    const auto add = [&](const char *title, std::string value, std::string detail = {}) {
        rows.push_back({title, std::move(value), std::move(detail)});
    };
    if (!snapshot.facts) {
        add("state", snapshot.problem.empty()
                         ? "-"
                         : snapshot.problem + (snapshot.wayOut.empty() ? "" : "; " + snapshot.wayOut));
        return rows;
    }
    const NodeFacts &facts = *snapshot.facts;
    add("system", (facts.host == snapshot.node.name ? "" : facts.host + ", ") + facts.os,
        facts.arch + ", glibc " + orDash(facts.glibc));
    add("processor",
        orDash(facts.cpuModel) + ", " + std::to_string(facts.allowedCoreCount) + " cores (" + facts.allowedCores + ")");
    add("busy", facts.cpuBusy ? number(*facts.cpuBusy * 100, 0).toStdString() + " %" : "-");
    add("load", facts.load1min ? number(*facts.load1min, 2).toStdString() : "-");
    add("memory used", of(memoryUsed(facts), facts.memoryTotalBytes));
    add("disk free", of(facts.diskFreeBytes, facts.diskTotalBytes), "in " + facts.home);
    for (std::size_t i = 0; i < facts.gpus.size(); ++i) {
        const NodeFacts::Gpu &gpu = facts.gpus[i];
        add("GPU", std::to_string(i) + ": " + gpu.name + ", busy " +
                       (gpu.busy ? number(*gpu.busy * 100, 0).toStdString() + " %" : "-") + ", memory " +
                       of(gpu.memoryUsedBytes, gpu.memoryTotalBytes));
    }
    add("versions", "agent " + orDash(facts.agent) + ", PyTorch " + orDash(facts.torch) + ", NCCL " +
                        orDash(facts.nccl) +
                        (facts.gpus.empty() && facts.gpuDriver.empty() ? "" : ", driver " + orDash(facts.gpuDriver)));
    if (facts.torch.empty() && !facts.trainerProblem.empty())
        add("trainer", facts.trainerProblem);
    add("clock", snapshot.clock ? number(snapshot.clock->offsetS * 1e3, 2).toStdString() + " ms ± " +
                                      number(snapshot.clock->errorS * 1e3, 2).toStdString() + " ms"
                                : "-");
    for (const NodeFacts::Interface &one : facts.interfaces) {
        if (one.loopback)
            continue;
        std::string text = one.name + " " + one.state;
        for (const std::string &address : one.addresses)
            text += " " + address;
        text += ", MTU " + (one.mtu ? std::to_string(*one.mtu) : "-");
        text += ", " + (one.speedMbit ? std::to_string(*one.speedMbit) + " Mbit/s" : std::string("speed -"));
        add("interface", text + (one.name == snapshot.node.interface ? " (chosen)" : ""));
    }
    return rows;
}

} // namespace lockstep::core

#include "moc_node_watch.cpp"
