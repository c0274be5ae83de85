// SPDX-License-Identifier: MIT
#pragma once
#include "trainer/engine/rank_session.h"

namespace lockstep::trainer {

/// Sends what the strategy's communication did, about once a second. Used from the training thread.
class CommReports {
public:
    explicit CommReports(Session &session) : m_session(session) {} ///< it must outlive this
    /// An epoch begins with step `firstStep`, numbered over the whole run.
    void startEpoch(std::int64_t firstStep);
    /// Sends if a second has passed since the last time.
    void sendIfDue(int epoch);
    void send(int epoch);

private:
    Session &m_session;
    std::int64_t m_firstStep = 0, m_sentNs = 0;
};

} // namespace lockstep::trainer
