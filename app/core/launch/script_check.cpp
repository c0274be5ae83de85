// SPDX-License-Identifier: MIT
#include "launch/script_check.h"
#include "ipc/documents.h"

#include <algorithm>

#include <nlohmann/json.hpp>
#include <QProcess>

namespace lockstep::core {
namespace {

constexpr int patienceMs = 60'000; // starts each Python once, perhaps from a cold disk

/// One line of request per distinct script.
QByteArray requestsFor(const Experiment &experiment) {
    QByteArray lines;
    std::vector<std::vector<std::string>> asked;
    for (const ExperimentEntry &entry : experiment.entries) {
        const std::vector<std::string> &command = entry.planned.command;
        if (command.empty() || !entry.planned.runnable() ||
            std::find(asked.begin(), asked.end(), command) != asked.end())
            continue;
        asked.push_back(command);
        lines += QByteArray::fromStdString(toJson(requestFor(experiment, entry))) + '\n';
    }
    return lines;
}

template <class Take> void takeOnce(std::vector<Take> &list, Take item) {
    if (std::find(list.begin(), list.end(), item) == list.end())
        list.push_back(std::move(item));
}

} // namespace

tl::expected<std::vector<std::string>, std::vector<Error>> checkScripts(const CommandPrefix &prefix,
                                                                        const Experiment &experiment) {
    const QByteArray requests = requestsFor(experiment);
    std::vector<std::string> pythons, sentences;
    if (requests.isEmpty())
        return pythons;
    CommandPrefix resolved = prefix;
    if (prefix.local()) {
        const Result<std::string> agent = findAgent();
        if (!agent)
            return tl::unexpected(std::vector{agent.error()});
        resolved.agent = *agent;
    }
    QStringList words;
    for (const std::string &word : agentCommand(resolved, {"check"}))
        words << QString::fromStdString(word);
    QProcess process;
    process.start(words.takeFirst(), words);
    process.write(requests);
    process.closeWriteChannel();
    const bool answered = process.waitForFinished(patienceMs);
    for (const QByteArray &line : process.readAllStandardOutput().split('\n')) {
        const auto json = documents::objectOrNull({line.constData(), std::size_t(line.size())});
        if (!json.is_object())
            continue;
        if (documents::valueIn(json, "type", "") == "error")
            takeOnce(sentences, documents::valueIn(json, "message", std::string()));
        else if (const std::string python = documents::valueIn(json, "python", std::string()); !python.empty())
            takeOnce(pythons, python);
    }
    if (!answered || (process.exitCode() != 0 && sentences.empty()))
        sentences = {"lockstep-agent could not check the scripts: " +
                     process.readAllStandardError().trimmed().toStdString()};
    if (sentences.empty())
        return pythons;
    std::vector<Error> errors;
    for (const std::string &sentence : sentences)
        errors.push_back(Error::badArgument(sentence));
    return tl::unexpected(errors);
}

} // namespace lockstep::core
