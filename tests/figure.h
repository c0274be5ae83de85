// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdio>
#include <string>

namespace lockstep::test {

inline void printFigureLine(const std::string &what, double measured, double promised, const char *unit) {
    std::printf("figure: %s: %.3f %s, promised %g %s\n", what.c_str(), measured, unit, promised, unit);
    std::fflush(stdout);
}

/// Prints how long something took beside the time that is promised for it, both in seconds. A test does not judge it, since a busy
/// machine would decide; tests/bench/fault_times.py repeats the tests that carry the label `figures` and does.
inline void printFigure(const std::string &what, std::chrono::steady_clock::time_point since, double promised) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - since;
    printFigureLine(what, took.count(), promised, "s");
}

/// The same of a share of the time, both as fractions of 1.
inline void printShare(const std::string &what, double share, double promised) {
    printFigureLine(what, share * 100, promised * 100, "%");
}

} // namespace lockstep::test
