// SPDX-License-Identifier: MIT
#include "models/experiment_model.h"

#include "models/cells.h"
#include "models/roles.h"
#include "queue/experiment_follower.h"
#include "store/recent_data.h"
#include "store/run_failure.h"
#include "store/run_progress.h"
#include "store/run_store.h"

namespace lockstep::core {

namespace {

const QString beside = QStringLiteral(" | ");

/// "run 3", "runs 3 and 4", "runs 3 to 5"
QString placesText(int first, int count) {
    if (count == 1)
        return QStringLiteral("run %1").arg(first);
    return QStringLiteral("runs %1 %2 %3")
        .arg(QString::number(first), count == 2 ? QStringLiteral("and") : QStringLiteral("to"),
             QString::number(first + count - 1));
}

QString nameOf(const PlannedRun &run) {
    return qs(nameWithRepeat(run));
}

/// Of the runs that go on, as far as each reports it.
void takeProgress(const std::vector<RunStore *> &stores, ExperimentModel::Strip &strip) {
    QStringList epochs, states;
    double sum = 0;
    int known = 0;
    for (const RunStore *store : stores) {
        const QString noRecentData = whyNoRecentData(*store);
        const Progress progress =
            noRecentData.isEmpty() ? progressOf(*store) : Progress(); // old progress is not shown as the current one
        if (!noRecentData.isEmpty())
            strip.noRecentData = noRecentData;
        if (const QString epoch = epochText(progress); !epoch.isEmpty())
            epochs.append(epoch);
        sum += progress.fraction.value_or(0);
        known += progress.fraction.has_value();
        const QString state = noRecentData.isEmpty() ? activityOf(*store, progress) : noRecentData;
        if (!states.contains(state))
            states.append(state);
    }
    if (!epochs.isEmpty())
        strip.epoch = (epochs.size() == 1 ? QStringLiteral("epoch ") : QStringLiteral("epochs ")) + epochs.join(beside);
    if (known > 0 && strip.noRecentData.isEmpty()) // the mean of some runs would look like the mean of all
        strip.fraction = sum / double(stores.size());
    if (!states.isEmpty())
        strip.state = states.join(beside);
}

/// The reason in its frames, which names the step, else the one that the queue noted.
QString reasonOf(const ExperimentFollower &follower, int entry) {
    const RunStore *store = follower.store(entry);
    const std::string reason = store && hasFailed(*store) ? endReason(*store) : std::string();
    return qs(reason.empty() ? follower.experiment().entries[std::size_t(entry)].reason : reason);
}

} // namespace

QString failedSentence(const QString &name, const QString &reason) {
    const QString head = QStringLiteral("failed");
    return name + u' ' +
           (reason.isEmpty()          ? head
            : reason.startsWith(head) ? reason
                                      : head + QStringLiteral(": ") + reason);
}

ExperimentModel::ExperimentModel(QObject *parent) : QAbstractListModel(parent) {}

void ExperimentModel::setFollower(ExperimentFollower *follower) {
    if (follower == m_follower)
        return;
    beginResetModel();
    if (m_follower)
        m_follower->disconnect(this);
    m_follower = follower;
    m_shown = rowsNow(m_waiting);
    endResetModel();
    if (follower) {
        connect(follower, &ExperimentFollower::experimentChanged, this, &ExperimentModel::entriesChanged);
        connect(follower, &ExperimentFollower::runAdded, this, [this](int, RunStore *store) { watchStore(store); });
        connect(follower, &QObject::destroyed, this, [this] {
            beginResetModel();
            m_shown.clear();
            m_waiting = 0;
            endResetModel();
            Q_EMIT changed();
        });
        for (RunStore *store : follower->stores())
            watchStore(store);
    }
    Q_EMIT changed();
}

void ExperimentModel::watchStore(RunStore *store) {
    connect(store, &RunStore::changed, this, [this](RunStore::Changes what) {
        if (what & (RunStore::Changes(RunStore::ProgressChange) | RunStore::State | RunStore::Link | RunStore::Epochs))
            Q_EMIT changed();
    });
}

std::vector<int> ExperimentModel::rowsNow(int &waiting) const {
    waiting = 0;
    std::vector<int> rows;
    if (!m_follower)
        return rows;
    const Experiment &experiment = m_follower->experiment();
    for (int i = 0; i < int(experiment.entries.size()); ++i)
        if (experiment.entries[std::size_t(i)].state != EntryState::Queued)
            rows.push_back(i);
    for (const int entry : experiment.queued()) {
        rows.push_back(entry);
        ++waiting;
    }
    return rows;
}

void ExperimentModel::entriesChanged() {
    int waiting = 0;
    std::vector<int> rows = rowsNow(waiting);
    if (rows != m_shown) {
        beginResetModel();
        m_shown = std::move(rows);
        m_waiting = waiting;
        endResetModel();
    } else if (!rows.empty()) {
        m_waiting = waiting;
        Q_EMIT dataChanged(index(0), index(int(rows.size()) - 1));
    }
    Q_EMIT changed();
}

ExperimentModel::Strip ExperimentModel::strip() const {
    Strip strip;
    if (!m_follower) {
        strip.state = QStringLiteral("nothing runs");
        return strip;
    }
    const Experiment &experiment = m_follower->experiment();
    strip.title = qs(experiment.title);
    strip.orphaned = m_follower->orphaned();
    strip.queueHost = m_follower->queueHost();
    strip.unknownWhy = experiment.over() ? QString() : m_follower->unknownWhy();
    strip.active = m_follower->owned() && !experiment.over() && strip.unknownWhy.isEmpty();
    if (strip.unknownWhy.isEmpty())
        strip.overall = m_follower->progress();
    strip.pausedBy = experiment.over() ? QString() : qs(experiment.pausedBy);
    const RunStore *store = m_follower->current();
    if (const std::vector<int> currents = experiment.currents(); !currents.empty()) {
        QStringList names;
        for (const int current : currents)
            names.append(qs(experiment.entries[std::size_t(current)].planned.name));
        strip.run = placesText(experiment.overCount() + 1, int(currents.size())) +
                    QStringLiteral(" of %1").arg(experiment.runnableCount());
        strip.name = names.join(beside);
    } else if (const std::vector<int> queued = experiment.queued();
               strip.active && strip.pausedBy.isEmpty() && !queued.empty()) {
        // Between two runs: the next one is being started.
        strip.run =
            placesText(experiment.overCount() + 1, 1) + QStringLiteral(" of %1").arg(experiment.runnableCount());
        strip.name = qs(experiment.entries[std::size_t(queued.front())].planned.name);
    }
    takeProgress(m_follower->currents(), strip);
    if (!strip.noRecentData.isEmpty())
        strip.overall.reset();
    else if (const std::optional<double> left = m_follower->leftS(); left && strip.active)
        strip.left =
            timeLeft(left) + (experiment.runnableCount() > 1 ? QStringLiteral(" left in all") // beside a run's share
                                                             : QStringLiteral(" left"));
    if (!strip.pausedBy.isEmpty() && !store)
        strip.state = QStringLiteral("paused by %1").arg(strip.pausedBy);
    if (strip.orphaned && !store)
        strip.state = QStringLiteral("the queue waits: the process that ran it has ended");
    if (!strip.unknownWhy.isEmpty())
        strip.state = strip.unknownWhy;
    if (experiment.over()) {
        const int over = experiment.overCount();
        int done = 0;
        for (const ExperimentEntry &entry : experiment.entries)
            done += entry.state == EntryState::Done;
        strip.state = done == over ? QStringLiteral("done") : QStringLiteral("%1 of %2 runs done").arg(done).arg(over);
        strip.run = QStringLiteral("%1 runs").arg(over);
    }
    return strip;
}

std::vector<ExperimentModel::Failure> ExperimentModel::failures() const {
    std::vector<Failure> out;
    if (!m_follower)
        return out;
    const auto &entries = m_follower->experiment().entries;
    for (std::size_t i = 0; i < entries.size(); ++i)
        if (const QString name = nameOf(entries[i].planned); entries[i].state == EntryState::Failed)
            out.push_back({name, qs(entries[i].run), failedSentence(name, reasonOf(*m_follower, int(i)))});
    return out;
}

int ExperimentModel::rowCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : int(m_shown.size());
}

QVariant ExperimentModel::data(const QModelIndex &index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid) || !m_follower ||
        entryAt(index.row()) >= int(m_follower->experiment().entries.size()))
        return {};
    const ExperimentEntry &entry = m_follower->experiment().entries[std::size_t(entryAt(index.row()))];
    switch (role) {
    case Qt::DisplayRole:
        return nameOf(entry.planned);
    case StateRole:
        return qs(toString(entry.state));
    case MethodRole:
        return qs(toString(entry.planned.config.method));
    case RunIdRole:
        return entry.run.empty() ? QVariant() : QVariant(qs(entry.run));
    case ReasonRole:
    case Qt::ToolTipRole:
        return reasonOf(*m_follower, entryAt(index.row()));
    default:
        return {};
    }
}

} // namespace lockstep::core

#include "moc_experiment_model.cpp"
