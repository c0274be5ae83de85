#pragma once
#include <memory>
#include <optional>

#include <QLocalSocket>
#include <QObject>
#include <QProcess>
#include <QTimer>

#include "ipc/error.h"
#include "ipc/frames.h"
#include "ipc/line_framer.h"
#include "ipc/log.h"
#include "ipc/messages.h"
#include "ipc/run_folder.h"
#include "launch/command_prefix.h"
#include "store/node_lines.h"
#include "store/nodes_replay.h"

namespace lockstep::core {
class RemoteCopy;
class RunStore;

/// Follows one run from its first frame: what is on disk by reading it, the rest through its agent's socket, or elsewhere
/// through `PREFIX lockstep-agent attach`. Reconnects with back-off (0.25 s to 30 s) and goes on from the next number:
/// nothing lost, nothing doubled; of a run on several nodes all nodes' logs, each from the number that lacks. Owns nothing: the run does not know or care. Works in slices on its thread, never
/// blocks it.
///
///   Idle → Replaying → (Finished | AgentDied | Connecting)
///   Connecting → Live → (Lost → Connecting | Finished | AgentDied | Failed)
class RunFollower : public QObject {
    Q_OBJECT
public:
    /// `store` must outlive the follower. A run whose folder here is a copy is followed where it came from.
    RunFollower(RunStore *store, QString runId, CommandPrefix prefix = {}, QObject *parent = nullptr);
    ~RunFollower() override;

    /// Says in its hello that it keeps the run's queue: what it takes is not a viewer's. Before start().
    void setOwnsQueue(bool owns) { m_ownsQueue = owns; }
    void start();
    /// Asks the agent to stop the run; `by` goes into its log. An error when nobody can be asked.
    [[nodiscard]] Result<void> requestStop(const QString &by);
    /// Asks for a trace of the next steps, likewise.
    [[nodiscard]] Result<void> requestTrace(std::int64_t steps, const QString &by);

    [[nodiscard]] std::uint64_t nextSeq() const { return m_lines.nextSeq(m_node); } ///< of the agent's own log
    [[nodiscard]] bool remote() const { return !m_prefix.local(); }
    [[nodiscard]] QString runId() const { return m_runId; }

Q_SIGNALS:
    /// The run is over and all its frames are in the store (or: its agent died, or it can't be followed).
    void ended();

private:
    void replaySlice();
    void lookHere();
    void lookThere();
    void connectToAgent();
    void connectHere();
    void connectThere();
    void connected();
    void readyRead();
    void disconnected();
    void takeLine(std::string_view line, int hint = 0);
    void rereadRecord();
    void takeAnswer(std::string_view line);
    void finishWith(const RunResult &result);
    void end();
    void lost(const QString &why);
    void readRecord();
    void fetchRecord();
    void fetchResult();
    void tellGaps();
    [[nodiscard]] Result<void> request(const Control &control, const std::string &otherWay);
    bool refuseNewerFormat();
    [[nodiscard]] QIODevice *device() const;

    RunStore *m_store;
    QString m_runId;
    CommandPrefix m_prefix;
    RunFolder m_folder;
    int m_node = 0; ///< whose agent is followed: agent 0, which has all logs, or on another node's machine that one
    NodeLines m_lines;
    Decoder m_decoder;
    std::unique_ptr<LineFramer> m_framer;
    NodesReplay m_replay;
    std::unique_ptr<RemoteCopy> m_copy;
    std::unique_ptr<QLocalSocket> m_socket;
    std::unique_ptr<QProcess> m_process;
    QTimer m_retry; ///< the next look or attempt
    int m_backoffMs;
    int m_looks = 0;
    std::optional<int> m_newerFormat; ///< of a log that this version can't read
    bool m_haveRecord = false, m_greeted = false, m_wasLive = false, m_ended = false;
    bool m_ownsQueue = false;
    bool m_finalSeen = false;  ///< the agent has told the run's final state
    bool m_deadSpeaks = false; ///< only a finished log answers there
    QString m_refusal;
    std::uint64_t m_toldDamaged = 0;
    std::size_t m_toldGaps = 0;
};

} // namespace lockstep::core
