#pragma once
#include <memory>
#include <optional>

#include <QFile>
#include <QLocalSocket>
#include <QObject>
#include <QProcess>
#include <QTimer>

#include "ipc/error.h"
#include "ipc/frames.h"
#include "ipc/line_framer.h"
#include "ipc/log.h"
#include "ipc/run_folder.h"
#include "launch/command_prefix.h"

namespace lockstep::core {
class RunStore;

/// Follows one run from its first frame: a finished one from its file, a living one through its agent's socket, one
/// elsewhere through `PREFIX lockstep-agent attach`. Reconnects with back-off (0.25 s to 30 s) and goes on from the
/// next number: nothing lost, nothing doubled. Owns nothing: the run does not know or care. Works in slices on its
/// thread, never blocks it.
///
///   Idle → Replaying → (Finished | AgentDied | Connecting)
///   Connecting → Live → (Lost → Connecting | Finished | AgentDied)
class RunFollower : public QObject {
    Q_OBJECT
public:
    /// `store` must outlive the follower.
    RunFollower(RunStore *store, QString runId, CommandPrefix prefix = {}, QObject *parent = nullptr);
    ~RunFollower() override;

    void start();
    /// Asks the agent to stop the run; `by` goes into its log. An error when nobody can be asked.
    [[nodiscard]] Result<void> requestStop(const QString &by);

    [[nodiscard]] std::uint64_t nextSeq() const { return m_checker.nextSeq(); }
    [[nodiscard]] bool remote() const { return !m_prefix.local(); }
    [[nodiscard]] QString runId() const { return m_runId; }

Q_SIGNALS:
    /// The run is over and all its frames are in the store (or: its agent died, or it can't be read).
    void ended();

private:
    void replaySlice();
    void look();
    void connectToAgent();
    void connected();
    void readyRead();
    void disconnected();
    void takeLine(std::string_view line);
    void keepCopy(std::string_view line);
    void end();
    void lost(const QString &why);
    void readRecord();
    bool readResult();
    QIODevice *device();

    RunStore *m_store;
    QString m_runId;
    CommandPrefix m_prefix;
    RunFolder m_folder;
    LineChecker m_checker;
    Decoder m_decoder;
    std::unique_ptr<LineFramer> m_framer;
    QFile m_log;  ///< being replayed
    QFile m_copy; ///< kept of a run elsewhere
    std::unique_ptr<QLocalSocket> m_socket;
    std::unique_ptr<QProcess> m_process;
    QTimer m_retry, m_watch;
    int m_backoffMs = 250;
    bool m_greeted = false, m_live = false, m_ended = false, m_wasConnected = false;
    std::optional<RunResult> m_seenResult;
    std::size_t m_toldGaps = 0;
};

} // namespace lockstep::core
