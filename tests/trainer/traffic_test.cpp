// SPDX-License-Identifier: MIT
// Bytes between ranks, as the kernel counts them, against what each method is known to send.
#include <doctest/doctest.h>

#include <algorithm>

#include "ipc/models.h"
#include "tests/trainer/trainer_process.h"

using namespace lockstep;
using namespace lockstep::trainer::test;

namespace {

struct RankTraffic {
    double sent, received; ///< MB a step
};

std::vector<RankTraffic> trafficOf(int ranks, std::vector<std::string> options, int steps = 50) {
    const TempFolder folder;
    options.insert(options.end(), {"--train-samples=" + std::to_string(24 * steps), "--batch-size=24",
                                   "--frames=" + (folder / "f"), "--summary=" + (folder / "s")});
    for (const Ended &ended : DdpRun(ranks, options).wait()) {
        CAPTURE(ended.err);
        REQUIRE(ended.code == 0);
    }
    const auto frames = readFrames(folder / "f");
    std::vector<RankTraffic> traffic;
    for (int rank = 0; rank < ranks; ++rank) {
        const Scalars scalars = bodiesOf<EpochFrame>(frames, rank).at(0).scalars;
        traffic.push_back({scalars.at("sent_mb").mean(), scalars.at("received_mb").mean()});
    }
    const MetricValues metrics = readSummary(folder / "s").metrics;
    const auto most = [&](double RankTraffic::*of) { return std::ranges::max(traffic, {}, of).*of; };
    CHECK(metrics.at("sent_mb") == doctest::Approx(most(&RankTraffic::sent)).epsilon(1e-4));
    CHECK(metrics.at("received_mb") == doctest::Approx(most(&RankTraffic::received)).epsilon(1e-4));
    return traffic;
}

} // namespace

TEST_SUITE("traffic") {
    TEST_CASE("each rank sends and receives as many bytes a step as its method's formula says") {
        const double k = static_cast<double>(findModel("lenet")->parameters) * 4e-6; // MB of gradients
        const auto about = [](double expected) { return doctest::Approx(expected).epsilon(0.06); };
        for (const int n : {2, 3}) {
            CAPTURE(n);
            const double others = n - 1;
            for (const std::vector<std::string> &ring :
                 {std::vector<std::string>{}, std::vector<std::string>{"--all-reduce=ring"}})
                for (const RankTraffic &rank : trafficOf(n, ring)) { // 2(N-1)K/N for each
                    CHECK(rank.sent == about(2 * others / n * k));
                    CHECK(rank.received == about(2 * others / n * k));
                }
            for (const char *method : {"--method=ps-sync", "--method=ps-async"}) {
                CAPTURE(method);
                const auto ranks = trafficOf(n, {method});
                CHECK(ranks[0].sent == about(others * k)); // the server's link carries 2(N-1)K in all
                CHECK(ranks[0].received == about(others * k));
                for (int rank = 1; rank < n; ++rank) {
                    CHECK(ranks[std::size_t(rank)].sent == about(k));
                    CHECK(ranks[std::size_t(rank)].received == about(k));
                }
            }
        }
    }

    TEST_CASE("servers that share out the parameters share out the traffic too") {
        const double k = static_cast<double>(findModel("lenet")->parameters) * 4e-6;
        for (const RankTraffic &rank : trafficOf(2, {"--method=ps-async", "--servers=2"})) {
            CHECK(rank.sent == doctest::Approx(k).epsilon(0.06)); // half as a rank, half as a server
            CHECK(rank.received == doctest::Approx(k).epsilon(0.06));
        }
        const auto ranks = trafficOf(3, {"--method=ps-async", "--server-devices=1"});
        for (const int rank : {0, 1})
            CHECK(ranks[std::size_t(rank)].sent == doctest::Approx(k).epsilon(0.06));
        CHECK(ranks[2].sent == doctest::Approx(2 * k).epsilon(0.06)); // it only serves
    }

    TEST_CASE(
        "an epoch of two steps has as many bytes a step as a long one: its last ones count, what follows does not") {
        const double k = static_cast<double>(findModel("lenet")->parameters) * 4e-6;
        const auto about = [](double expected) { return doctest::Approx(expected).epsilon(0.06); };
        for (const RankTraffic &rank : trafficOf(2, {}, 2)) {
            CHECK(rank.sent == about(k));
            CHECK(rank.received == about(k));
        }
        for (const char *servers : {"--servers=2", "--servers=1"})
            for (const RankTraffic &rank : trafficOf(2, {"--method=ps-async", "--max-staleness=0", servers}, 2)) {
                CAPTURE(servers);
                CHECK(rank.sent == about(k));
                CHECK(rank.received == about(k));
            }
        const auto ranks = trafficOf(3, {"--method=ps-async", "--server-devices=1"}, 2);
        for (const int rank : {0, 1, 2}) {
            CAPTURE(rank);
            CHECK(ranks[std::size_t(rank)].sent == about(rank == 2 ? 2 * k : k));
            CHECK(ranks[std::size_t(rank)].received == about(rank == 2 ? 2 * k : k));
        }
    }

    TEST_CASE("parameters that stages share after an epoch are no traffic of its steps") {
        constexpr double passed = 24 * 400 * 4e-6; // MB: conv2's output for 24 samples; headers come on top
        for (const RankTraffic &rank : trafficOf(2, {"--method=pipeline", "--stage-layers=2,3"}, 1)) {
            CHECK(rank.sent == doctest::Approx(passed).epsilon(0.15));
            CHECK(rank.received == doctest::Approx(passed).epsilon(0.15));
        }
    }
}
