// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>

#include "ipc/node_messages.h"
#include "trainer/agent/ranks/supervisor.h"

namespace lockstep::agent {

/// Failures on two nodes this close to each other may be reported in either order.
inline constexpr std::int64_t sameMomentNs = 1'000'000'000;

/// Finds on node 0 which failure is the root cause of a run's end. A rank that lost a peer failed because of that peer,
/// even if it was reported first. Of two failures within `sameMomentNs`, a death by a signal is the cause.
class FailureCause {
public:
    void onReported(const NodeMessage &failed, const std::optional<Supervisor::Failure> &own, std::int64_t nowNs);
    void onOwn(bool bySignal, bool peerLost, std::int64_t nowNs);
    void reset() { m_reported.reset(); } ///< all ranks are restarted

    /// The failure that another node reported, if it is the cause. Absent: the cause is on this node, or there is none.
    [[nodiscard]] const std::optional<NodeMessage> &reported() const { return m_reported; }

private:
    std::optional<NodeMessage> m_reported;
    std::int64_t m_reportedNs = 0;
};

} // namespace lockstep::agent
