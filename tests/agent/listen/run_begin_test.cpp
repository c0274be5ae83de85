// SPDX-License-Identifier: MIT
// When a listened run began, by the clocks of its ranks.
#include <doctest/doctest.h>

#include "trainer/agent/listen/run_begin.h"

using namespace lockstep::agent;

TEST_CASE("frames that come late show when their run began, whatever their ranks' clocks say") {
    RunBegin begin(5'000);
    begin.take(0, 1'000'000, 5'000); // made 4000 before it came, as the next one shows
    CHECK(begin.ns() == 5'000);
    begin.take(0, 1'004'000, 5'000);
    CHECK(begin.ns() == 1'000);
    begin.take(1, 10, 6'000); // another machine's clock
    begin.take(1, 20, 6'200);
    CHECK(begin.ns() == 1'000);
    begin.take(1, 6'000, 6'500); // and this rank began before the other one
    CHECK(begin.ns() == 510);
}

TEST_CASE("a run lasts no shorter than it is listened to, and a rank's next process has a clock of its own") {
    RunBegin begin(5'000);
    begin.take(0, 100, 5'000);
    begin.take(0, 200, 9'000); // slow on the way
    begin.take(0, 0, 9'000);   // without a time
    CHECK(begin.ns() == 5'000);
    begin.startOver(0);
    begin.take(0, 900'000, 10'000);
    CHECK(begin.ns() == 5'000);
}
