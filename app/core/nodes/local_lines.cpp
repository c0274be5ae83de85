// SPDX-License-Identifier: MIT
#include "nodes/local_lines.h"

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>
#include <QProcess>

#include "base/command_prefix.h"
#include "ipc/documents.h"
#include "nodes/torch_line.h"

namespace lockstep::core {
namespace {

namespace fs = std::filesystem;

/// The trainer's report of itself; empty: it does not run.
std::string factsOf(const std::string &trainer, const QProcessEnvironment &environment) {
    QProcess process;
    process.setProcessEnvironment(environment);
    process.start(QString::fromStdString(trainer), {QStringLiteral("--facts")});
    if (!process.waitForFinished(60'000) || process.exitCode() != 0)
        return {};
    return process.readAllStandardOutput().toStdString();
}

std::string textIn(const std::string &facts, const char *key) {
    return documents::valueIn(documents::objectOrNull(facts), key, "");
}

LocalLine ask(const std::string &agent, const std::string &trainer) {
    LocalLine line{{}, agent, trainer, factsOf(trainer, QProcessEnvironment::systemEnvironment())};
    line.version = textIn(line.facts, "torch");
    if (!line.version.empty())
        return line;
    line.torchHere = false;
    if (const TorchLine *built =
            lineOf(textIn(factsOf(trainer, environmentWith({{"LOCKSTEP_FACTS", "line"}})), "line")))
        line.version = built->version;
    return line;
}

void add(std::vector<LocalLine> &lines, const std::string &agent, const std::string &trainer) {
    std::error_code error;
    if (!fs::exists(agent, error) || !fs::exists(trainer, error))
        return;
    LocalLine line = ask(agent, trainer);
    const auto same = [&](const LocalLine &one) { return lineOf(one.version) == lineOf(line.version); };
    if (!line.version.empty() && std::none_of(lines.begin(), lines.end(), same))
        lines.push_back(std::move(line));
}

std::vector<fs::path> folders(const std::string &agent) {
    if (const QByteArray named = qgetenv("LOCKSTEP_LINES"); !named.isEmpty())
        return {fs::path(named.toStdString())};
    const fs::path bin = fs::path(agent).parent_path();
    return {bin / "../lines", bin / "../lib/lockstep/lines"};
}

} // namespace

std::vector<LocalLine> localLines() {
    std::vector<LocalLine> lines;
    const auto agent = findAgent();
    if (!agent)
        return lines;
    const std::string named = qEnvironmentVariable("LOCKSTEP_TRAINER").toStdString();
    add(lines, *agent, named.empty() ? (fs::path(*agent).parent_path() / "lockstep-trainer").string() : named);
    std::error_code error;
    for (const fs::path &folder : folders(*agent))
        for (const auto &entry : fs::directory_iterator(folder, error)) {
            const fs::path bin = entry.path() / "bin";
            add(lines, (bin / "lockstep-agent").lexically_normal().string(),
                (bin / "lockstep-trainer").lexically_normal().string());
        }
    return lines;
}

Result<LocalLine> localLine(const std::vector<LocalLine> &lines, std::string_view version) {
    const TorchLine *wanted = lineOf(version);
    const auto found = std::find_if(lines.begin(), lines.end(), [&](const LocalLine &line) {
        return wanted ? lineOf(line.version) == wanted : line.version == version;
    });
    if (found == lines.end())
        return fail(Error::badArgument("the trainer is not built for PyTorch " + std::string(version) + " here",
                                       "build it: ./run --lines"));
    return *found;
}

std::vector<std::string> versionsOf(const std::vector<LocalLine> &lines) {
    std::vector<std::string> versions;
    for (const LocalLine &line : lines)
        versions.push_back(line.version);
    return versions;
}

} // namespace lockstep::core
