// SPDX-License-Identifier: MIT
// Which of the failures of a run on several nodes is its cause, as node 0 hears of them one by one.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "trainer/agent/session/failure_cause.h"

using namespace lockstep;
using namespace lockstep::agent;

namespace {
constexpr std::int64_t second = 1'000'000'000;

struct Heard {
    enum class From { Here, There } from;
    double atS;
    bool bySignal, peerLost;
    std::string reason = {};
};
constexpr auto here = Heard::From::Here, there = Heard::From::There;

/// The reason that is the cause at the end: the other node's, or "here".
std::string causeOf(const std::vector<Heard> &all) {
    FailureCause cause;
    std::optional<Supervisor::Failure> own;
    for (const Heard &heard : all) {
        const auto now = static_cast<std::int64_t>(heard.atS * double(second));
        if (heard.from == here) {
            own = Supervisor::Failure{now, heard.bySignal, heard.peerLost};
            cause.onOwn(heard.bySignal, heard.peerLost, now);
            continue;
        }
        NodeMessage failed;
        failed.what = NodeMessage::What::Failed;
        failed.peerLost = heard.peerLost;
        if (heard.bySignal)
            failed.signal = 9;
        failed.reason = heard.reason;
        cause.onReported(failed, own, now);
    }
    return cause.reported() ? cause.reported()->reason : "here";
}
} // namespace

TEST_CASE("the cause is what failed by itself, then what a signal killed in the same second, then what came first") {
    struct Case {
        std::string name;
        std::vector<Heard> heard;
        std::string cause;
    };
    for (const Case &c : {
             Case{"alone there", {{there, 0, false, false, "a"}}, "a"},
             {"alone here", {{here, 0, false, false}}, "here"},
             {"the first of two failures", {{there, 0, false, false, "a"}, {there, 0.1, false, false, "b"}}, "a"},
             {"here before there", {{here, 0, false, false}, {there, 0.1, false, false, "a"}}, "here"},
             {"there before here", {{there, 0, false, false, "a"}, {here, 0.1, false, false}}, "a"},
             {"a signal within the second", {{here, 0, false, false}, {there, 0.9, true, false, "a"}}, "a"},
             {"a signal too late", {{here, 0, false, false}, {there, 1.1, true, false, "a"}}, "here"},
             {"a signal here within the second", {{there, 0, false, false, "a"}, {here, 0.9, true, false}}, "here"},
             {"a signal here too late", {{there, 0, false, false, "a"}, {here, 1.1, true, false}}, "a"},
             {"two signals", {{there, 0, true, false, "a"}, {here, 0.1, true, false}}, "a"},
             {"a lost peer seen early", {{here, 0, false, true}, {there, 5, false, false, "a"}}, "a"},
             {"a lost peer there", {{there, 0, false, true, "a"}, {here, 5, false, false}}, "here"},
             {"lost peers only", {{there, 0, false, true, "a"}, {there, 5, false, true, "b"}}, "a"},
             {"a lost peer seen late", {{there, 0, false, false, "a"}, {here, 5, false, true}}, "a"},
         }) {
        CAPTURE(c.name);
        CHECK(causeOf(c.heard) == c.cause);
    }
}

TEST_CASE("after a restart the failures before it are no cause") {
    FailureCause cause;
    NodeMessage failed;
    failed.reason = "a";
    cause.onReported(failed, std::nullopt, 0);
    REQUIRE(cause.reported());
    cause.reset();
    CHECK(!cause.reported());
    failed.reason = "b";
    cause.onReported(failed, std::nullopt, 2 * second);
    CHECK(cause.reported()->reason == "b");
}
