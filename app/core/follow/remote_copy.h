// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <QObject>
#include <QProcess>

#include "base/command_prefix.h"
#include "ipc/disk_space.h"
#include "ipc/run_folder.h"
#include "ipc/unix_socket.h"

namespace lockstep::core {

/// A viewer's copy of a run on another machine: origin.json, the nodes' logs byte for byte, config.json and result.json. It
/// ends, as a warning says, before the disk is full (reservedBytes()).
/// A lock lets only one viewer on this machine write it. A folder in which an agent has worked, or that holds documents of a run
/// without their origin, is the run's own, and no copy; one that was copied from another host stays that host's.
class RemoteCopy : public QObject {
    Q_OBJECT
public:
    RemoteCopy(RunFolder folder, std::string run, CommandPrefix prefix, QObject *parent = nullptr);
    ~RemoteCopy() override;

    /// Makes the folder and takes the lock if it is free. Following works without the copy, so an error need not end it.
    Result<void> open();
    /// Appends a valid line, in its node's order.
    void append(std::string_view line);
    /// What the disk does not take is not kept: that log's copy ends after its last whole line, and is continued by who follows the run
    /// next.
    void flush();
    /// Writes into the copy that no result will come, since the run's agent has died there.
    void keepThatAgentDied();
    /// The answer of `lockstep-agent status` there: config.json and result.json as text, also stored here; empty when that
    /// machine can't be asked, a record also when it is larger than any run's, as a warning says. One request at a time; a request
    /// meanwhile waits, and only the last of those is sent.
    struct Status {
        std::optional<std::string> record, result;
        std::string state;    ///< starting | running | finished | agent_died | unknown; empty when nobody answered
        std::string sentence; ///< that says it
        bool tooLong = false; ///< the answer was longer than a record and a result may be: nothing of it was read
    };
    void fetchStatus(std::function<void(const Status &)> done);

private:
    void takeStatus(const QByteArray &text, Status &status);

    struct Log {
        Fd file;             ///< not valid while it is closed for those of other nodes
        off_t size = 0;      ///< whole lines in the file
        std::string waiting; ///< lines to write
    };
    [[nodiscard]] Result<void> writeOrigin(const std::string &state) const;
    [[nodiscard]] bool isRunsOwn() const;
    [[nodiscard]] bool hasDocuments() const;
    Log *logOf(int node);
    [[nodiscard]] Result<Fd> openLog(int node);
    void write(int node, Log &log);
    void end(int node, const std::string &why);
    void warnOfEnd(const std::string &why) const;
    [[nodiscard]] bool goesOn(std::size_t bytes);

    RunFolder m_folder;
    std::string m_run;
    CommandPrefix m_prefix;
    std::optional<FileLock> m_lock;
    std::map<int, std::optional<Log>> m_logs; ///< by node, opened when its first line comes; absent: can't be written
    std::size_t m_openLogs = 0;               ///< no more than so many of their files are open
    SpareRoom m_room;
    bool m_diskFull = false;
    std::unique_ptr<QProcess> m_fetch;
    std::function<void(const Status &)> m_next; ///< called after m_fetch
};

/// Whether this is the run's own folder, on shared storage: there the agent itself wrote the origin, for viewers elsewhere.
[[nodiscard]] bool isSharedFolder(const RunFolder &folder);
/// The prefix through which a copy was made; absent for a run of this machine.
[[nodiscard]] std::optional<CommandPrefix> originOf(const RunFolder &folder);

} // namespace lockstep::core
