// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ipc/frames.h"
#include "ipc/run_folder.h"
#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/ranks/console_tap.h"
#include "trainer/agent/ranks/group_keeper.h"
#include "trainer/agent/ranks/launch_plan.h"
#include "trainer/agent/ranks/rank_process.h"

namespace lockstep::agent {

/// One rank of the run: its process, its console, and how it ended. It may be spawned again after it has ended. All
/// calls on the loop's thread; only killAndReap() waits.
class SupervisedRank {
public:
    using Environment = std::vector<std::pair<std::string, std::string>>;
    using OnConsoleLine = std::function<void(int rank, ConsoleTap::Stream, std::string_view line)>;
    struct Handlers {
        std::function<void()> onExit; ///< the process has ended: call reap()
        OnConsoleLine onLine;         ///< at a bounded rate, as in ConsoleTap
        OnConsoleLine onEveryLine;
    };
    /// `plan`, `loop` and `keeper` outlive it.
    SupervisedRank(const RankPlan &plan, EventLoop &loop, GroupKeeper &keeper, LogDisk &disk);
    ~SupervisedRank();
    SupervisedRank(const SupervisedRank &) = delete;
    SupervisedRank &operator=(const SupervisedRank &) = delete;

    /// `environment` is added to the plan's. `listener` is a descriptor that the process inherits, or -1.
    Result<void> spawn(const Environment &environment, int listener, const std::string &consolePath,
                       const Handlers &handlers);
    /// True once, when the process has just ended. One that was asked to end counts as running while others of its group do: a shell
    /// dies at once of the SIGTERM that what it has started would have heeded. They are sent one of their own then.
    [[nodiscard]] bool reap();
    void askToEnd(std::int64_t nowNs);
    void signal(int number) { m_process->signal(number); } ///< while the process runs
    void kill();                                           ///< the process and everything it has started
    void killAndReap();                                    ///< the same, and waits up to two seconds until it has ended

    [[nodiscard]] int number() const { return m_plan.rank; }
    [[nodiscard]] bool lives() const { return m_process && !m_exit; }
    [[nodiscard]] pid_t pid() const { return m_process->pid(); }          ///< once spawned
    [[nodiscard]] ConsoleTap *console() const { return m_console.get(); } ///< null before the first spawn()
    [[nodiscard]] const std::optional<ProcessExit> &exit() const { return m_exit; }
    [[nodiscard]] bool askedToEnd() const { return m_askedToEnd; }
    [[nodiscard]] bool killedByUs() const { return m_killedByUs; }

    // Once the process has ended:
    [[nodiscard]] bool stoppedByItself() const { return m_exit->code == exitStopped; }
    [[nodiscard]] bool endedAsAsked() const; ///< by the SIGTERM that it was sent, or with a code that says so
    [[nodiscard]] std::string sentence(const std::string &who) const; ///< "rank 1 on hostA", say, "exited with code 3"
    /// The last line that it printed to stderr, else to stdout, which is said then, if it failed and not by a signal. Warnings don't count.
    [[nodiscard]] std::string lastWords() const;
    [[nodiscard]] bool lostAPeer() const;      ///< its last line says so: the cause is that peer
    [[nodiscard]] bool failedByItself() const; ///< it printed an error before it was asked to end
    [[nodiscard]] RankExit result(const std::string &host) const;

private:
    bool waitsForOthers();

    const RankPlan &m_plan;
    EventLoop &m_loop;
    GroupKeeper &m_keeper;
    LogDisk &m_disk;
    std::optional<RankProcess> m_process;
    std::unique_ptr<ConsoleTap> m_console;
    EventLoop::Token m_exitToken = 0, m_othersTimer = 0;
    std::function<void()> m_onExit;
    std::optional<ProcessExit> m_exit;
    bool m_killedByUs = false, m_askedToEnd = false;
    std::int64_t m_askedNs = 0;
};

/// Whether a rank's last line says that it lost the connection to another rank, in the words of Gloo, NCCL, c10d's
/// store or the socket functions. Then the cause is what happened to that rank.
[[nodiscard]] bool saysPeerLost(std::string_view words);

} // namespace lockstep::agent
