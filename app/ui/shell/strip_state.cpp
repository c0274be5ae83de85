// SPDX-License-Identifier: MIT
#include "app/ui/shell/strip_state.h"

#include "app/ui/shell/followed_work.h"
#include "app/ui/shell/request_words.h"
#include "base/format.h"
#include "store/run_progress.h"
#include "store/unheard.h"

namespace lockstep::ui {

StripState::StripState(FollowedWork &work, QObject *parent) : QObject(parent), m_work(work) {
    connect(&m_work, &FollowedWork::onStripChanged, this, [this] {
        if (m_queue.follower() != m_work.onStrip())
            m_queue.setFollower(m_work.onStrip());
        Q_EMIT changed();
    });
    connect(&m_work, &FollowedWork::openChanged, this, &StripState::changed);
    connect(&m_work.runs(), &core::RunSet::changed, this, [this](int, core::RunStore::Changes what) {
        if (m_work.run() && (what & (core::RunStore::State | core::RunStore::ProgressChange | core::RunStore::Link)))
            Q_EMIT changed();
    });
    connect(&m_queue, &core::ExperimentModel::changed, this, &StripState::changed);
}

core::ExperimentModel::Strip StripState::now() const {
    if (m_queue.follower())
        return m_queue.strip();
    core::ExperimentModel::Strip out;
    const core::RunStore *run = m_work.run();
    if (!run)
        return out;
    out.unheard = core::whyUnheard(*run);
    const core::Progress progress = out.unheard.isEmpty() ? core::progressOf(*run) : core::Progress();
    out.title = run->identity().title();
    out.name = run->identity().title();
    out.state = out.unheard.isEmpty() ? run->lifecycle().sentence() : out.unheard;
    out.fraction = out.overall = progress.fraction;
    if (progress.epoch && progress.epochs)
        out.epoch = tr("epoch %1/%2").arg(*progress.epoch).arg(*progress.epochs);
    if (progress.leftS && !run->over())
        out.left = tr("%1 left").arg(core::timeLeft(progress.leftS));
    out.active = !run->over();
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

QString StripState::runningElsewhere() const {
    const core::ExperimentFollower *running = m_work.running();
    return running && running != m_work.opened() ? idOf(*running) : QString();
}

} // namespace lockstep::ui
