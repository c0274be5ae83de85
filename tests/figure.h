// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdio>
#include <string>

namespace lockstep::test {

/// Prints how long something took beside the time that is promised for it, both in seconds. A test does not judge it, since a busy
/// machine would decide; tests/bench/fault_times.py repeats the tests that carry the label `figures` and does.
inline void printFigure(const std::string &what, std::chrono::steady_clock::time_point since, double promised) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - since;
    std::printf("figure: %s: %.3f s, promised %g s\n", what.c_str(), took.count(), promised);
    std::fflush(stdout);
}

} // namespace lockstep::test
