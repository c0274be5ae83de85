// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "ipc/straggler_detector.h"
#include "trainer/report/shard_balance.h"

using namespace lockstep;
using namespace lockstep::trainer;

namespace {

/// Ranks whose step takes a fixed time and a time a sample, with some noise.
struct Ranks {
    std::vector<double> fixedNs, sampleNs;
    double noise = 0.05;
    std::mt19937 random{3};

    [[nodiscard]] double readyNs(std::size_t rank, std::int64_t samples) const {
        return fixedNs[rank] + sampleNs[rank] * static_cast<double>(samples);
    }
    std::vector<OwnTimes> step(const std::vector<std::int64_t> &shares) {
        std::vector<OwnTimes> times(shares.size());
        for (std::size_t rank = 0; rank < shares.size(); ++rank)
            times[rank].ready = readyNs(rank, shares[rank]) * std::exp(std::normal_distribution<>(0, noise)(random));
        return times;
    }
    /// Steps until the shares change; 0: they don't within `most`.
    int until(ShardBalance &balance, int most) {
        for (int i = 1; i <= most; ++i) {
            balance.addStep(step(balance.shares()));
            if (balance.changesAfterStep())
                return i;
        }
        return 0;
    }
    [[nodiscard]] double slowestNs(const std::vector<std::int64_t> &shares) const {
        double most = 0;
        for (std::size_t rank = 0; rank < shares.size(); ++rank)
            most = std::max(most, readyNs(rank, shares[rank]));
        return most;
    }
};

} // namespace

TEST_SUITE("shard_balance") {
    TEST_CASE("a device of half the speed gets half the samples, and the sentence says what even shards waste") {
        Ranks ranks{{0, 0}, {1e5, 2.1e5}};
        ShardBalance balance(96, 2, false);
        CHECK(ranks.until(balance, 100) == 25); // 5 to warm up, 20 measured
        CHECK(balance.shares()[0] == doctest::Approx(65).epsilon(0.02));
        CHECK(balance.shares()[0] + balance.shares()[1] == 96);
        const auto said = balance.takeSentence();
        REQUIRE(said);
        CAPTURE(*said);
        CHECK(said->find("even shards waste 3") != std::string::npos);
        CHECK(!balance.takeSentence());
    }

    TEST_CASE("what a step costs whatever its samples takes a second look, after which all are ready within 3 %") {
        Ranks ranks{{2e6, 1e6, 4e6}, {1e5, 3e5, 1e5}};
        ShardBalance balance(192, 3, false);
        CHECK(ranks.until(balance, 100) == 25);
        CHECK(ranks.until(balance, 100) == 25);
        CHECK(balance.takeSentence()->find("from now on shards of") != std::string::npos);
        CHECK(ranks.until(balance, 2000) == 0); // measured twice, then kept
        const auto said = balance.takeSentence();
        REQUIRE(said);
        CHECK(said->find("was predicted)") != std::string::npos);
        CHECK(said->find("from now on") == std::string::npos);
        double least = 1e18;
        for (std::size_t rank = 0; rank < 3; ++rank)
            least = std::min(least, ranks.readyNs(rank, balance.shares()[rank]));
        CHECK(ranks.slowestNs(balance.shares()) / least < 1.08);
        CHECK(ranks.slowestNs(balance.shares()) < 0.8 * ranks.slowestNs({64, 64, 64}));
    }

    TEST_CASE("devices that are alike keep even shards, and that is said") {
        Ranks ranks{{1e6, 1e6}, {1e5, 1e5}, 0.01};
        ShardBalance balance(64, 2, false);
        CHECK(ranks.until(balance, 500) == 0);
        CHECK(balance.shares() == std::vector<std::int64_t>{32, 32});
        const auto said = balance.takeSentence();
        REQUIRE(said);
        CHECK(said->starts_with("even shards stay"));
    }

    TEST_CASE("adaptive shards follow a device that gets slower, at the end of an epoch; measured ones stay") {
        for (const bool adaptive : {false, true}) {
            Ranks ranks{{0, 0}, {1e5, 2e5}};
            ShardBalance balance(96, 2, adaptive);
            while (ranks.until(balance, 100) > 0) {
            }
            const auto before = balance.shares();
            ranks.sampleNs[0] = 4e5;
            CHECK(ranks.until(balance, 200) == 0); // not within an epoch
            CHECK(balance.changesAtEpoch() == adaptive);
            CHECK((balance.shares() == before) == !adaptive);
            if (adaptive)
                CHECK(balance.shares()[0] == doctest::Approx(32).epsilon(0.06));
        }
    }

    TEST_CASE("a rank whose times are not known leaves the shares even") {
        ShardBalance balance(64, 2, true);
        for (int i = 0; i < 100; ++i) {
            balance.addStep({});
            CHECK(!balance.changesAfterStep());
        }
        CHECK(!balance.changesAtEpoch());
        CHECK(balance.shares() == std::vector<std::int64_t>{32, 32});
    }
}
