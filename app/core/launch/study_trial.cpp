// SPDX-License-Identifier: MIT
#include "launch/study_trial.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/format.h"

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

std::string lastOf(const std::deque<std::string> &lines) {
    const auto last = std::find_if(lines.rbegin(), lines.rend(), [](const auto &line) { return !line.empty(); });
    return last == lines.rend() ? std::string() : *last;
}

/// The module that a Python didn't find; empty: that is not why the script failed.
std::string missingModule(const std::string &lastLine) {
    constexpr std::string_view before = "ModuleNotFoundError: No module named '";
    return lastLine.starts_with(before)
               ? lastLine.substr(before.size(), lastLine.find('\'', before.size()) - before.size())
               : std::string();
}

/// Whether a lone process may have failed because it isn't given its rank. argparse ends with "train.py: error: …".
bool mayLackRank(const std::string &lastLine) {
    return missingModule(lastLine).empty() && lastLine.find(".py: error: ") == std::string::npos &&
           !lastLine.starts_with("SyntaxError: ");
}

} // namespace

StudyTrialJob::StudyTrialJob(Study study, MachineFacts facts, CommandPrefix where, QObject *parent)
    : QObject(parent), m_study(std::move(study)), m_facts(std::move(facts)), m_where(std::move(where)) {
    m_patience.setSingleShot(true);
    m_patience.setInterval(m_study.trialLimit);
    connect(&m_patience, &QTimer::timeout, this, [this] {
        m_late = true;
        m_attended->stop();
    });
}

StudyTrialJob::~StudyTrialJob() {
    endWithoutWaiting(std::move(m_attended));
}

std::optional<std::vector<PlannedRun>> StudyTrialJob::planned(bool givesRank) {
    Recipe recipe;
    recipe.runs = trialsOf(m_study, givesRank);
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
    Q_EMIT trying(
        QStringLiteral("%1 (%2 of %3)")
            .arg(QString::fromStdString(run().name), QString::number(m_at + 1), QString::number(m_runs.size())));
    begin(run());
}

void StudyTrialJob::begin(const PlannedRun &run) {
    m_stepped = m_late = false;
    m_samples = 0;
    m_trained = 1;
    m_lastLines.clear();
    endWithoutWaiting(std::move(m_attended)); // it may be what calls
    m_attended = std::make_unique<AttendedRun>();
    connect(m_attended.get(), &AttendedRun::said, this, [this](int, const QByteArray &line) { onLine(line); });
    connect(m_attended.get(), &AttendedRun::ended, this, &StudyTrialJob::over);
    m_patience.start();
    m_attended->start(run.config, run.command, run.name, m_where);
}

void StudyTrialJob::onLine(const QByteArray &line) {
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

Error StudyTrialJob::takesTooLong() const {
    const std::string when =
        " within " + timeLeft(double(m_study.trialLimit.count())).toStdString() + " (" + run().name + ")";
    if (m_stepped)
        return Error::failed(scriptName(m_study) + " goes on after its first step and has not ended" + when,
                             "it may catch SystemExit, by which a trial ends it, or take long to clean up");
    return Error::failed(
        scriptName(m_study) + " has ended no training step that can be seen" + when,
        "a step needs PyTorch's backward() and an optimizer; where the first one takes longer, allow more "
        "time (lockstepctl study --trial-limit)");
}

Error StudyTrialJob::failsInFirstStep(const Error &error) const {
    const std::string missing = missingModule(lastOf(m_lastLines));
    return Error::badArgument(scriptName(m_study) + " fails in its first step (" + run().name + "): " + error.what,
                              missing.empty() ? "correct its arguments and the flags that are varied"
                                              : "name a Python that has " + missing +
                                                    " in LOCKSTEP_PYTHON (lockstepctl study: --python), or install it");
}

void StudyTrialJob::over(const std::optional<Error> &error) {
    m_patience.stop();
    if (m_stopped)
        return end({Error::failed("the trial was stopped")});
    if (m_late && (error || !m_stepped))
        return end({takesTooLong()});
    const int processes = processCount(run().config);
    if (error && processes == 1 && !m_givesRank && mayLackRank(lastOf(m_lastLines))) {
        // A script that always sets up torch.distributed needs to know that it is rank 0 of 1.
        auto runs = planned(true);
        if (!runs)
            return;
        m_firstError = failsInFirstStep(*error);
        m_withoutRank = std::exchange(m_runs, std::move(*runs));
        m_givesRank = true;
        return begin(run());
    }
    if (m_firstError && (error || !m_stepped)) { // nor does it run then: the first reason is the true one
        m_runs = std::move(m_withoutRank);
        return end({*m_firstError});
    }
    if (std::exchange(m_firstError, std::nullopt))
        Q_EMIT noted(tr("It needs RANK and WORLD_SIZE, so one process runs as DDP on 1 device."));
    if (error)
        return end({failsInFirstStep(*error)});
    if (!m_stepped)
        return end({Error::badArgument(scriptName(m_study) + " ended without a training step that can be seen (" +
                                           run().name + ")",
                                       "a step needs PyTorch's backward() and an optimizer")});
    if (m_trained != processes)
        return end({trainsOtherwise(m_study, processes, m_trained)});
    if (!m_trials.contains(processes))
        m_trials[processes] = {m_samples, m_givesRank && processes == 1};
    ++m_at;
    next();
}

void StudyTrialJob::end(std::vector<Error> errors) {
    if (std::exchange(m_ended, true))
        return;
    for (const Error &error : errors) // it need not be read twice
        std::erase_if(m_lastLines,
                      [&](const std::string &line) { return !line.empty() && error.what.ends_with(line); });
    if (errors.empty())
        Q_EMIT finished();
    else
        Q_EMIT failed(errors);
}

} // namespace lockstep::core

#include "moc_study_trial.cpp"
