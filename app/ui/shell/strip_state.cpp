// SPDX-License-Identifier: MIT
#include "app/ui/shell/strip_state.h"

#include "app/ui/shell/followed_work.h"
#include "app/ui/shell/request_words.h"
#include "base/format.h"
#include "ipc/clock.h"
#include "store/recent_data.h"
#include "store/run_progress.h"

namespace lockstep::ui {

StripState::StripState(FollowedWork &work, QObject *parent) : QObject(parent), m_work(work) {
    m_soon.setSingleShot(true);
    m_soon.setInterval(50);
    connect(&m_soon, &QTimer::timeout, this, &StripState::changed);
    connect(&m_work, &FollowedWork::onStripChanged, this, [this] {
        if (m_queue.follower() != m_work.onStrip())
            m_queue.setFollower(m_work.onStrip());
        Q_EMIT changed();
    });
    connect(&m_work, &FollowedWork::openChanged, this, &StripState::changed);
    connect(&m_work.runs(), &core::RunSet::changed, this, [this](int, core::RunStore::Changes what) {
        if (m_work.run() && (what & (core::RunStore::State | core::RunStore::ProgressChange | core::RunStore::Link)))
            changesSoon();
    });
    connect(&m_queue, &core::ExperimentModel::changed, this, &StripState::changesSoon);
    connect(&m_work, &FollowedWork::polled, this, &StripState::lookForLab);
    lookForLab();
}

void StripState::changesSoon() {
    if (!m_soon.isActive())
        m_soon.start();
}

void StripState::lookForLab() {
    std::optional<core::LabProgress> lab = m_work.running() ? std::nullopt : core::runningLab();
    if (lab == m_lab)
        return;
    m_lab = std::move(lab);
    Q_EMIT changed();
}

bool StripState::showsLab() const {
    return m_lab && !m_work.running() && !ofWork().active;
}

core::ExperimentModel::Strip StripState::now() const {
    return showsLab() ? ofLab() : ofWork();
}

core::ExperimentModel::Strip StripState::ofLab() const {
    core::ExperimentModel::Strip out;
    out.title = tr("Lab");
    out.name = QString::fromStdString(m_lab->what);
    out.state = tr("measuring");
    out.fraction = out.overall = m_lab->fraction;
    out.active = true;
    const double tookS = double(SystemClock().wallUs() - m_lab->startWallUs) / 1e6;
    if (m_lab->fraction > 0.02 && m_lab->startWallUs > 0) // before, it is a guess
        out.left = tr("%1 left").arg(core::timeLeft(tookS * (1 - m_lab->fraction) / m_lab->fraction));
    return out;
}

core::ExperimentModel::Strip StripState::ofWork() const {
    if (m_queue.follower())
        return m_queue.strip();
    core::ExperimentModel::Strip out;
    const core::RunStore *run = m_work.run();
    if (!run)
        return out;
    out.noRecentData = core::whyNoRecentData(*run);
    const core::Progress progress = out.noRecentData.isEmpty() ? core::progressOf(*run) : core::Progress();
    out.title = run->identity().title();
    out.name = run->identity().title();
    out.state = out.noRecentData.isEmpty() ? core::activityOf(*run, progress) : out.noRecentData;
    out.fraction = out.overall = progress.fraction;
    if (const QString epoch = core::epochText(progress); !epoch.isEmpty())
        out.epoch = tr("epoch %1").arg(epoch);
    if (progress.leftS && !run->over())
        out.left = tr("%1 left").arg(core::timeLeft(progress.leftS));
    out.active = !run->over() && !run->lifecycle().unknown();
    return out;
}

QString StripState::id() const {
    const core::ExperimentFollower *follower = m_queue.follower();
    return follower ? idOf(*follower) : m_work.run() ? m_work.run()->runId() : QString();
}

const core::RunStore *StripState::currentRun() const {
    const core::ExperimentFollower *follower = m_queue.follower();
    return follower ? follower->current() : m_work.run();
}

QString StripState::method() const {
    const core::RunStore *run = currentRun();
    return run ? run->identity().method() : QString();
}

QString StripState::linkSentence() const {
    const core::RunStore *run = currentRun();
    if (!run)
        return {};
    const std::string_view link = core::toString(run->lifecycle().link());
    const QString own = run->lifecycle().linkSentence().isEmpty()
                            ? QString::fromUtf8(link.data(), qsizetype(link.size()))
                            : run->lifecycle().linkSentence();
    return run->links().all().empty() ? own : own + QStringLiteral("; ") + run->links().sentence();
}

QString StripState::lostNodes() const {
    const core::RunStore *run = currentRun();
    return run && core::linkToNodeLost(*run) ? run->links().sentence() : QString();
}

QString StripState::heldBy() const {
    const core::ExperimentFollower *follower = m_queue.follower();
    return follower && follower->readOnly() ? QString::fromStdString(follower->holder()->title()) : QString();
}

int StripState::queuedRuns() const {
    const core::ExperimentFollower *follower = m_queue.follower();
    return follower ? int(follower->experiment().queued().size()) : 0;
}

int StripState::droppedRuns() const {
    const core::ExperimentFollower *follower = m_queue.follower();
    return follower ? int(core::retriesOfDropped(follower->experiment()).size()) : 0;
}

std::vector<core::ExperimentModel::Failure> StripState::failures() const {
    const core::RunStore *run = m_work.run();
    const QString state = run && !m_queue.follower() ? run->lifecycle().sentence() : QString();
    if (!state.startsWith(QLatin1String("failed")))
        return m_queue.failures();
    const QString name = run->identity().title();
    return {{name, run->runId(), core::failedSentence(name, state)}};
}

QString StripState::runningElsewhere() const {
    const core::ExperimentFollower *running = m_work.running();
    const bool runs = running && !running->experiment().over(); // one that is over stays here until the next check
    return runs && running != m_work.opened() ? idOf(*running) : QString();
}

} // namespace lockstep::ui

#include "moc_strip_state.cpp"
