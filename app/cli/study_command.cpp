// SPDX-License-Identifier: MIT
// study: tries a script for one step with each number of processes and each flag, then runs the study as a recipe.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <deque>
#include <optional>

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QTemporaryDir>

#include "base/machine_facts.h"
#include "commands.h"
#include "experiment/study.h"
#include "ipc/printable.h"
#include "launch/attended_run.h"
#include "output.h"
#include "prepared.h"
#include "stop_signals.h"

namespace lockstep::cli {
namespace {

constexpr std::size_t shownLines = 12; ///< of a script that fails
constexpr std::string_view stepLine = "lockstep: the script ends after ", samplesWord = "its first step had ",
                           processesWord = "in each of ";

/// What one trial has shown.
struct TrialResult {
    bool stepped = false;
    std::int64_t samples = 0; ///< of a process's first step; 0: unknown
    int processes = 1;        ///< that trained together
    std::optional<Error> error;
    std::deque<std::string> lastLines;
    bool stopped = false;
};

/// The number behind a word; `number` stays where there is none.
template <class Number> void readNumber(const std::string &text, std::string_view word, Number &number) {
    if (const std::size_t at = text.find(word); at != std::string::npos)
        std::from_chars(text.data() + at + word.size(), text.data() + text.size(), number);
}

/// Runs a script for one step on its devices, with nothing left behind.
TrialResult tried(const core::PlannedRun &run, const core::CommandPrefix &where) {
    TrialResult result;
    core::AttendedRun attended;
    const StopSignals signals([&] {
        result.stopped = true;
        attended.stop();
    });
    QObject::connect(&attended, &core::AttendedRun::said, &attended, [&](int, const QByteArray &line) {
        const std::string text = line.toStdString();
        if (const std::size_t at = text.find(stepLine); at != std::string::npos) {
            result.stepped = true;
            readNumber(text, samplesWord, result.samples);
            readNumber(text, processesWord, result.processes);
            return;
        }
        result.lastLines.push_back(text);
        if (result.lastLines.size() > shownLines)
            result.lastLines.pop_front();
    });
    QObject::connect(&attended, &core::AttendedRun::ended, &attended, [&](const std::optional<Error> &error) {
        result.error = error;
        QCoreApplication::exit(0);
    });
    attended.start(run.config, run.command, run.name, where);
    QCoreApplication::exec();
    return result;
}

void say(const std::string &line) {
    std::fprintf(stderr, "%s\n", printable(line).c_str());
}

std::string scriptName(const core::Study &study) {
    return QFileInfo(QString::fromStdString(study.script)).fileName().toStdString();
}

/// Says what the script printed last; gives why it can't be studied.
Error failureOf(const core::Study &study, const core::PlannedRun &run, const TrialResult &result) {
    for (const std::string &line : result.lastLines)
        say("  " + line);
    if (!result.error)
        return Error::badArgument(scriptName(study) + " ends without a training step that can be seen (" + run.name +
                                      ")",
                                  "a step needs PyTorch's backward() and an optimizer; with --no-trial the study "
                                  "starts anyway");
    return Error::badArgument(scriptName(study) + " fails in its first step (" + run.name + "): " + result.error->what,
                              "correct its flags after -- and in --vary");
}

Error trainsOtherwise(const core::Study &study, int started, int trained) {
    if (trained < started)
        return Error::badArgument(scriptName(study) + " was started as " + std::to_string(started) +
                                      " processes, and each trained alone: it sets up no torch.distributed",
                                  "let it do so where WORLD_SIZE is set, or study it with --nproc 1");
    return Error::badArgument(
        scriptName(study) + " was started as " + std::to_string(started) +
            (started == 1 ? " process, and " : " processes, and ") + std::to_string(trained) +
            " trained together: it starts processes by itself",
        "a study starts them, as torchrun does: let the script be one of them, which RANK and WORLD_SIZE "
        "tell it");
}

/// Tries all trials of the study. Absent: it was stopped.
tl::expected<std::optional<core::StudyTrials>, Errors> tryAll(const core::Study &study, const RunOptions &options) {
    const auto prefix = core::prefixFor(options.host, options.remoteAgent);
    const auto facts = prefix ? core::machineFacts(*prefix) : fail(prefix.error());
    if (!facts)
        return tl::unexpected(Errors{facts.error()});
    core::StudyTrials trials;
    bool told = false;
    const auto planned = [&]() {
        core::Recipe recipe;
        recipe.runs = core::trialsOf(study, told);
        return core::expand(recipe, *facts);
    };
    auto plan = planned();
    if (!plan)
        return tl::unexpected(plan.error());
    for (std::size_t i = 0; i < plan->runs.size(); ++i) {
        if (!plan->runs[i].runnable()) {
            say(plan->runs[i].name + "  " + plan->runs[i].notRunReason);
            continue;
        }
        say("trying one step: " + plan->runs[i].name);
        TrialResult result = tried(plan->runs[i], *prefix);
        const int processes = processCount(plan->runs[i].config);
        if (result.error && !result.stopped && processes == 1 && !told) {
            // A script that always sets up torch.distributed needs to be told that it is rank 0 of 1.
            told = true;
            if (auto again = planned()) {
                TrialResult second = tried(again->runs[i], *prefix);
                if (!second.error && second.stepped) {
                    say("  it needs RANK and WORLD_SIZE, so one process runs as DDP on 1 device");
                    *plan = std::move(*again);
                    result = std::move(second);
                } else
                    told = false;
            }
        }
        if (result.stopped)
            return std::nullopt;
        if (result.error || !result.stepped)
            return tl::unexpected(Errors{failureOf(study, plan->runs[i], result)});
        if (result.processes != processes)
            return tl::unexpected(Errors{trainsOtherwise(study, processes, result.processes)});
        if (!trials.contains(processes))
            trials[processes] = {result.samples, told && processes == 1};
    }
    return trials;
}

Result<core::Study> studyFrom(const StudyOptions &options) {
    core::Study study;
    const QFileInfo script(QString::fromStdString(options.script));
    if (!script.isFile())
        return fail(Error::badArgument("there is no script " + options.script, "name a Python file", "SCRIPT"));
    study.script = script.absoluteFilePath().toStdString();
    study.python = options.python;
    if (options.python.find('/') != std::string::npos)
        study.python = QFileInfo(QString::fromStdString(options.python)).absoluteFilePath().toStdString();
    study.arguments = options.arguments;
    auto processes = core::processCountsFrom(options.processes);
    if (!processes)
        return fail(processes.error());
    study.processes = std::move(*processes);
    for (const std::string &text : options.vary) {
        auto flag = core::variedFlagFrom(text);
        if (!flag)
            return fail(flag.error());
        if (std::ranges::find(study.varied, flag->name, &core::VariedFlag::name) != study.varied.end())
            return fail(
                Error::badArgument("--vary names " + flag->name + " twice", "give all its values at once", "--vary"));
        study.varied.push_back(std::move(*flag));
    }
    study.device = options.device;
    study.coresPerDevice = options.coresPerDevice;
    study.maxSteps = options.maxSteps;
    if (options.run.repeats)
        study.repeats = *options.run.repeats;
    return study;
}

} // namespace

int studyCommand(StudyOptions options) {
    const auto study = studyFrom(options);
    if (!study)
        return complain(study.error());
    core::StudyTrials trials;
    if (options.trial) {
        auto all = tryAll(*study, options.run);
        if (!all)
            return complain(all.error());
        if (!*all)
            return Stopped;
        trials = std::move(**all);
    }
    const std::string recipe = core::toJson(core::recipeOf(*study, trials));
    if (!options.save.empty()) {
        if (const auto written = writeFile(options.save, recipe); !written)
            return complain(written.error());
        print("the study is in " + options.save + "; run it: lockstepctl run " + options.save + "\n");
        return Done;
    }
    const QTemporaryDir folder;
    options.run.recipe = folder.filePath(QStringLiteral("study.json")).toStdString();
    if (const auto written = writeFile(options.run.recipe, recipe); !written)
        return complain(written.error());
    return runCommand(options.run);
}

} // namespace lockstep::cli
