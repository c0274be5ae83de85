// SPDX-License-Identifier: MIT
#pragma once
#include "ipc/straggler_detector.h"
#include "trainer/engine/rank_session.h"

namespace lockstep::trainer {

/// Sends an alert when this rank keeps the others waiting, and logs when it no longer does. All ranks have the same numbers
/// and reach the same verdict; the named rank reports it. Used from the training thread.
class StragglerWatch {
public:
    explicit StragglerWatch(Session &session); ///< it must outlive this
    /// After step `step`, numbered over the whole run.
    void addStep(std::int64_t step);

private:
    Session &m_session;
    StragglerDetector m_detector;
};

} // namespace lockstep::trainer
