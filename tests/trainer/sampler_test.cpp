// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <fstream>
#include <numeric>
#include <set>
#include <span>
#include <sstream>

#include <doctest/doctest.h>

#include "tests/trainer/peers.h"
#include "trainer/data/sampler.h"

using namespace lockstep::trainer;
using namespace lockstep::trainer::test;

TEST_SUITE("sampler") {
    TEST_CASE("the order is that of Python's DistributedSampler, for every size, world, rank, seed and epoch") {
        std::ifstream golden(LOCKSTEP_GOLDEN_DIR "/sampler.txt");
        int cases = 0;
        for (std::string line; std::getline(golden, line); ++cases) {
            std::istringstream numbers(line);
            std::int64_t size = 0, epoch = 0;
            int world = 0, rank = 0;
            std::uint64_t seed = 0;
            numbers >> size >> world >> rank >> seed >> epoch;
            std::vector<std::int64_t> expected;
            for (std::int64_t index = 0; numbers >> index;)
                expected.push_back(index);
            CAPTURE(size);
            CAPTURE(world);
            CAPTURE(rank);
            CAPTURE(epoch);
            CHECK(sampleOrder(size, world, rank, seed, epoch).indices == expected);
        }
        CHECK(cases == 18);
    }

    TEST_CASE("a total is cut in proportion to weights, to the last one, and nobody is left without") {
        const auto cut = [](std::int64_t total, std::vector<double> weights) { return inProportion(total, weights); };
        CHECK(cut(64, {2, 1}) == std::vector<std::int64_t>{43, 21});
        CHECK(cut(64, {1, 1, 1, 1}) == std::vector<std::int64_t>{16, 16, 16, 16});
        CHECK(cut(10, {1, 1, 1}) == std::vector<std::int64_t>{4, 3, 3});
        CHECK(cut(3, {1000, 1, 1}) == std::vector<std::int64_t>{1, 1, 1});
        CHECK(cut(9, {1000, 1, 1}) == std::vector<std::int64_t>{7, 1, 1});
        CHECK(cut(5, {1e-9, 1}) == std::vector<std::int64_t>{1, 4});
    }

    TEST_CASE("with uneven shares every global batch holds the samples that it holds with even ones, each sample "
              "counting alike") {
        const std::vector<std::int64_t> shares{11, 3, 2};
        constexpr int world = 3;
        constexpr std::int64_t batch = 16 * world, size = 1000; // 334 a rank, padded by 2
        const std::vector<std::int64_t> ofBatch{3 * shares[0], 3 * shares[1], 3 * shares[2]};
        std::array<RankShare, world> uneven;
        std::array<SampleOrder, world> even;
        for (int rank = 0; rank < world; ++rank) {
            uneven.at(static_cast<std::size_t>(rank)) = unevenShare(size, ofBatch, rank, 7, 2, {});
            even.at(static_cast<std::size_t>(rank)) = sampleOrder(size, world, rank, 7, 2);
        }
        for (std::int64_t step = 0; step * 16 < 334; ++step) {
            std::multiset<std::int64_t> one, other;
            double weights = 0;
            const bool last = (step + 1) * 16 >= 334;
            for (std::size_t rank = 0; rank < world; ++rank) {
                const auto part = [step](const std::vector<std::int64_t> &all, std::int64_t share) {
                    const auto first = std::min<std::int64_t>(step * share, std::ssize(all));
                    const auto end = std::min<std::int64_t>(first + share, std::ssize(all));
                    return std::vector<std::int64_t>(all.begin() + first, all.begin() + end);
                };
                CHECK(uneven[rank].share == ofBatch[rank]);
                const auto own = part(uneven[rank].order.indices, ofBatch[rank]);
                CHECK(!own.empty());
                one.insert(own.begin(), own.end());
                const auto plain = part(even[rank].indices, 16);
                other.insert(plain.begin(), plain.end());
                weights += last ? uneven[rank].lastWeight : uneven[rank].weight;
                if (!last)
                    CHECK(uneven[rank].weight == doctest::Approx(3.0 * double(ofBatch[rank]) / batch));
            }
            CHECK((one == other));
            CHECK(weights == doctest::Approx(world));
        }
        std::int64_t real = 0;
        for (const RankShare &of : uneven)
            real += of.order.real;
        CHECK(real == size);
    }

    TEST_CASE("buckets by length keep every sample once, batches of one length together, and the smaller batch last") {
        std::vector<std::int64_t> lengths(1003);
        for (std::size_t i = 0; i < lengths.size(); ++i)
            lengths[i] = static_cast<std::int64_t>(i * 37 % 101);
        for (const int world : {1, 2}) {
            std::multiset<std::int64_t> all;
            for (int rank = 0; rank < world; ++rank) {
                const auto order = sampleOrder(1003, world, rank, 1, 2, {lengths, 16});
                const auto plain = sampleOrder(1003, world, rank, 1, 2);
                CHECK(order.real == plain.real);
                CHECK(order.indices != plain.indices);
                all.insert(order.indices.begin(), order.indices.begin() + order.real);
                const std::size_t batch = 16 / static_cast<std::size_t>(world);
                std::int64_t widest = 0;
                for (std::size_t first = 0; first + batch <= 1003 / 16 * batch; first += batch) {
                    const auto lengthOf = [&](std::int64_t i) { return lengths[static_cast<std::size_t>(i)]; };
                    const auto [least, most] =
                        std::ranges::minmax(std::span(order.indices).subspan(first, batch), {}, lengthOf);
                    widest = std::max(widest, lengthOf(most) - lengthOf(least));
                }
                CHECK(widest <= 15); // of 0 to 100, in the last and smallest pool
            }
            CHECK(std::set(all.begin(), all.end()).size() == 1003);
            CHECK(all.size() == 1003);
        }
    }

    TEST_CASE(
        "the order is that of the DistributedSampler at hand, epoch for epoch, also where sizes don't fit the ranks") {
        const std::string python = pythonWith("torch");
        if (python.empty()) {
            MESSAGE("skipped: no Python that imports torch");
            return;
        }
        struct Case {
            std::int64_t size;
            int world, rank;
            std::uint64_t seed;
            std::int64_t epoch;
        };
        std::vector<Case> cases;
        for (const std::int64_t size : {1, 2, 3, 7, 64, 100, 3001, 60000})
            for (const int world : {1, 2, 3, 5, 8})
                for (const std::int64_t epoch : {0, 1, 2, 11})
                    for (int rank = 0; rank < world; ++rank)
                        if (size <= 3001 || (epoch == 2 && rank + 1 == world))
                            cases.push_back({size, world, rank, size % 2 ? 1U : 20251U, epoch});
        const TempFolder folder;
        std::ofstream list(folder / "cases");
        for (const Case &it : cases)
            list << it.size << ' ' << it.world << ' ' << it.rank << ' ' << it.seed << ' ' << it.epoch << '\n';
        list.close();
        const Ended ended =
            Process(python, {LOCKSTEP_SOURCE_DIR "/tests/trainer/peer.py", "sampler", folder / "cases"}).wait();
        CAPTURE(ended.err);
        REQUIRE(ended.code == 0);
        std::istringstream orders(ended.out);
        std::size_t compared = 0;
        for (std::string line; std::getline(orders, line); ++compared) {
            REQUIRE(compared < cases.size());
            const Case &it = cases[compared];
            std::istringstream numbers(line);
            std::vector<std::int64_t> expected;
            for (std::int64_t index = 0; numbers >> index;)
                expected.push_back(index);
            CAPTURE(it.size);
            CAPTURE(it.world);
            CAPTURE(it.rank);
            CAPTURE(it.epoch);
            CHECK(sampleOrder(it.size, it.world, it.rank, it.seed, it.epoch).indices == expected);
        }
        CHECK(compared == cases.size());
    }

    TEST_CASE("the real samples of all ranks are each sample once; the rest are padded duplicates") {
        for (const int size : {1, 3, 10, 11, 640}) {
            for (const int world : {1, 2, 3, 8}) {
                CAPTURE(size);
                CAPTURE(world);
                std::multiset<std::int64_t> real;
                std::int64_t all = 0;
                for (int rank = 0; rank < world; ++rank) {
                    const auto order = sampleOrder(size, world, rank, 1, 4);
                    real.insert(order.indices.begin(), order.indices.begin() + order.real);
                    all += static_cast<std::int64_t>(order.indices.size());
                }
                std::multiset<std::int64_t> expected;
                for (int i = 0; i < size; ++i)
                    expected.insert(i);
                CHECK(real == expected);
                CHECK(all == (size + world - 1) / world * world);
            }
        }
    }

    TEST_CASE("the test set is shared out without duplicates") {
        std::multiset<std::int64_t> all;
        for (int rank = 0; rank < 3; ++rank)
            for (const auto index : evaluationShard(10, 3, rank))
                all.insert(index);
        CHECK(all.size() == 10);
        CHECK(std::set(all.begin(), all.end()).size() == 10);
        CHECK(evaluationShard(2, 4, 3).empty());
    }
}
