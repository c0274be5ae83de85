// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <QProcess>
#include <QTimer>

#include "base/request.h"

namespace lockstep::core {

/// The result of one command.
struct CommandAnswer {
    enum class End { Exited, TimedOut, NotStarted };
    static constexpr int noLink = 255; ///< ssh's own exit code
    End end = End::Exited;
    int code = 0; ///< exit code; noLink if a signal ended it
    std::string out, err;
};

/// Runs one command without blocking; `judge` turns its output into the request's result. A command that exceeds
/// `limit` is terminated. It ends with this process.
class CommandRequest final : public Request {
    Q_OBJECT
public:
    using Judge = std::function<Result<void>(const CommandAnswer &)>;
    CommandRequest(const std::vector<std::string> &words, const std::string &input, std::chrono::milliseconds limit,
                   Judge judge);
    ~CommandRequest() override;

private:
    void conclude(CommandAnswer::End end);
    std::unique_ptr<QProcess> m_process;
    QTimer m_limit;
    Judge m_judge;
};

/// The process is ended with this one, however this one ends. `ownGroup`: Ctrl-C here does not reach it. Call it before the start,
/// which is to be on a thread that lasts, as the main thread does.
void endWithUs(QProcess &process, bool ownGroup = false);
/// For a process that talks for as long as it lives: another machine's may say anything, without end. One that leaves more than
/// `mostUnread` bytes of its output unread is killed, and of stderr only the end is kept. Call it once, before the start.
void boundOutput(QProcess &process, qint64 mostUnread);
/// More than any answer of a program that is asked once.
inline constexpr qint64 mostAnswerBytes = 64 << 20;
/// Of such a process: the end of what it has written to stderr, 16 KiB at most.
[[nodiscard]] QByteArray endOfStderr(QProcess &process);

/// Ends a process without waiting: SIGTERM now, SIGKILL after a second or at program exit. Its signals are
/// disconnected. Main thread only.
void endWithoutWaiting(std::unique_ptr<QProcess> process);

} // namespace lockstep::core
