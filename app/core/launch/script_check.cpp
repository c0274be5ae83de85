// SPDX-License-Identifier: MIT
#include "launch/script_check.h"
#include "base/command_request.h"
#include "ipc/documents.h"

#include <algorithm>

#include <nlohmann/json.hpp>
#include <QProcess>

namespace lockstep::core {
namespace {

constexpr int patienceMs = 60'000; // starts each Python once, perhaps from a cold disk

/// One request line per distinct script.
struct ScriptRequests {
    std::vector<std::vector<std::string>> commands;
    QByteArray lines;
};

ScriptRequests requestsFor(const Experiment &experiment) {
    ScriptRequests out;
    for (const ExperimentEntry &entry : experiment.entries) {
        const std::vector<std::string> &command = entry.planned.command;
        if (command.empty() || !entry.planned.runnable() ||
            std::ranges::find(out.commands, command) != out.commands.end())
            continue;
        out.commands.push_back(command);
        out.lines += QByteArray::fromStdString(toJson(requestFor(experiment, entry))) + '\n';
    }
    return out;
}

/// One answer line per request line.
struct ScriptAnswer {
    std::string error, python;
};

/// The first answers, of which there are no more than requests.
std::vector<ScriptAnswer> answersIn(const QByteArray &lines, std::size_t requests) {
    std::vector<ScriptAnswer> out;
    for (const QByteArray &line : lines.split('\n')) {
        if (out.size() == requests)
            break;
        const auto json = documents::objectOrNull({line.constData(), std::size_t(line.size())});
        if (!json.is_object())
            continue;
        const bool wrong = documents::valueIn(json, "type", "") == "error";
        out.push_back({wrong ? documents::valueIn(json, "message", "") : std::string(),
                       wrong ? std::string() : documents::valueIn(json, "python", "")});
    }
    return out;
}

Result<QStringList> agentWords(const CommandPrefix &prefix) {
    CommandPrefix resolved = prefix;
    if (prefix.local()) {
        const Result<std::string> agent = findAgent();
        if (!agent)
            return fail(agent.error());
        resolved.agent = *agent;
    }
    QStringList words;
    for (const std::string &word : agentCommand(resolved, {"check"}))
        words << QString::fromStdString(word);
    return words;
}

template <class Take> void takeOnce(std::vector<Take> &list, Take item) {
    if (std::find(list.begin(), list.end(), item) == list.end())
        list.push_back(std::move(item));
}

} // namespace

tl::expected<std::vector<std::string>, std::vector<Error>> checkScripts(const CommandPrefix &prefix,
                                                                        const Experiment &experiment) {
    const ScriptRequests requests = requestsFor(experiment);
    std::vector<std::string> pythons, sentences;
    if (requests.lines.isEmpty())
        return pythons;
    Result<QStringList> words = agentWords(prefix);
    if (!words)
        return tl::unexpected(std::vector{words.error()});
    QProcess process;
    boundOutput(process, mostAnswerBytes);
    process.start(words->takeFirst(), *words);
    process.write(requests.lines);
    process.closeWriteChannel();
    const bool answered = process.waitForFinished(patienceMs);
    const bool endless = process.bytesAvailable() > mostAnswerBytes;
    for (const ScriptAnswer &answer : answersIn(process.readAllStandardOutput(), requests.commands.size())) {
        if (!answer.error.empty())
            takeOnce(sentences, answer.error);
        else if (!answer.python.empty())
            takeOnce(pythons, answer.python);
    }
    if (endless)
        sentences = {"lockstep-agent could not check the scripts: its answer has more than 64 MiB"};
    else if (!answered ||
             ((process.exitStatus() != QProcess::NormalExit || process.exitCode() != 0) && sentences.empty()))
        sentences = {"lockstep-agent could not check the scripts: " + endOfStderr(process).trimmed().toStdString()};
    if (sentences.empty())
        return pythons;
    std::vector<Error> errors;
    for (const std::string &sentence : sentences)
        errors.push_back(Error::badArgument(sentence));
    return tl::unexpected(errors);
}

ScriptCheck::ScriptCheck(QObject *parent) : QObject(parent) {}

ScriptCheck::~ScriptCheck() {
    endWithoutWaiting(std::move(m_agent)); // its end would notify a check that is gone
}

void ScriptCheck::ask(const Experiment &experiment) {
    if (m_agent)
        return;
    const ScriptRequests requests = requestsFor(experiment);
    Result<QStringList> words = agentWords({});
    if (requests.lines.isEmpty() || !words)
        return Q_EMIT answered({});
    m_agent = std::make_unique<QProcess>();
    boundOutput(*m_agent, mostAnswerBytes);
    const auto over = [this, commands = requests.commands, agent = m_agent.get()] {
        const std::vector<ScriptAnswer> answers = answersIn(agent->readAllStandardOutput(), commands.size());
        ScriptTroubles troubles;
        for (std::size_t i = 0; i < std::min(commands.size(), answers.size()); ++i)
            troubles[commands[i]] = answers[i].error;
        m_agent.release()->deleteLater();
        Q_EMIT answered(troubles);
    };
    connect(m_agent.get(), &QProcess::finished, this, over);
    connect(m_agent.get(), &QProcess::errorOccurred, this, [over](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart) // no end follows
            over();
    });
    m_agent->start(words->takeFirst(), *words);
    if (!m_agent) // it could not be started, which was reported
        return;
    m_agent->write(requests.lines);
    m_agent->closeWriteChannel();
}

} // namespace lockstep::core

#include "moc_script_check.cpp"
