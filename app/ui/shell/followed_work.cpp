// SPDX-License-Identifier: MIT
#include "app/ui/shell/followed_work.h"

#include <algorithm>

#include <QFile>

#include "follow/remote_copy.h"
#include "ipc/run_folder.h"
#include "ipc/unix_socket.h"
#include "nodes/known_places.h"
#include "queue/named_places.h"
#include "queue/queue_origin.h"

namespace lockstep::ui {
namespace {

/// The experiment that a run names as its own; empty: none, or it can't be read.
QString experimentOf(const QString &run) {
    const auto record = readRunRecord(runFolder(run.toStdString()));
    return record ? QString::fromStdString(record->experiment) : QString();
}

Error noSuch(const QString &id) {
    return Error::badArgument("no run or experiment is called \"" + id.left(80).toStdString() + "\"",
                              "`lockstepctl list` shows them all");
}

} // namespace

FollowedWork::FollowedWork(QObject *parent) : QObject(parent) {
    m_poll.setInterval(2000);
    connect(&m_poll, &QTimer::timeout, this, [this] {
        lookForRunning();
        Q_EMIT polled();
    });
    m_poll.start();
}

FollowedWork::~FollowedWork() {
    for (const auto &follower : m_followers)
        core::releaseControl(follower->experiment().id);
    m_runs.clear();
}

core::ExperimentFollower *FollowedWork::followerFor(const QString &id, Error *error) {
    for (const auto &follower : m_followers)
        if (QString::fromStdString(follower->experiment().id) == id)
            return follower.get();
    auto follower = std::make_unique<core::ExperimentFollower>();
    if (auto opened = follower->open(id.toStdString()); !opened) {
        *error = opened.error();
        return nullptr;
    }
    core::ExperimentFollower *out = follower.get();
    connect(out, &core::ExperimentFollower::experimentChanged, this, [this, out] {
        if (out == m_open)
            Q_EMIT openExperimentChanged();
        Q_EMIT onStripChanged();
    });
    connect(out, &core::ExperimentFollower::runAdded, this, [this, out](int, core::RunStore *store) {
        if (out == m_open)
            m_runs.add(store);
    });
    connect(out, &core::ExperimentFollower::refused, this, &FollowedWork::refused);
    m_followers.push_back(std::move(follower));
    return out;
}

void FollowedWork::show(core::ExperimentFollower *follower) {
    clearOpen();
    m_open = follower;
    std::vector<core::RunStore *> stores = follower->stores();
    std::erase(stores, nullptr); // of entries that have no run yet
    m_runs.assign(stores);
    Q_EMIT onStripChanged();
    dropUnused();
    Q_EMIT openChanged();
}

void FollowedWork::clearOpen() {
    m_runs.clear();
    m_open = nullptr;
    m_runFollower.reset();
    m_run.reset();
}

/// A window that leaves an experiment gives up control, so that another one need not ask for it.
void FollowedWork::dropUnused() {
    std::erase_if(m_followers, [this](const auto &follower) {
        if (follower.get() == m_open || follower.get() == m_running)
            return false;
        if (follower->holder() && follower->holder()->isMe())
            core::releaseControl(follower->experiment().id);
        return true;
    });
}

Result<void> FollowedWork::open(const QString &id) {
    const Result<core::Experiment> read = core::readExperiment(id.toStdString());
    if (!read && !isRunId(id.toStdString()))
        return fail(noSuch(id));
    if (!read && QFile::exists(QString::fromStdString(core::experimentFolder(id.toStdString()).json())))
        return fail(read.error()); // damaged, or of a newer version
    if (!read && isRunId(id.toStdString())) {
        const QString experiment = experimentOf(id);
        if (experiment.isEmpty() || !core::readExperiment(experiment.toStdString()))
            return openRun(id);
        return open(experiment);
    }
    Error error;
    core::ExperimentFollower *follower = followerFor(id, &error);
    if (!follower)
        return fail(error);
    show(follower);
    return {};
}

Result<void> FollowedWork::openRun(const QString &runId) {
    const RunFolder folder = runFolder(runId.toStdString());
    if (!isRunId(runId.toStdString()) || !QFile::exists(QString::fromStdString(folder.config())))
        return fail(noSuch(runId));
    if (const Result<std::string> config = realFileSystem().readAll(folder.config()); !config)
        return fail(config.error());
    clearOpen();
    Q_EMIT onStripChanged();
    dropUnused();
    m_run = std::make_unique<core::RunStore>(runId);
    m_runFollower = std::make_unique<core::RunFollower>(m_run.get(), runId);
    m_runs.add(m_run.get());
    m_runFollower->start();
    Q_EMIT openChanged();
    return {};
}

QString FollowedWork::openPlaceQuestion() const {
    const auto unknown = core::unknownPlacesOf(id().toStdString());
    if (unknown.empty())
        return {};
    return (m_open ? tr("This experiment says that it runs elsewhere. Following it would start %1.")
                   : tr("This run says that it runs elsewhere. Following it would start %1."))
        .arg(QString::fromStdString(core::placesText(unknown)));
}

Result<void> FollowedWork::connectToOpenPlaces() {
    const QString again = id();
    const bool single = m_run != nullptr;
    if (auto known = core::acceptPlacesOf(again.toStdString()); !known)
        return known;
    clearOpen();
    if (m_running && QString::fromStdString(m_running->experiment().id) == again)
        m_running = nullptr;
    Q_EMIT onStripChanged();
    dropUnused();
    return single ? openRun(again) : open(again);
}

bool FollowedWork::attachToRunning() {
    lookForRunning();
    if (!m_running)
        return false;
    if (m_running != m_open)
        show(m_running);
    return true;
}

void FollowedWork::lookForRunning() {
    core::ExperimentFollower *before = m_running;
    if (m_running && m_running->experiment().over())
        m_running = nullptr;
    if (!m_running) {
        const auto all = core::listExperiments();
        // Newest first: an old unfinished one without an owner is history.
        for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 20) && !m_running; ++i) {
            if (!core::isOwned(all[i]) && (i > 0 || !runsUnowned(all[i])))
                continue;
            const std::string stamp = core::experimentStamp(all[i]);
            if (const auto known = m_overAt.find(all[i]); known != m_overAt.end() && known->second == stamp)
                continue;
            Error error;
            const std::size_t followed = m_followers.size();
            core::ExperimentFollower *follower = followerFor(QString::fromStdString(all[i]), &error);
            if (follower && m_followers.size() > followed && follower->experiment().over()) // as it was just read
                m_overAt[all[i]] = stamp;
            if (follower && !follower->experiment().over() &&
                core::unknownPlacesOf(all[i]).empty()) // somebody else's folder is not shown unasked
                m_running = follower;
        }
    }
    if (before != m_running)
        Q_EMIT onStripChanged();
    dropUnused();
}

/// A document alone may say anything: its queue is elsewhere, or a run of it is, or has an agent here.
bool FollowedWork::runsUnowned(const std::string &id) {
    if (core::queueOriginOf(id))
        return true;
    if (const std::string stamp = core::experimentStamp(id); m_unowned.id != id || m_unowned.stamp != stamp) {
        m_unowned = {id, stamp, {}};
        if (const auto experiment = core::readExperiment(id))
            for (const int entry : experiment->currents())
                m_unowned.runs.push_back(experiment->entries[std::size_t(entry)].run);
    }
    return std::ranges::any_of(m_unowned.runs, [](const std::string &run) {
        const RunFolder folder = runFolder(run);
        return FileLock::isHeld(folder.lock(ownNode(folder))) || core::originOf(folder);
    });
}

QString FollowedWork::id() const {
    return m_open ? QString::fromStdString(m_open->experiment().id) : m_run ? m_run->runId() : QString();
}

QString FollowedWork::title() const {
    return m_open ? QString::fromStdString(m_open->experiment().title) : m_run ? m_run->identity().title() : QString();
}

bool FollowedWork::complete() const {
    if (m_open && !m_open->experiment().over())
        return false;
    return std::all_of(m_runs.stores().begin(), m_runs.stores().end(), [](const core::RunStore *store) {
        const core::LinkState link = store->lifecycle().link();
        return link == core::LinkState::Finished || link == core::LinkState::AgentDied ||
               link == core::LinkState::Failed || link == core::LinkState::Unknown;
    });
}

bool FollowedWork::isRead() const {
    return std::none_of(m_runs.stores().begin(), m_runs.stores().end(), [](const core::RunStore *store) {
        const core::LinkState link = store->lifecycle().link();
        return link == core::LinkState::Idle || link == core::LinkState::Replaying ||
               link == core::LinkState::Connecting;
    });
}

} // namespace lockstep::ui

#include "moc_followed_work.cpp"
