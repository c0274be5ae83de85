// SPDX-License-Identifier: MIT
#pragma once
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

#include <functional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "trainer/agent/ranks/master_port.h"

/// Listens at 127.0.0.1 and sends whoever connects a byte now and then, which never become a line.
class DrippingStranger {
public:
    /// `onGuest` is called on the stranger's thread for each connection.
    explicit DrippingStranger(std::function<void()> onGuest = [] {})
        : m_onGuest(std::move(onGuest)), m_bound(lockstep::agent::bindMasterPort("127.0.0.1", 0)) {
        REQUIRE(m_bound);
        m_thread = std::jthread([this](const std::stop_token &stop) { drip(stop); });
    }
    [[nodiscard]] int port() const { return m_bound->port; }

private:
    void drip(const std::stop_token &stop) {
        std::vector<lockstep::Fd> guests;
        pollfd comes{m_bound->listener.get(), POLLIN, 0};
        while (!stop.stop_requested()) {
            if (::poll(&comes, 1, 20) > 0) {
                guests.emplace_back(::accept4(comes.fd, nullptr, nullptr, SOCK_CLOEXEC));
                m_onGuest();
            }
            for (const lockstep::Fd &guest : guests)
                (void)::send(guest.get(), "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
    }

    std::function<void()> m_onGuest;
    lockstep::Result<lockstep::agent::MasterPort> m_bound;
    std::jthread m_thread;
};
