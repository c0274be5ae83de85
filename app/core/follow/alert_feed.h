// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <map>
#include <optional>
#include <string>

#include <QObject>
#include <QString>

#include "store/run_data.h"

namespace lockstep::core {
class RunStore;

/// An alert that somebody should hear of now.
struct RaisedAlert {
    QString run;   ///< id
    QString title; ///< "DDP on 2 devices"
    AlertFrame alert;
    int others = 0; ///< of that kind and run since the one that was raised before, this one not counted
};
/// "rank 1 was killed by SIGKILL", "… (and 3 more of this kind)".
[[nodiscard]] QString sentenceOf(const RaisedAlert &raised);

/// New alerts of runs, few enough for a person to read: of one kind of one run the first at once, then one in each `quiet`, with the
/// number of those in between; what waits when a run ends comes at once. New is what comes over a live link; of what a log has, what
/// is at most a minute old. Alerts of the level "info" are left out.
class AlertFeed : public QObject {
    Q_OBJECT
public:
    explicit AlertFeed(QObject *parent = nullptr, std::chrono::milliseconds quiet = std::chrono::minutes(1));
    /// Until the store is destroyed. Alerts that it has already count as well.
    void watch(RunStore *store);
    /// What a store has and has not announced yet; before it is destroyed.
    void readAll();

Q_SIGNALS:
    void raised(const lockstep::core::RaisedAlert &alert);

private:
    struct OfKind {
        std::optional<AlertFrame> waiting; ///< the newest one
        int count = 0;                     ///< that wait
    };
    struct Watched {
        std::size_t read = 0; ///< alerts of the store
        std::map<std::string, OfKind> quiet;
    };
    void read(RunStore *store, bool live);
    void take(RunStore *store, const AlertFrame &alert);
    void raise(RunStore *store, const AlertFrame &alert, int others);
    void quietIsOver(RunStore *store, const std::string &kind);
    void raiseWaiting(RunStore *store);
    void raiseWaiting(RunStore *store, OfKind &kind);

    std::chrono::milliseconds m_quiet;
    std::map<RunStore *, Watched> m_watched;
};

} // namespace lockstep::core
