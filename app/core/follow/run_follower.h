// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <QObject>
#include <QTimer>

#include "base/command_prefix.h"
#include "follow/agent_link.h"
#include "follow/link_requests.h"
#include "ipc/error.h"
#include "ipc/frames.h"
#include "ipc/log.h"
#include "ipc/messages.h"
#include "ipc/run_folder.h"
#include "store/node_lines.h"
#include "store/nodes_replay.h"

namespace lockstep::core {
class RemoteCopy;
class RunStore;
class StatusReader;

/// Follows one run from its first frame: reads what is on disk, and gets the rest over a link to its agent (agent_link.h).
/// Reconnects with back-off (0.25 s to 30 s) and continues from the next number: nothing is lost or duplicated. For a run
/// on several nodes it follows all nodes' logs, each from its first missing number. Does not affect the run.
/// Works in slices on its thread, never blocks it.
///
///   Idle → Replaying → (Finished | AgentDied | Unknown | Connecting)
///   Connecting → Live → (Lost → Connecting | Finished | AgentDied | Failed)
class RunFollower : public QObject {
    Q_OBJECT
public:
    /// `store` must outlive the follower. If the run's folder here is a copy, its origin is followed, if it is a known
    /// place (nodes/known_places.h); else what is on disk is read, and the link fails with the question.
    RunFollower(RunStore *store, QString runId, CommandPrefix prefix = {}, QObject *parent = nullptr);
    ~RunFollower() override;

    /// Makes the hello say that this process owns the run's queue: its CPU time is then not counted as a viewer's. Before start().
    void setOwnsQueue(bool owns) { m_ownsQueue = owns; }
    /// For followers of many runs, which share one reader, so that their experiment is read once. Before start().
    void setStatuses(std::shared_ptr<StatusReader> statuses) { m_statuses = std::move(statuses); }
    void start();
    /// Asks the agent to stop the run; `by` goes into its log. Over the link while it is up (the request then is over when the
    /// agent has answered, or fails with the link), else by a connection of its own. The request may outlive the follower. `experiment` as
    /// in askToStop(); a link to another machine can't refuse, so that such a request has its own connection there.
    [[nodiscard]] Asked requestStop(const QString &by, std::string_view experiment = {});
    /// Asks for a trace of the next steps, or for the ranks' stacks, in the same way.
    [[nodiscard]] Asked requestTrace(std::int64_t steps, const QString &by);
    [[nodiscard]] Asked requestStacks(const QString &by);

    [[nodiscard]] std::uint64_t nextSeq() const { return m_lines.nextSeq(m_node); } ///< of the agent's own log
    [[nodiscard]] bool remote() const { return !m_prefix.local(); }
    [[nodiscard]] QString host() const { return QString::fromStdString(m_prefix.host); } ///< empty: this machine
    [[nodiscard]] QString runId() const { return m_runId; }

Q_SIGNALS:
    /// The run is over and all its frames are in the store; or its agent died, or it can't be followed, as in a copy
    /// from another machine.
    void ended();

private:
    void findPlace();
    void replaySlice();
    void checkRunFiles();
    void checkRemote();
    [[nodiscard]] std::optional<std::string> endWithoutResult() const;
    void connectToAgent();
    void greet();
    void taken();
    void disconnected(const QString &said, int code);
    void takeFromLink(std::string_view line);
    void takeLine(std::string_view line, int hint = 0);
    void takeRecord(std::string_view record);
    void rereadRecord();
    void takeAnswer(std::string_view line);
    void finishWith(const RunResult &result);
    void end();
    void lost(const QString &why);
    void readRecord();
    void fetchRecord();
    void fetchResult();
    void endUnread(const std::string &why);
    void reportGaps();
    [[nodiscard]] Asked request(const Control &control);
    [[nodiscard]] std::string agentsName() const;
    bool refuseRecord();
    bool refuseNewerFormat();

    RunStore *m_store;
    QString m_runId;
    CommandPrefix m_prefix;
    RunFolder m_folder;
    int m_node =
        0; ///< the node whose agent is followed: 0, whose agent has all logs; on another node's machine, that node
    NodeLines m_lines;
    Decoder m_decoder;
    NodesReplay m_replay;
    std::unique_ptr<RemoteCopy> m_copy;
    std::shared_ptr<StatusReader> m_statuses; ///< never null
    AgentLink m_link;
    QTimer m_retry; ///< until the files are read again, then connects
    int m_backoffMs;
    int m_rereads = 0;
    std::string m_recordStamp;        ///< of the config.json that was read last, or that is no record
    std::string m_recordRefused;      ///< why it is none; empty: it is one, or could not be read
    std::optional<int> m_newerFormat; ///< of the node's own log, which this version can't read
    bool m_haveRecord = false, m_recordMayBeNewer = false, m_greeted = false, m_wasLive = false, m_ended = false;
    bool m_ownsQueue = false;
    bool m_askFirst = false;  ///< the run names a place that this user has not (nodes/known_places.h)
    bool m_finalSeen = false; ///< the agent has sent the run's final state
    bool m_onlyLog = false;   ///< no agent answers there, only the stored log
    QString m_refusal;
    std::uint64_t m_reportedDamaged = 0, m_reportedGaps = 0;
    LinkRequests m_asked;
};

} // namespace lockstep::core
