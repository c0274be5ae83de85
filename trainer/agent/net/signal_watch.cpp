// SPDX-License-Identifier: MIT
#include "trainer/agent/net/signal_watch.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace lockstep::agent {

SignalWatch::SignalWatch(EventLoop &loop, const sigset_t &signals, Handler handler)
    : m_loop(loop), m_fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)) {
    m_token = m_loop.watch(m_fd.get(), EPOLLIN, [fd = m_fd.get(), handler = std::move(handler)](std::uint32_t) {
        signalfd_siginfo info{};
        while (::read(fd, &info, sizeof info) == sizeof info)
            handler(static_cast<int>(info.ssi_signo));
    });
}

SignalWatch::~SignalWatch() {
    m_loop.unwatch(m_token);
}

} // namespace lockstep::agent
