// SPDX-License-Identifier: MIT
#include "app/ui/shell/queue_control.h"

#include <QSysInfo>

#include "app/ui/shell/experiment_starter.h"
#include "app/ui/shell/followed_work.h"
#include "app/ui/shell/request_words.h"
#include "app/ui/shell/strip_state.h"

namespace lockstep::ui {

QueueControl::QueueControl(FollowedWork &work, const StripState &strip, ExperimentStarter &starter, QObject *parent)
    : QObject(parent), m_work(work), m_strip(strip), m_starter(starter) {
    connect(&m_work, &FollowedWork::openChanged, this, &QueueControl::claim);
    connect(&m_work, &FollowedWork::polled, this, &QueueControl::claim);
    connect(&m_underWay, &RequestsUnderWay::failed, this, &QueueControl::failed);
}

QString QueueControl::me() {
    return QStringLiteral("lockstep on ") + QSysInfo::machineHostName();
}

void QueueControl::stop() {
    if (m_strip.showsLab()) {
        if (const Result<void> asked = core::stopRunningLab(); !asked)
            Q_EMIT failed(QString::fromStdString(asked.error().message()));
        return;
    }
    core::ExperimentFollower *follower = m_work.onStrip();
    if (follower && !follower->experiment().over())
        m_underWay.ask(Deed::Stop, idOf(*follower), tr("Stopping %1…").arg(currentsOf(*follower)),
                       [&] { return follower->stop(me()); });
    else if (core::RunFollower *run = m_work.runFollower())
        m_underWay.ask(Deed::Stop, m_work.id(), tr("Stopping %1…").arg(namedOn(m_work.title(), run->host())),
                       [&] { return run->requestStop(me()); });
}

void QueueControl::trace(std::int64_t steps) {
    core::ExperimentFollower *follower = m_work.onStrip();
    const QString words = tr("Asking %1 for a trace…");
    if (follower && !follower->experiment().over())
        m_underWay.ask(Deed::Trace, idOf(*follower), words.arg(currentsOf(*follower)),
                       [&] { return follower->trace(steps, me()); });
    else if (core::RunFollower *run = m_work.runFollower())
        m_underWay.ask(Deed::Trace, m_work.id(), words.arg(namedOn(m_work.title(), run->host())),
                       [&] { return run->requestTrace(steps, me()); });
}

void QueueControl::askForStacks() {
    core::ExperimentFollower *follower = m_work.onStrip();
    const QString words = tr("Asking the ranks of %1 where they are…");
    if (follower && !follower->experiment().over())
        m_underWay.ask(Deed::Stacks, idOf(*follower), words.arg(currentsOf(*follower)),
                       [&] { return follower->stacks(me()); });
    else if (core::RunFollower *run = m_work.runFollower())
        m_underWay.ask(Deed::Stacks, m_work.id(), words.arg(namedOn(m_work.title(), run->host())),
                       [&] { return run->requestStacks(me()); });
}

bool QueueControl::asking(Deed deed) const {
    return m_underWay.has(deed, m_strip.id());
}

/// The first window that watches a queue gets control; later ones must take over.
void QueueControl::claim() {
    core::ExperimentFollower *follower = m_work.onStrip();
    if (!m_mayControl || !follower || follower->experiment().over() || follower->readOnly() ||
        (follower->holder() && follower->holder()->isMe()))
        return;
    (void)follower->claim(me()); // an unwritable folder is reported at the first request
}

void QueueControl::resumeQueue() {
    if (const core::ExperimentFollower *follower = m_work.onStrip())
        m_starter.resumeQueue(follower->experiment().id);
}

void QueueControl::takeOver() {
    core::ExperimentFollower *follower = m_work.onStrip();
    if (!follower)
        return;
    m_underWay.ask(Deed::TakeOver, idOf(*follower),
                   tr("Taking control of %1…").arg(QString::fromStdString(follower->experiment().title)),
                   [&] { return follower->takeOver(me()); });
}

void QueueControl::ask(core::QueueRequest request) {
    core::ExperimentFollower *follower = m_work.onStrip();
    if (!follower || asking(Deed::Stop))
        return;
    claim();
    request.by = me().toStdString();
    if (!m_underWay.ask(Deed::ChangeQueue, idOf(*follower), sentenceOf(request, *follower),
                        [&] { return follower->ask(request); }))
        return;
    const bool goesOn =
        request.kind == core::QueueRequest::Kind::Retry || request.kind == core::QueueRequest::Kind::Resume;
    if (goesOn && follower->queueHost().isEmpty() && !core::isOwned(follower->experiment().id))
        resumeQueue();
}

core::Asked QueueControl::askAll(core::ExperimentFollower &follower, std::vector<core::QueueRequest> requests,
                                 const std::function<void(const Error &)> &other) {
    std::vector<std::unique_ptr<core::Request>> underWay;
    for (core::QueueRequest &request : requests) {
        request.by = me().toStdString();
        core::Asked asked = follower.ask(request);
        if (!asked && &request == &requests.front())
            return asked;
        if (!asked) { // the requests accepted before it still need an owner
            other(asked.error());
            break;
        }
        if (*asked)
            underWay.push_back(std::move(*asked));
    }
    return underWay.empty() ? core::Asked() : std::make_unique<core::RequestGroup>(std::move(underWay));
}

void QueueControl::skipCurrents() {
    const core::ExperimentFollower *follower = m_work.onStrip();
    if (!follower)
        return;
    std::vector<core::QueueRequest> requests;
    for (const int current : follower->experiment().currents()) {
        core::QueueRequest &request = requests.emplace_back();
        request.kind = core::QueueRequest::Kind::Skip;
        request.entry = current;
    }
    askInTurn(std::move(requests), tr("Stopping %1…").arg(currentsOf(*follower)));
}

void QueueControl::bringBack() {
    const core::ExperimentFollower *follower = m_work.onStrip();
    if (!follower)
        return;
    askInTurn(core::retriesOfDropped(follower->experiment()), tr("Queueing the dropped runs again…"));
    if (follower->queueHost().isEmpty() && !core::isOwned(follower->experiment().id))
        resumeQueue();
}

void QueueControl::askInTurn(std::vector<core::QueueRequest> requests, const QString &sentence) {
    core::ExperimentFollower *follower = m_work.onStrip();
    if (requests.empty() || !follower || asking(Deed::Stop))
        return;
    claim();
    (void)m_underWay.ask(Deed::ChangeQueue, idOf(*follower), sentence, [&] {
        return askAll(*follower, std::move(requests),
                      [this](const Error &error) { Q_EMIT failed(QString::fromStdString(error.message())); });
    });
}

} // namespace lockstep::ui

#include "moc_queue_control.cpp"
