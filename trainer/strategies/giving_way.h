// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace lockstep::trainer {

/// Lets a server's threads have the core between two operations of a thread that computes all the time. A kernel that preempts at its
/// ticks alone, every 4 ms at 250 Hz, would else let them wait through much of a step.
///
/// On a busy machine other programs take the core instead. Where the core was away for 1 ms and more and the server has dealt with
/// nothing meanwhile, the thread waits 20 times as long before it gives way again: such losses are 5 % of its time at most. Of one
/// thread at a time.
class GivingWay {
public:
    /// `handled`: grows with what the server deals with.
    explicit GivingWay(std::shared_ptr<const std::atomic<std::int64_t>> handled) : m_handled(std::move(handled)) {}
    void now();

private:
    std::shared_ptr<const std::atomic<std::int64_t>> m_handled;
    std::int64_t m_notBeforeNs = 0;
};

} // namespace lockstep::trainer
