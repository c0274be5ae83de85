// SPDX-License-Identifier: MIT
// Which process a rank is, by what it says of itself.
#include <doctest/doctest.h>
#include <malloc.h>

#include <string>

#include "trainer/agent/log/rank_processes.h"

using namespace lockstep::agent;

TEST_CASE("a process is known by all of its name, of which little is kept however long it is") {
    constexpr int ranks = 500;
    constexpr std::size_t longest = 60'000;
    RankProcesses processes;
    const std::string name(longest, 'x');
    const auto before = ::mallinfo2().uordblks;
    for (int rank = 0; rank < ranks; ++rank)
        CHECK(processes.greet(rank, name + "/1") == RankProcesses::Is::First);
    CHECK(::mallinfo2().uordblks < before + ranks * longest / 10);
    CHECK(processes.greet(0, name + "/1") == RankProcesses::Is::Same);
    CHECK(processes.greet(0, name + "/2") == RankProcesses::Is::Another);
    CHECK(processes.greet(0, name + "/2") == RankProcesses::Is::Same);
}
