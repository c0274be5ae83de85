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

/// One rank of the run: its process, its console, and how it has ended. It may be spawned again once it has. All calls on the
/// loop's thread; nothing waits but killAndReap().
class SupervisedRank {
public:
    using Environment = std::vector<std::pair<std::string, std::string>>;
    using OnConsoleLine = std::function<void(int rank, ConsoleTap::Stream, std::string_view line)>;
    struct Handlers {
        std::function<void()> onExit; ///< some time after the process has ended: call reap()
        OnConsoleLine onLine;         ///< as ConsoleTap's: at a bounded rate
        OnConsoleLine onEveryLine;
    };
    /// `plan`, `loop` and `keeper` outlive it.
    SupervisedRank(const RankPlan &plan, EventLoop &loop, GroupKeeper &keeper);
    ~SupervisedRank();
    SupervisedRank(const SupervisedRank &) = delete;
    SupervisedRank &operator=(const SupervisedRank &) = delete;

    /// `environment`: beside the plan's. `listener`: a descriptor that the process inherits, or -1.
    Result<void> spawn(const Environment &environment, int listener, const std::string &consolePath,
                       const Handlers &handlers);
    [[nodiscard]] bool reap(); ///< true once: it has just ended
    void askToEnd(std::int64_t nowNs);
    void signal(int number) { m_process->signal(number); } ///< while it lives
    void kill();                                           ///< it and all that it has started
    void killAndReap();                                    ///< the same, and waits: a moment

    [[nodiscard]] int number() const { return m_plan.rank; }
    [[nodiscard]] bool lives() const { return m_process && !m_exit; }
    [[nodiscard]] pid_t pid() const { return m_process->pid(); }          ///< once spawned
    [[nodiscard]] ConsoleTap *console() const { return m_console.get(); } ///< none before it was spawned
    [[nodiscard]] const std::optional<ProcessExit> &exit() const { return m_exit; }
    [[nodiscard]] bool askedToEnd() const { return m_askedToEnd; }
    [[nodiscard]] bool killedByUs() const { return m_killedByUs; }

    // Once it has ended:
    [[nodiscard]] bool stoppedByItself() const { return m_exit->code == exitStopped; }
    [[nodiscard]] std::string sentence(const std::string &host) const; ///< "rank 1 on hostA exited with code 3"
    [[nodiscard]] std::string lastWords() const; ///< what it said last, if it has failed and by no signal
    [[nodiscard]] bool lostAPeer() const;        ///< its last words say so: the cause lies there
    [[nodiscard]] bool failedByItself() const;   ///< it had said what is wrong before it was asked to end
    [[nodiscard]] RankExit result(const std::string &host) const;

private:
    const RankPlan &m_plan;
    EventLoop &m_loop;
    GroupKeeper &m_keeper;
    std::optional<RankProcess> m_process;
    std::unique_ptr<ConsoleTap> m_console;
    EventLoop::Token m_exitToken = 0;
    std::optional<ProcessExit> m_exit;
    bool m_killedByUs = false, m_askedToEnd = false;
    std::int64_t m_askedNs = 0;
};

/// Whether a rank's last words say that the connection to another rank went away, as Gloo, NCCL, c10d's store and sockets say
/// it: then the cause is what happened to that one.
[[nodiscard]] bool saysPeerLost(std::string_view words);

} // namespace lockstep::agent
