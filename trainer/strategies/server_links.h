// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/types.h>

#include "trainer/comm/message.h"
#include "trainer/strategies/parameter_server.h"

namespace lockstep::trainer {

struct ShareHeader {
    enum Kind : std::int64_t { Gradients, Leaving } kind = Gradients; ///< what a rank says
    std::int64_t wantStop = 0;      ///< to the server; in its answer to Leaving: some rank wants to
    double lrShare = 1;             ///< to the server, with Gradients: ParameterServer::Step
    ParameterServer::Update update; ///< the server's answer to Gradients
};
/// A message between a rank and a server, with a share of the gradients or of the parameters.
using ShareMessage = Message<ShareHeader>;

/// Sends and receives share messages; from several threads at once.
class ShareMessenger {
public:
    using Work = c10::intrusive_ptr<c10d::Work>;
    explicit ShareMessenger(c10::intrusive_ptr<c10d::ProcessGroup> group) : m_group(std::move(group)) {}
    enum Direction : int { ToServer = 17, ToRank = 18 }; ///< the tags
    [[nodiscard]] Work send(ShareMessage &message, int to, Direction direction);
    [[nodiscard]] Work receive(ShareMessage &message, int from, Direction direction);

private:
    c10::intrusive_ptr<c10d::ProcessGroup> m_group;
    std::mutex m_mutex; ///< c10d counts its calls without one
};

/// One epoch of a server that other ranks reach over the process group: a thread for each of them passes its gradients to the server
/// and the parameters back, until the rank leaves.
class ServerLinks {
public:
    /// The server's clients: ranks from 0 on, but for its own.
    struct Ranks {
        int own = 0; ///< that many and more: none of the clients
        int count = 0;
    };
    ServerLinks(ParameterServer &server, ShareMessenger &messenger, Ranks ranks);
    ~ServerLinks(); ///< breaks the links that are left
    void join();    ///< waits until all ranks have left
    ServerLinks(const ServerLinks &) = delete;
    ServerLinks &operator=(const ServerLinks &) = delete;

private:
    void serve(int rank);
    void wait(const ShareMessenger::Work &work, int rank);

    ParameterServer &m_server;
    ShareMessenger &m_messenger;
    std::mutex m_mutex;
    bool m_broken = false;
    std::vector<ShareMessenger::Work> m_waiting; ///< by rank
    std::vector<std::thread> m_threads;
};

} // namespace lockstep::trainer
