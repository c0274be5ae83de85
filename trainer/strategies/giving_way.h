// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace lockstep::trainer {

/// Lets the other threads of this process have the core between two operations of a thread that computes all the time. A kernel that
/// preempts at its ticks alone, every 4 ms at 250 Hz, would else let them wait through much of a step.
///
/// On a busy machine other processes take the core instead: after such a loss it waits 20 times as long before it gives way again, so
/// that they get 5 % of the thread's time at most. Of one thread at a time.
class GivingWay {
public:
    void now();

private:
    std::int64_t m_notBeforeNs = 0;
};

} // namespace lockstep::trainer
