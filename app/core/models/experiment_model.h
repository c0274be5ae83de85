// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include <QAbstractListModel>
#include <QPointer>
#include <QString>

namespace lockstep::core {
class ExperimentFollower;
class RunStore;

/// "DDP on 2 devices failed: rank 1 killed (SIGKILL) on host box1, step 412"
[[nodiscard]] QString failedSentence(const QString &name, const QString &reason);

/// The strip on top and the queue: one row per entry of the followed experiment, first finished and running ones, then
/// the waiting ones in the order of the queue.
class ExperimentModel : public QAbstractListModel {
    Q_OBJECT
public:
    explicit ExperimentModel(QObject *parent = nullptr);
    /// May be null: nothing runs.
    void setFollower(ExperimentFollower *follower);
    [[nodiscard]] ExperimentFollower *follower() const { return m_follower; }

    /// What the strip shows; refreshed with changed().
    struct Strip {
        QString title;                  ///< "DP against DDP, LeNet"
        QString run;                    ///< "run 3 of 5", "runs 3 and 4 of 9", "runs 3 to 5 of 9"
        QString name;                   ///< "DDP on 2 devices, gloo", "baseline | DP on 2 devices"
        QString epoch;                  ///< "epoch 4/10", "epoch 4"; "epochs 4/10 | 3/10" side by side
        QString state;                  ///< "training", "the queue waits: …", "done", …
        std::optional<double> fraction; ///< of the current run, 0..1; side by side their mean
        std::optional<double> overall;  ///< of the experiment
        QString left;                   ///< "12 s left", of several runs "12 s left in all"; empty when unknown
        QString noRecentData;           ///< why a current run's progress is unknown now; empty: it is known
        QString pausedBy;               ///< who paused the queue; empty: it is not paused
        QString queueHost;              ///< the machine that keeps the queue; empty: this one
        QString unknownWhy;             ///< why its state is unknown now (a lost link); empty: it is known
        bool active = false;            ///< something runs or is queued and owned
        bool orphaned = false;          ///< queued without an owner: offer to resume it
    };
    [[nodiscard]] Strip strip() const;

    /// A run that failed and was not repeated.
    struct Failure {
        QString name;     ///< "DDP on 2 devices #2", of several repeats
        QString run;      ///< its id; empty: it never got one
        QString sentence; ///< "DDP on 2 devices #2 failed: rank 1 killed (SIGKILL) on host box1, step 412"
    };
    [[nodiscard]] std::vector<Failure> failures() const; ///< in the order of the entries

    [[nodiscard]] int entryAt(int row) const { return m_shown[std::size_t(row)]; } ///< index in Experiment::entries
    /// Position of a row among the waiting ones, from 0; -1: not waiting.
    [[nodiscard]] int placeAt(int row) const { return std::max(-1, row - (int(m_shown.size()) - m_waiting)); }

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;

Q_SIGNALS:
    void changed();

private:
    void entriesChanged();
    void watchStore(RunStore *store);
    QPointer<ExperimentFollower> m_follower;
    [[nodiscard]] std::vector<int> rowsNow(int &waiting) const;
    std::vector<int> m_shown; ///< entry of each row
    int m_waiting = 0;        ///< the last so many rows
};

} // namespace lockstep::core
