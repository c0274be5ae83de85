// SPDX-License-Identifier: MIT
// The traces of a run on several nodes: agents on this machine that know of each other only what a launch passes to them.
#include <doctest/doctest.h>
#include <signal.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/agent/nodes_run.h"

using namespace lockstep;

TEST_CASE("the traces of other nodes' ranks come to agent 0, whose trace has all on one clock") {
    const TestHome home;
    NodesRun run(home, {{1, 2}, {{"FAKE_RANK", "epochs=1;steps=600;trace_at=20"}}, {}});
    run.startAll();
    const std::string trace = run.folder(0).traces() + "/trace.json";
    CHECK(eventually([&] { return std::filesystem::exists(trace); })); // while they train
    CHECK_FALSE(std::filesystem::exists(run.folder(0).result()));
    CHECK((resultOf(run.folder(0)).state == RunState::Done));
    for (const int rank : {1, 2}) {
        const std::string name = "/rank-" + std::to_string(rank) + ".json";
        CHECK(contentsOf(run.folder(0).traces() + name) == contentsOf(run.folder(1).traces() + name));
    }
    const auto events = nlohmann::json::parse(contentsOf(trace)).at("traceEvents");
    std::map<int, double> first;
    for (const auto &event : events)
        if (event.at("ph") == "X")
            first.try_emplace(event.at("pid").get<int>(), event.at("ts").get<double>());
    REQUIRE(first.size() == 3);
    const double own = first.at(0);
    for (const int rank : {1, 2}) // on one machine the clocks are one: what was subtracted is next to nothing
        CHECK(std::abs(first.at(rank) - own) < 3e6);
    CHECK(contentsOf(trace).find("times are on node 0's clock") != std::string::npos);
}

TEST_CASE("a trace names the ranks whose node is away, and nobody waits for them") {
    const TestHome home;
    NodesRun run(
        home, {{1, 1},
               {{"FAKE_RANK", "epochs=1;steps=300"}, {"FAKE_RANK_0", "trace_at=150"}, {"FAKE_RANK_1", "trace_at=290"}},
               {}});
    run.startAll();
    (void)run.pids();
    ::kill(run.agent(1), SIGKILL);
    const std::string trace = run.folder(0).traces() + "/trace.json";
    CHECK(eventually(
        [&] { return contentsOf(trace).find("rank 1 is missing: nothing came of it from ") != std::string::npos; }));
    CHECK(eventually(
        [&] { return run.log(0).find("lacks rank 1: the link to their node was lost") != std::string::npos; }));
}
