// SPDX-License-Identifier: MIT
#include "app/ui/shell/suggested_runs.h"

#include <algorithm>

#include "app/ui/shell/experiment_starter.h"
#include "app/ui/shell/followed_work.h"
#include "app/ui/shell/queue_control.h"
#include "app/ui/shell/request_words.h"
#include "queue/slurm/slurm_experiment.h"

namespace lockstep::ui {
namespace {

/// A further run, as often as the reference.
core::QueueRequest requestToAdd(const core::Experiment &experiment, const core::SuggestedRun &run) {
    const auto reference = std::ranges::find_if(experiment.entries, [&](const core::ExperimentEntry &entry) {
        return entry.planned.name == experiment.reference;
    });
    core::QueueRequest request;
    request.kind = core::QueueRequest::Kind::Add;
    core::PlannedRun &added = request.added.emplace();
    added.name = run.name;
    added.note = run.why;
    added.config = run.config;
    added.command = run.command;
    added.claims = run.claims;
    added.repeats = reference == experiment.entries.end() ? 1 : reference->planned.repeats;
    return request;
}

core::QueueRequest requestToRepeat(int rounds) {
    core::QueueRequest request;
    request.kind = core::QueueRequest::Kind::Repeat;
    request.rounds = rounds;
    return request;
}

} // namespace

SuggestedRuns::SuggestedRuns(FollowedWork &work, RequestsUnderWay &underWay, ExperimentStarter &starter,
                             QObject *parent)
    : QObject(parent), m_work(work), m_underWay(underWay), m_starter(starter) {}

QString SuggestedRuns::whyNotTry() const {
    const core::ExperimentFollower *open = m_work.opened(), *running = m_work.running();
    if (!open)
        return tr("A single run has no queue: open its experiment");
    if (core::isSlurmExperiment(open->experiment().id))
        return tr("Its queue is Slurm's: submit further runs by lockstepctl slurm submit");
    if (m_underWay.has(Deed::ChangeQueue, idOf(*open)) || m_underWay.has(Deed::Stop, idOf(*open)))
        return tr("The queue hasn't answered the previous request yet");
    if (running && running != open)
        return tr("%1 is running now: both would be slower, and neither would be measured fairly")
            .arg(QString::fromStdString(running->experiment().title));
    if (open->readOnly())
        return tr("This window is read-only, since %1 controls the experiment: take over first")
            .arg(QString::fromStdString(open->holder()->title()));
    return {};
}

void SuggestedRuns::tryRun(const core::SuggestedRun &run) {
    if (!mayTry())
        return Q_EMIT failed(whyNotTry());
    core::ExperimentFollower *open = m_work.opened();
    const core::Experiment &experiment = open->experiment();
    std::vector<core::QueueRequest> requests = core::retriesOf(experiment, run.again, run.alone);
    if (run.rounds > 0)
        requests = {requestToRepeat(run.rounds)};
    else if (run.again.empty())
        requests = {requestToAdd(experiment, run)};
    else if (requests.empty())
        return Q_EMIT failed(tr("%1: its runs are already queued again, or belong to another experiment")
                                 .arg(QString::fromStdString(run.name)));
    const auto askAll = [&] {
        return QueueControl::askAll(*open, std::move(requests), [this](const Error &error) {
            Q_EMIT failed(QString::fromStdString(error.message()));
        });
    };
    const QString words = tr("Queueing %1…").arg(namedOn(QString::fromStdString(run.name), open->queueHost()));
    if (!m_underWay.ask(Deed::ChangeQueue, idOf(*open), words, askAll))
        return;
    m_work.lookForRunning();
    if (open->queueHost().isEmpty() && !core::isOwned(experiment.id)) // a queue elsewhere is resumed by its machine
        m_starter.resumeQueue(experiment.id);
}

} // namespace lockstep::ui

#include "moc_suggested_runs.cpp"
