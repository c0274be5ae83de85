// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "ipc/unix_socket.h"

/// A relay on loopback to an address, for cutting a link that both ends would keep: a cut one ends all connections and
/// refuses new ones, a frozen one passes nothing on and says nothing.
class TcpRelay {
public:
    explicit TcpRelay(const std::string &target); ///< "127.0.0.1:4711"
    ~TcpRelay();
    [[nodiscard]] std::string address() const; ///< of the relay, likewise
    void cut();
    void restore();
    void freeze(bool frozen) { m_frozen = frozen; }
    [[nodiscard]] std::string carried(); ///< every byte so far, both ways: what a listener on the network has

private:
    void run();
    void bind();
    struct Pair {
        lockstep::Fd near, far;
    };
    int m_port = 0, m_targetPort = 0;
    std::mutex m_mutex; ///< guards the three below
    lockstep::Fd m_listener;
    std::list<Pair> m_pairs;
    std::string m_carried;
    std::atomic<bool> m_frozen = false, m_stop = false;
    std::thread m_thread;
};
