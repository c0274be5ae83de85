// SPDX-License-Identifier: MIT
#pragma once
#include <signal.h>

#include <functional>

#include "trainer/agent/net/event_loop.h"

namespace lockstep::agent {

/// Turns signals into events of the loop (signalfd). The signals must be blocked in every thread of the process.
class SignalWatch {
public:
    using Handler = std::function<void(int number)>;
    SignalWatch(EventLoop &loop, const sigset_t &signals, Handler handler);
    ~SignalWatch();
    SignalWatch(const SignalWatch &) = delete;
    SignalWatch &operator=(const SignalWatch &) = delete;

private:
    EventLoop &m_loop;
    Fd m_fd;
    EventLoop::Token m_token = 0;
};

} // namespace lockstep::agent
