// SPDX-License-Identifier: MIT
#include "launch/study_trial.h"

#include <charconv>
#include <filesystem>

namespace lockstep::core {
namespace {

constexpr std::size_t keptLines = 12;
/// What resources/python/lockstep/auto.py prints where it ends a script.
constexpr std::string_view stepLine = "lockstep: the script ends after ", samplesWord = "its first step had ",
                           processesWord = "in each of ";

/// The number behind a word; `number` stays where there is none.
template <class Number> void readNumber(const std::string &text, std::string_view word, Number &number) {
    if (const std::size_t at = text.find(word); at != std::string::npos)
        std::from_chars(text.data() + at + word.size(), text.data() + text.size(), number);
}

std::string scriptName(const Study &study) {
    return std::filesystem::path(study.script).filename();
}

Error trainsOtherwise(const Study &study, int started, int trained) {
    if (trained < started)
        return Error::badArgument(scriptName(study) + " was started as " + std::to_string(started) +
                                      " processes, and each trained alone: it sets up no torch.distributed",
                                  "let it do so where WORLD_SIZE is set, or study it with one process");
    return Error::badArgument(scriptName(study) + " was started as " + std::to_string(started) +
                                  (started == 1 ? " process, and " : " processes, and ") + std::to_string(trained) +
                                  " trained together: it starts processes by itself",
                              "a study starts them, as torchrun does: let the script be one of them, which RANK and "
                              "WORLD_SIZE tell it");
}

} // namespace

StudyTrialJob::StudyTrialJob(Study study, MachineFacts facts, CommandPrefix where, QObject *parent)
    : QObject(parent), m_study(std::move(study)), m_facts(std::move(facts)), m_where(std::move(where)) {}

StudyTrialJob::~StudyTrialJob() {
    endWithoutWaiting(std::move(m_attended));
}

std::optional<std::vector<PlannedRun>> StudyTrialJob::planned(bool told) {
    Recipe recipe;
    recipe.runs = trialsOf(m_study, told);
    auto plan = expand(recipe, m_facts);
    if (!plan) {
        end(plan.error());
        return std::nullopt;
    }
    return std::move(plan->runs);
}

void StudyTrialJob::start() {
    if (auto runs = planned(false)) {
        m_runs = std::move(*runs);
        next();
    }
}

void StudyTrialJob::stop() {
    m_stopped = true;
    if (m_attended)
        m_attended->stop();
}

void StudyTrialJob::next() {
    for (; m_at < m_runs.size() && !run().runnable(); ++m_at)
        Q_EMIT noted(QString::fromStdString(run().name + ": " + run().notRunReason));
    if (m_at >= m_runs.size())
        return end({});
    Q_EMIT trying(QString::fromStdString(run().name));
    begin(run());
}

void StudyTrialJob::begin(const PlannedRun &run) {
    m_stepped = false;
    m_samples = 0;
    m_trained = 1;
    m_lastLines.clear();
    endWithoutWaiting(std::move(m_attended)); // it may be what calls
    m_attended = std::make_unique<AttendedRun>();
    connect(m_attended.get(), &AttendedRun::said, this, [this](int, const QByteArray &line) { hear(line); });
    connect(m_attended.get(), &AttendedRun::ended, this, &StudyTrialJob::over);
    m_attended->start(run.config, run.command, run.name, m_where);
}

void StudyTrialJob::hear(const QByteArray &line) {
    const std::string text = line.toStdString();
    if (text.find(stepLine) != std::string::npos) {
        m_stepped = true;
        readNumber(text, samplesWord, m_samples);
        readNumber(text, processesWord, m_trained);
        return;
    }
    m_lastLines.push_back(text);
    if (m_lastLines.size() > keptLines)
        m_lastLines.pop_front();
}

void StudyTrialJob::over(const std::optional<Error> &error) {
    if (m_stopped)
        return end({Error::failed("the trial was stopped")});
    const int processes = processCount(run().config);
    if (error && processes == 1 && !m_told) {
        // A script that always sets up torch.distributed needs to be told that it is rank 0 of 1.
        auto runs = planned(true);
        if (!runs)
            return;
        m_firstError = error;
        m_untold = std::exchange(m_runs, std::move(*runs));
        m_told = true;
        return begin(run());
    }
    if (m_firstError && (error || !m_stepped)) { // nor does it run then: the first reason is the true one
        m_runs = std::move(m_untold);
        return end({Error::badArgument(scriptName(m_study) + " fails in its first step (" + run().name +
                                           "): " + m_firstError->what,
                                       "correct its arguments and the flags that are varied")});
    }
    if (std::exchange(m_firstError, std::nullopt))
        Q_EMIT noted(tr("It needs RANK and WORLD_SIZE, so one process runs as DDP on 1 device."));
    if (error)
        return end(
            {Error::badArgument(scriptName(m_study) + " fails in its first step (" + run().name + "): " + error->what,
                                "correct its arguments and the flags that are varied")});
    if (!m_stepped)
        return end({Error::badArgument(scriptName(m_study) + " ends without a training step that can be seen (" +
                                           run().name + ")",
                                       "a step needs PyTorch's backward() and an optimizer")});
    if (m_trained != processes)
        return end({trainsOtherwise(m_study, processes, m_trained)});
    if (!m_trials.contains(processes))
        m_trials[processes] = {m_samples, m_told && processes == 1};
    ++m_at;
    next();
}

void StudyTrialJob::end(std::vector<Error> errors) {
    if (std::exchange(m_ended, true))
        return;
    if (errors.empty())
        Q_EMIT finished();
    else
        Q_EMIT failed(errors);
}

} // namespace lockstep::core
