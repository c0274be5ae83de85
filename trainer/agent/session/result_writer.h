// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

#include "trainer/agent/session/local_run.h"

namespace lockstep::agent {

/// Writes result.json. Without it readers think that the agent died, so a full disk is waited for: up to ten minutes.
class ResultWriter {
public:
    using Compose = std::function<RunResult()>;
    ResultWriter(EventLoop &loop, LocalRun &local) : m_loop(loop), m_local(local) {}
    ~ResultWriter() { m_loop.cancel(m_timer); }
    ResultWriter(const ResultWriter &) = delete;
    ResultWriter &operator=(const ResultWriter &) = delete;

    /// Calls `done` when the result is written or cannot be. `compose` is called before each try.
    void write(Compose compose, std::function<void()> done);
    void giveUp(); ///< the next try is the last one

private:
    void tryOnce();
    [[nodiscard]] Result<void> writeNow() const;

    EventLoop &m_loop;
    LocalRun &m_local;
    Compose m_compose;
    std::function<void()> m_done;
    EventLoop::Token m_timer = 0;
    int m_failures = 0;
};

} // namespace lockstep::agent
