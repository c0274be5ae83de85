// SPDX-License-Identifier: MIT
// study: tries a script for one step with each number of processes and each flag, then runs the study as a recipe.
#include <cstdio>

#include <QCoreApplication>
#include <QFileInfo>
#include <QTemporaryDir>

#include "base/machine_facts.h"
#include "commands.h"
#include "experiment/study.h"
#include "ipc/printable.h"
#include "launch/study_trial.h"
#include "output.h"
#include "prepared.h"
#include "stop_signals.h"

namespace lockstep::cli {
namespace {

void say(const std::string &line) {
    std::fprintf(stderr, "%s\n", printable(line).c_str());
}

/// Tries all trials of the study; gives its exit code.
int tryAll(const core::Study &study, const RunOptions &options, core::StudyTrials &trials) {
    const auto prefix = core::prefixFor(options.host, options.remoteAgent);
    const auto facts = prefix ? core::machineFacts(*prefix) : fail(prefix.error());
    if (!facts)
        return complain(facts.error());
    core::StudyTrialJob job(study, *facts, *prefix);
    bool stopped = false;
    const StopSignals signals([&] {
        stopped = true;
        job.stop();
    });
    QObject::connect(&job, &core::StudyTrialJob::trying, &job,
                     [](const QString &what) { say("trying one step: " + text(what)); });
    QObject::connect(&job, &core::StudyTrialJob::noted, &job, [](const QString &what) { say("  " + text(what)); });
    QObject::connect(&job, &core::StudyTrialJob::finished, &job, [&] {
        trials = job.trials();
        QCoreApplication::exit(Done);
    });
    QObject::connect(&job, &core::StudyTrialJob::failed, &job, [&](const Errors &errors) {
        if (stopped)
            return QCoreApplication::exit(Stopped);
        for (const std::string &line : job.lastLines())
            say("  " + line);
        QCoreApplication::exit(complain(errors));
    });
    QMetaObject::invokeMethod(&job, &core::StudyTrialJob::start, Qt::QueuedConnection); // it may end at once
    return QCoreApplication::exec();
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
    for (const std::string &text : options.vary)
        if (const auto added = core::addVaried(study, text); !added)
            return fail(added.error());
    study.device = options.device;
    study.coresPerDevice = options.coresPerDevice;
    study.maxSteps = options.maxSteps;
    study.trialLimit = std::chrono::seconds(options.trialLimitS);
    if (options.run.repeats)
        study.repeats = *options.run.repeats;
    if (const auto right = core::checkStudy(study); !right)
        return fail(right.error());
    return study;
}

} // namespace

int studyCommand(StudyOptions options) {
    const auto study = studyFrom(options);
    if (!study)
        return complain(study.error());
    core::StudyTrials trials;
    if (options.trial)
        if (const int code = tryAll(*study, options.run, trials); code != Done)
            return code;
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
