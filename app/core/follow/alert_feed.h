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

/// An alert to be announced now.
struct RaisedAlert {
    QString run;   ///< id
    QString title; ///< "DDP on 2 devices"
    AlertFrame alert;
    int others = 0; ///< of that kind, of any run, since the one that was raised before; this one not counted
};
/// "rank 1 was killed by SIGKILL", "… (and 3 more of this kind)".
[[nodiscard]] QString sentenceOf(const RaisedAlert &raised);

/// New alerts of runs, few enough for a person to read: of one kind, of whichever runs, the first at once, then the
/// newest in each `quiet`, with the number of those in between. New is what comes over a live link; of what a log has,
/// what is at most a minute old. Alerts of the level "info" are left out.
class AlertFeed : public QObject {
    Q_OBJECT
public:
    explicit AlertFeed(QObject *parent = nullptr, std::chrono::milliseconds quiet = std::chrono::minutes(1));
    /// Until the store is destroyed. Alerts that it has already count as well.
    void watch(RunStore *store);
    /// What a store has and has not announced yet; before it is destroyed.
    void readAll();
    /// Announces at once what still waits; call it before the feed is destroyed, or those alerts are lost.
    void raiseWaiting();

Q_SIGNALS:
    void raised(const lockstep::core::RaisedAlert &alert);

private:
    /// Of a kind that was raised less than `quiet` ago.
    struct OfKind {
        std::optional<RaisedAlert> waiting; ///< the newest one
        int count = 0;                      ///< that wait
    };
    void read(RunStore *store, bool live);
    void take(const RaisedAlert &alert);
    void raise(const RaisedAlert &alert);
    void raiseWaiting(OfKind &kind);
    void quietIsOver(const std::string &kind);

    std::chrono::milliseconds m_quiet;
    std::map<RunStore *, std::uint64_t> m_read; ///< number of the newest of each store's alerts
    std::map<std::string, OfKind> m_kinds;
};

} // namespace lockstep::core
