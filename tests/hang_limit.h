// SPDX-License-Identifier: MIT
#pragma once
// How long a test waits for what has to come. It only ends a test that hangs: what is waited for comes in a fraction of it, and on
// a machine that is four times slower, or busy, it still comes in time. How long something takes is never asserted; it is printed
// as a figure (figure.h) and judged by tests/bench/fault_times.py.
#include <chrono>

namespace lockstep::test {

inline constexpr std::chrono::seconds hangLimit{60};
inline constexpr int hangLimitMs = 60'000;

} // namespace lockstep::test
