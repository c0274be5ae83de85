// SPDX-License-Identifier: MIT
// The server of ps-async alone: threads stand in for the ranks that send it gradients.
#include <doctest/doctest.h>

#include <future>
#include <thread>

#include <torch/torch.h>

#include "trainer/strategies/parameter_server.h"

using namespace lockstep::trainer;

namespace {

constexpr std::int64_t size = 4;

torch::Tensor vectorOf(double value) {
    return torch::full({size}, value, torch::kFloat64);
}

/// Plain SGD with a learning rate of 1, so that an update with the gradients of one of N ranks subtracts 1/N of them.
struct Bench {
    explicit Bench(int ranks, std::int64_t maxStaleness)
        : server(vectorOf(0), {.kind = "sgd", .lr = 1, .momentum = 0, .weightDecay = 0}, ranks, maxStaleness) {
        server.startEpoch();
    }
    /// A rank's next gradients, all of one value; what it got back.
    ParameterServer::Update push(int rank, double value, const ParameterServer::Step &step = {}) {
        torch::Tensor into = vectorOf(0);
        const auto update = server.update(rank, vectorOf(value), step, into);
        read = into[0].item<double>();
        return update;
    }
    std::future<ParameterServer::Update> pushLater(int rank, double value, const ParameterServer::Step &step = {}) {
        return std::async(std::launch::async, [this, rank, value, step] {
            torch::Tensor into = vectorOf(0);
            return server.update(rank, vectorOf(value), step, into);
        });
    }
    ParameterServer server;
    double read = 0; ///< the parameters that the last push() got
};

bool waits(const std::future<ParameterServer::Update> &future) {
    return future.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout;
}

} // namespace

TEST_SUITE("parameter_server") {
    TEST_CASE(
        "without a limit each update comes at once, with its share of the learning rate, and says how stale it was") {
        Bench bench(2, ParameterServer::unlimited);
        CHECK(bench.push(0, 2).staleness == 0);
        CHECK(bench.read == -1);
        CHECK(bench.push(0, 2).staleness == 0); // it had read its own
        CHECK(bench.push(0, 2).staleness == 0);
        const auto late = bench.push(1, 2);
        CHECK(late.staleness == 3); // three of rank 0's since it read
        CHECK(late.joined == 1);
        CHECK(bench.read == -4);
        CHECK(bench.push(0, 2).staleness == 1);
    }

    TEST_CASE("who only serves counts the steps of ranks that had all left before it looked") {
        Bench bench(2, ParameterServer::unlimited);
        for (int step = 0; step < 3; ++step)
            for (const int rank : {0, 1})
                (void)bench.push(rank, 1);
        const auto leave = [&](int rank) { (void)bench.server.leave(rank, vectorOf(0)); };
        auto other = std::async(std::launch::async, leave, 0);
        leave(1);
        other.get();
        CHECK(bench.server.waitBeyond(1, false));
        CHECK(bench.server.waitBeyond(2, false));
        CHECK(!bench.server.waitBeyond(3, false));
    }

    TEST_CASE("at a limit of 0 all ranks' gradients make one update with their mean and the whole learning rate") {
        Bench bench(3, 0);
        auto first = bench.pushLater(0, 1), second = bench.pushLater(2, 2);
        CHECK(waits(first));
        CHECK(waits(second));
        const auto last = bench.push(1, 6);
        CHECK(bench.read == -3);
        CHECK(last.joined == 3);
        CHECK(last.staleness == 0);
        const auto held = first.get();
        CHECK(held.staleness == 0);
        CHECK(held.heldNs > 50'000'000);
        CHECK(second.get().joined == 3);
    }

    TEST_CASE("an update takes the learning rate of the step whose gradients it uses, and says which that was") {
        Bench bench(2, ParameterServer::unlimited);
        CHECK(bench.push(0, 2, {.lrShare = 0.5}).lrShare == 0.5);
        CHECK(bench.read == -0.5);
        CHECK(bench.push(1, 2, {.lrShare = 0.25}).lrShare == 0.25); // though the other rank is further
        CHECK(bench.read == -0.75);
    }

    TEST_CASE("an update of several ranks' gradients takes the mean of their rates, which is theirs where they agree") {
        Bench bench(3, 0);
        auto first = bench.pushLater(0, 1, {.lrShare = 0.1}), second = bench.pushLater(2, 1, {.lrShare = 0.1});
        CHECK(waits(first));
        CHECK(waits(second));
        CHECK(bench.push(1, 1, {.lrShare = 0.1}).lrShare == 0.1);
        CHECK(first.get().lrShare == 0.1);
        CHECK(second.get().lrShare == 0.1);
        first = bench.pushLater(0, 1, {.lrShare = 0.25});
        second = bench.pushLater(2, 1, {.lrShare = 0.25});
        CHECK(waits(first));
        CHECK(waits(second));
        CHECK(bench.push(1, 1, {.lrShare = 1}).lrShare == 0.5);
        CHECK(first.get().lrShare == 0.5);
        CHECK(second.get().lrShare == 0.5);
    }

    TEST_CASE("a limit holds a fast rank back only once it would leave a slow one too far behind") {
        Bench bench(2, 2);
        CHECK(bench.push(0, 2).staleness == 0);
        CHECK(bench.push(0, 2).staleness == 0);
        auto third = bench.pushLater(0, 2); // rank 1 would be three behind
        CHECK(waits(third));
        const auto slow = bench.push(1, 2);
        CHECK(slow.staleness == 2);
        CHECK(slow.joined == 2);
        CHECK(third.get().joined == 2);
    }

    TEST_CASE("no update of many threads at once is staler than the limit, and none is lost") {
        for (const std::int64_t limit : {std::int64_t{0}, std::int64_t{1}, std::int64_t{3}}) {
            CAPTURE(limit);
            constexpr int ranks = 4, steps = 200;
            Bench bench(ranks, limit);
            std::atomic<std::int64_t> most{0};
            std::vector<std::thread> threads;
            for (int rank = 0; rank < ranks; ++rank)
                threads.emplace_back([&, rank] {
                    torch::Tensor into = vectorOf(0);
                    for (int step = 0; step < steps; ++step) {
                        const auto update = bench.server.update(rank, vectorOf(4), {}, into);
                        std::int64_t before = most;
                        while (update.staleness > before && !most.compare_exchange_weak(before, update.staleness)) {
                        }
                    }
                    bench.server.leave(rank, into);
                    CHECK(into[0].item<double>() == -ranks * steps); // each gradient of 4 moved it by 4/4
                });
            for (auto &thread : threads)
                thread.join();
            CHECK(most <= limit);
        }
    }

    TEST_CASE("ranks that leave are waited for by nobody, and all end with the same parameters") {
        Bench bench(2, 0);
        auto waiting = bench.pushLater(0, 2);
        CHECK(waits(waiting));
        torch::Tensor last = vectorOf(0);
        auto left = std::async(std::launch::async, [&] { return bench.server.leave(1, last); });
        CHECK(waiting.get().joined == 1);
        torch::Tensor own = vectorOf(0);
        CHECK(!bench.server.leave(0, own));
        CHECK(!left.get());
        CHECK(torch::equal(own, last));
        CHECK(own[0].item<double>() == -1);
    }

    TEST_CASE("a wish to stop reaches all ranks before any of them has taken more steps than another could") {
        Bench bench(3, ParameterServer::unlimited);
        for (int i = 0; i < 5; ++i)
            CHECK(bench.push(0, 1).stopAfter == -1);
        CHECK(bench.push(1, 1, {.wantStop = true}).stopAfter == 6); // rank 0 is in its sixth step
        CHECK(bench.push(0, 1).stopAfter == 6);
        CHECK(bench.push(2, 1).stopAfter == 6);
        bench.server.startEpoch();
        CHECK(bench.push(0, 1).stopAfter == -1);
    }

    TEST_CASE("who waits when the server fails gets its exception, and so does who comes later") {
        Bench bench(2, 0);
        auto waiting = bench.pushLater(0, 1);
        CHECK(waits(waiting));
        bench.server.fail(std::make_exception_ptr(std::runtime_error("rank 1 is gone")));
        CHECK_THROWS_WITH(waiting.get(), "rank 1 is gone");
        CHECK_THROWS_WITH(bench.push(1, 1), "rank 1 is gone");
    }
}
