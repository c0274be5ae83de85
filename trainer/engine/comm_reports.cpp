// SPDX-License-Identifier: MIT
#include "trainer/engine/comm_reports.h"

#include <utility>

#include "ipc/clock.h"

namespace lockstep::trainer {
namespace {

constexpr std::int64_t commFrameNs = 1'000'000'000;

} // namespace

void CommReports::startEpoch(std::int64_t firstStep) {
    m_firstStep = firstStep;
    m_sentNs = monotonicNs();
}

void CommReports::sendIfDue(int epoch) {
    if (monotonicNs() - m_sentNs >= commFrameNs)
        send(epoch);
}

void CommReports::send(int epoch) {
    auto frame = m_session.strategy->takeComm();
    if (!frame)
        return;
    frame->epoch = epoch;
    frame->firstStep += m_firstStep;
    frame->lastStep += m_firstStep;
    m_firstStep = frame->lastStep + 1;
    m_session.frames->send(std::move(*frame));
    m_sentNs = monotonicNs();
}

} // namespace lockstep::trainer
