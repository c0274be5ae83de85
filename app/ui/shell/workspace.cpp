// SPDX-License-Identifier: MIT
#include "app/ui/shell/workspace.h"

#include <QSysInfo>

#include <algorithm>

#include "analysis/compare/result_table.h"
#include "app/ui/shell/request_words.h"
#include "base/format.h"
#include "export/export.h"
#include "ipc/run_folder.h"
#include "store/run_outcome.h"
#include "store/run_progress.h"
#include "store/unheard.h"

namespace lockstep::ui {
namespace {

std::unique_ptr<core::RunIndex> openIndex() {
    auto index = core::RunIndex::open();
    return index ? std::make_unique<core::RunIndex>(std::move(*index)) : nullptr;
}

QString me() {
    return QStringLiteral("lockstep on ") + QSysInfo::machineHostName();
}

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
    added.repeats = reference == experiment.entries.end() ? 1 : reference->planned.repeats;
    return request;
}

} // namespace

Workspace::Workspace(QObject *parent) : QObject(parent), m_history(std::make_unique<core::RunListModel>(openIndex())) {
    m_look.setInterval(2000);
    connect(&m_look, &QTimer::timeout, this, &Workspace::lookForRunning);
    m_look.start();
    m_recompute.setSingleShot(true);
    m_recompute.setInterval(250);
    connect(&m_recompute, &QTimer::timeout, this, &Workspace::recompute);
    connect(&m_runs, &core::RunSet::reset, this, &Workspace::resultsDirty);
    connect(&m_runs, &core::RunSet::changed, this, [this](int, core::RunStore::Changes what) {
        if (what & (core::RunStore::Record | core::RunStore::State | core::RunStore::Epochs))
            resultsDirty();
        if (m_run && (what & (core::RunStore::State | core::RunStore::ProgressChange | core::RunStore::Link)))
            Q_EMIT stripChanged();
    });
    connect(&m_strip, &core::ExperimentModel::changed, this, &Workspace::stripChanged);
    connect(&m_look, &QTimer::timeout, this, &Workspace::claim);
    connect(&m_underWay, &RequestsUnderWay::changed, this, &Workspace::stripChanged);
    connect(&m_underWay, &RequestsUnderWay::failed, this, &Workspace::failed);
    connect(&m_runHistory, &core::RunHistory::listed, m_history.get(),
            [this](const core::RunList &runs) { m_history->setRuns(*runs); });
}

Workspace::~Workspace() {
    for (const auto &follower : m_followers)
        core::releaseControl(follower->experiment().id);
    m_strip.setFollower(nullptr);
    m_runs.clear();
}

core::ExperimentFollower *Workspace::followerFor(const QString &id, Error *error) {
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
            resultsDirty();
        Q_EMIT stripChanged();
    });
    connect(out, &core::ExperimentFollower::runAdded, this, [this, out](int, core::RunStore *store) {
        if (out == m_open)
            m_runs.add(store);
    });
    connect(out, &core::ExperimentFollower::refused, this, &Workspace::failed);
    m_followers.push_back(std::move(follower));
    return out;
}

void Workspace::show(core::ExperimentFollower *follower) {
    clearOpen();
    m_open = follower;
    for (core::RunStore *store : follower->stores())
        if (store)
            m_runs.add(store);
    dropUnused();
    m_strip.setFollower(m_running ? m_running : m_open);
    claim();
    recompute();
    Q_EMIT opened();
    Q_EMIT stripChanged();
}

void Workspace::clearOpen() {
    m_runs.clear();
    m_open = nullptr;
    m_runFollower.reset();
    m_run.reset();
}

void Workspace::dropUnused() {
    std::erase_if(m_followers, [this](const auto &follower) {
        const bool used = follower.get() == m_open || follower.get() == m_running;
        if (!used && m_strip.follower() == follower.get())
            m_strip.setFollower(nullptr);
        return !used;
    });
}

Result<void> Workspace::open(const QString &id) {
    if (isRunId(id.toStdString()) && core::readExperiment(id.toStdString()).has_value() == false) {
        const QString experiment = [&] {
            auto text = realFileSystem().readAll(runFolder(id.toStdString()).config());
            if (!text)
                return QString();
            auto record = runRecordFromJson(*text);
            return record ? QString::fromStdString(record->experiment) : QString();
        }();
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

Result<void> Workspace::openRun(const QString &runId) {
    const RunFolder folder = runFolder(runId.toStdString());
    if (!isRunId(runId.toStdString()) || !realFileSystem().readAll(folder.config()))
        return fail(Error::badArgument("no run or experiment is called " + runId.toStdString(),
                                       "`lockstepctl list` shows them all"));
    clearOpen();
    dropUnused();
    m_run = std::make_unique<core::RunStore>(runId);
    m_runFollower = std::make_unique<core::RunFollower>(m_run.get(), runId);
    m_runs.add(m_run.get());
    m_runFollower->start();
    m_strip.setFollower(m_running);
    recompute();
    Q_EMIT opened();
    Q_EMIT stripChanged();
    return {};
}

bool Workspace::attachToRunning() {
    lookForRunning();
    if (!m_running)
        return false;
    if (m_running != m_open)
        show(m_running);
    return true;
}

void Workspace::lookForRunning() {
    core::ExperimentFollower *before = m_running;
    if (m_running && m_running->experiment().over())
        m_running = nullptr;
    if (!m_running) {
        const auto all = core::listExperiments();
        // Newest first: an old one without an owner, left undone, is history and not what runs now.
        for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 20) && !m_running; ++i) {
            const bool owned = core::isOwned(all[i]);
            if (!owned && i > 0)
                continue;
            Error error;
            core::ExperimentFollower *follower = followerFor(QString::fromStdString(all[i]), &error);
            const bool elsewhere = follower && !follower->queueHost().isEmpty();
            if (follower && !follower->experiment().over() && (owned || elsewhere || follower->experiment().current()))
                m_running = follower;
        }
    }
    dropUnused();
    core::ExperimentFollower *shown = m_running ? m_running : m_open;
    if (m_strip.follower() != shown)
        m_strip.setFollower(shown);
    if (before != m_running)
        Q_EMIT stripChanged();
}

void Workspace::start(const core::StartRequest &request) {
    if (m_start)
        return;
    auto start = std::make_unique<core::DetachedStart>();
    core::DetachedStart *raw = start.get();
    handleStart(std::move(start));
    raw->start(request);
}

void Workspace::takeUp() {
    core::ExperimentFollower *follower = m_strip.follower();
    if (m_start || !follower)
        return;
    auto start = std::make_unique<core::DetachedStart>();
    core::DetachedStart *raw = start.get();
    handleStart(std::move(start));
    raw->takeUp(follower->experiment().id);
}

void Workspace::handleStart(std::unique_ptr<core::DetachedStart> start) {
    m_start = std::move(start);
    const auto done = [this] {
        m_start.release()->deleteLater();
        Q_EMIT startingChanged();
    };
    connect(m_start.get(), &core::DetachedStart::started, this, [this, done](const QString &id) {
        done();
        lookForRunning();
        if (auto result = open(id); !result)
            Q_EMIT failed(QString::fromStdString(result.error().message()));
    });
    connect(m_start.get(), &core::DetachedStart::failed, this, [this, done](const Error &error) {
        done();
        Q_EMIT failed(QString::fromStdString(error.message()));
    });
    Q_EMIT startingChanged();
}

void Workspace::stop() {
    core::ExperimentFollower *follower = m_running ? m_running : m_open;
    if (follower && !follower->experiment().over())
        m_underWay.ask(Deed::Stop, idOf(*follower), tr("Stopping %1…").arg(currentsOf(*follower)),
                       [&] { return follower->stop(me()); });
    else if (m_runFollower)
        m_underWay.ask(Deed::Stop, m_run->runId(),
                       tr("Stopping %1…").arg(namedOn(m_run->identity().title(), m_runFollower->host())),
                       [&] { return m_runFollower->requestStop(me()); });
}

void Workspace::trace(std::int64_t steps) {
    core::ExperimentFollower *follower = m_running ? m_running : m_open;
    const QString words = tr("Asking %1 for a trace…");
    if (follower && !follower->experiment().over())
        m_underWay.ask(Deed::Trace, idOf(*follower), words.arg(currentsOf(*follower)),
                       [&] { return follower->trace(steps, me()); });
    else if (m_runFollower)
        m_underWay.ask(Deed::Trace, m_run->runId(),
                       words.arg(namedOn(m_run->identity().title(), m_runFollower->host())),
                       [&] { return m_runFollower->requestTrace(steps, me()); });
}

QString Workspace::stripId() const {
    const core::ExperimentFollower *follower = m_strip.follower();
    return follower ? idOf(*follower) : m_run ? m_run->runId() : QString();
}

bool Workspace::asking(Deed deed) const {
    return m_underWay.has(deed, stripId());
}

/// The first window that watches a queue may change it; one that comes later asks first.
void Workspace::claim() {
    core::ExperimentFollower *follower = m_strip.follower();
    if (!m_mayControl || !follower || follower->experiment().over() || follower->readOnly() ||
        (follower->holder() && follower->holder()->isMe()))
        return;
    (void)follower->claim(me()); // a folder that can't be written shows when something is asked
}

void Workspace::takeOver() {
    core::ExperimentFollower *follower = m_strip.follower();
    if (!follower)
        return;
    m_underWay.ask(Deed::TakeOver, idOf(*follower),
                   tr("Taking control of %1…").arg(QString::fromStdString(follower->experiment().title)),
                   [&] { return follower->takeOver(me()); });
}

QString Workspace::heldBy() const {
    const core::ExperimentFollower *follower = m_strip.follower();
    return follower && follower->readOnly() ? QString::fromStdString(follower->holder()->title()) : QString();
}

void Workspace::ask(core::QueueRequest request) {
    core::ExperimentFollower *follower = m_strip.follower();
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
        takeUp();
}

QString Workspace::whyNotTry() const {
    if (!m_open)
        return tr("A run by itself has no queue: open the experiment that it belongs to");
    if (m_open->readOnly())
        return tr("This window is read-only: %1 controls the experiment; take over first")
            .arg(QString::fromStdString(m_open->holder()->title()));
    if (m_underWay.has(Deed::ChangeQueue, openId()) || m_underWay.has(Deed::Stop, openId()))
        return tr("The queue has not answered what was asked of it before");
    if (m_running && m_running != m_open)
        return tr("%1 runs now: both would be slower, and neither measure fair")
            .arg(QString::fromStdString(m_running->experiment().title));
    return {};
}

void Workspace::tryRun(const core::SuggestedRun &run) {
    if (!mayTry())
        return Q_EMIT failed(whyNotTry());
    const core::Experiment &experiment = m_open->experiment();
    std::vector<core::QueueRequest> requests = core::retriesOf(experiment, run.again, run.alone);
    if (run.again.empty())
        requests = {requestToAdd(experiment, run)};
    else if (requests.empty())
        return Q_EMIT failed(tr("%1: its runs are queued again already, or are another experiment's")
                                 .arg(QString::fromStdString(run.name)));
    const auto askAll = [&]() -> core::Asked {
        std::vector<std::unique_ptr<core::Request>> underWay;
        for (core::QueueRequest &request : requests) {
            request.by = me().toStdString();
            core::Asked asked = m_open->ask(request);
            if (!asked && &request == &requests.front())
                return asked;
            if (!asked) { // what was taken before it still wants an owner
                Q_EMIT failed(QString::fromStdString(asked.error().message()));
                break;
            }
            if (*asked)
                underWay.push_back(std::move(*asked));
        }
        return underWay.empty() ? core::Asked() : std::make_unique<core::RequestGroup>(std::move(underWay));
    };
    const QString words = tr("Queueing %1…").arg(namedOn(QString::fromStdString(run.name), m_open->queueHost()));
    if (!m_underWay.ask(Deed::ChangeQueue, openId(), words, askAll))
        return;
    lookForRunning();
    if (m_open->queueHost().isEmpty() && !core::isOwned(experiment.id)) // elsewhere that machine sees to it
        takeUp();
}

QString Workspace::openId() const {
    return m_open ? QString::fromStdString(m_open->experiment().id) : m_run ? m_run->runId() : QString();
}

QString Workspace::title() const {
    return m_open ? QString::fromStdString(m_open->experiment().title) : m_run ? m_run->identity().title() : QString();
}

const core::Experiment *Workspace::experiment() const {
    return m_open ? &m_open->experiment() : nullptr;
}

core::ExperimentModel::Strip Workspace::strip() const {
    if (m_strip.follower())
        return m_strip.strip();
    core::ExperimentModel::Strip out;
    if (!m_run)
        return out;
    out.unheard = core::whyUnheard(*m_run);
    const core::Progress progress = out.unheard.isEmpty() ? core::progressOf(*m_run) : core::Progress();
    out.title = m_run->identity().title();
    out.name = m_run->identity().title();
    out.state = out.unheard.isEmpty() ? m_run->lifecycle().sentence() : out.unheard;
    out.fraction = out.overall = progress.fraction;
    if (progress.epoch && progress.epochs)
        out.epoch = tr("epoch %1/%2").arg(*progress.epoch).arg(*progress.epochs);
    if (progress.leftS && !m_run->over())
        out.left = tr("%1 left").arg(core::timeLeft(progress.leftS));
    out.active = !m_run->over();
    return out;
}

QString Workspace::stripMethod() const {
    const core::ExperimentFollower *follower = m_strip.follower();
    const core::RunStore *store = follower ? follower->current() : m_run.get();
    return store ? store->identity().method() : QString();
}

QString Workspace::linkSentence() const {
    const core::ExperimentFollower *follower = m_strip.follower();
    const core::RunStore *store = follower ? follower->current() : m_run.get();
    if (!store)
        return {};
    const QString own = store->lifecycle().linkSentence().isEmpty()
                            ? QString::fromUtf8(core::toString(store->lifecycle().link()).data(),
                                                qsizetype(core::toString(store->lifecycle().link()).size()))
                            : store->lifecycle().linkSentence();
    return store->links().all().empty() ? own : own + QStringLiteral("; ") + store->links().sentence();
}

QString Workspace::lostNodes() const {
    const core::ExperimentFollower *follower = m_strip.follower();
    const core::RunStore *store = follower ? follower->current() : m_run.get();
    return store && core::linkToNodeLost(*store) ? store->links().sentence() : QString();
}

QString Workspace::runningElsewhere() const {
    return m_running && m_running != m_open ? QString::fromStdString(m_running->experiment().id) : QString();
}

bool Workspace::complete() const {
    if (m_open && !m_open->experiment().over())
        return false;
    return std::all_of(m_runs.stores().begin(), m_runs.stores().end(), [](const core::RunStore *store) {
        const core::LinkState link = store->lifecycle().link();
        return link == core::LinkState::Finished || link == core::LinkState::AgentDied ||
               link == core::LinkState::Failed;
    });
}

bool Workspace::settled() const {
    return !m_recompute.isActive() &&
           std::none_of(m_runs.stores().begin(), m_runs.stores().end(), [](const core::RunStore *store) {
               const core::LinkState link = store->lifecycle().link();
               return link == core::LinkState::Idle || link == core::LinkState::Replaying ||
                      link == core::LinkState::Connecting;
           });
}

void Workspace::resultsDirty() {
    if (!m_recompute.isActive())
        m_recompute.start();
}

void Workspace::recompute() {
    std::vector<core::RunOutcome> outcomes;
    for (const core::RunStore *store : m_runs.stores())
        outcomes.push_back(core::outcomeOf(*store));
    const core::ResultTable table =
        m_open ? core::resultTable(m_open->experiment(), outcomes) : core::resultTable(outcomes);
    core::Report report =
        core::reportOf(table, outcomes, m_open ? m_open->experiment().recipe.varies : std::vector<std::string>());
    m_results.setTable(report.table);
    m_classes.setTable(report.table);
    m_targets.setCells(core::cellsOf(report.table, outcomes));
    m_judgement.setJudgement(std::move(report.judgement));
    Q_EMIT resultsChanged();
}

} // namespace lockstep::ui
