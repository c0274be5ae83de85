// SPDX-License-Identifier: MIT
#include "trainer/lab/rank_check.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <iostream>
#include <thread>

#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>
#include <nlohmann/json.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/cuda.h>

#include "trainer/comm/backend_choice.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/store.h"
#include "trainer/engine/process_facts.h"
#include "trainer/lab/lab_rank.h"

namespace lockstep::trainer {

namespace {

using namespace std::chrono_literals;
using Json = nlohmann::ordered_json;

/// Time-outs: together below ten seconds for all ranks at once, the rounds of pairs, and the answers of other ranks in
/// each. On GPUs the context and NCCL's communicator take further seconds, more with more GPUs, which is not the
/// network's fault.
constexpr auto allLimit = 3000ms, pairsLimit = 5000ms, longestPair = 2000ms, restLimit = 6000ms,
               gpuStartLimit = 60'000ms;
constexpr std::int64_t numbers = 256 * 1024; ///< 1 MiB
constexpr int pairTag = 11;

/// Integers, different on every rank, whose sums are exact in fp32.
torch::Tensor known(int rank, c10::Device device) {
    return torch::arange(numbers, torch::dtype(torch::kFloat32).device(device)).remainder_(61).add_(rank + 1);
}

std::string oneLine(const std::string &text) {
    return text.substr(0, text.find('\n'));
}

/// The reason of a failure that `body` returned or threw; empty if all went well.
template <class Body> std::string reasonOf(Body body) {
    try {
        return body();
    } catch (const c10::Error &error) {
        return oneLine(error.what_without_backtrace());
    } catch (const std::exception &error) {
        return oneLine(error.what());
    }
}

/// The same with a time limit, since c10d and Gloo have waits without one. A thread that exceeds the limit is
/// abandoned; the process ends without it.
template <class Body> std::string reasonWithin(std::chrono::milliseconds limit, Body body) {
    auto task = std::make_shared<std::packaged_task<std::string()>>([body] { return reasonOf(body); });
    auto reason = task->get_future();
    std::thread([task] { (*task)(); }).detach();
    if (reason.wait_for(limit) == std::future_status::ready)
        return reason.get();
    return "nothing came through within " + std::to_string(limit.count()) + " ms";
}

/// Everything that one attempt uses, so that its thread may outlive the caller. It has its own client of the store,
/// because a call that waits blocks the client.
struct Attempt {
    RankEnvironment env;
    GlooPlace place;
    std::string backend;
    c10::Device device;
    std::chrono::milliseconds limit, storeLimit; ///< time-outs of the all-reduce, and of a call of the store

    [[nodiscard]] c10::intrusive_ptr<c10d::Store> store() const {
        RankEnvironment client = env;
        client.storeRuns = true; // rank 0's server already runs
        client.listenFd.reset();
        auto opened = openStore(client, storeLimit);
        if (!opened)
            throw std::runtime_error(opened.error().message());
        return *opened;
    }
};

/// An all-reduce over all ranks with the backend of the run.
std::string addUp(const Attempt &attempt) {
    const c10::OptionalDeviceGuard onDevice(attempt.device.is_cuda() ? std::optional(attempt.device) : std::nullopt);
    Communicator communicator(attempt.env, attempt.store());
    communicator.connect(attempt.backend, attempt.device, attempt.place);
    auto sum = known(0, attempt.device);
    for (int rank = 1; rank < attempt.env.worldSize; ++rank)
        sum.add_(known(rank, attempt.device));
    std::vector<torch::Tensor> own{known(attempt.env.rank, attempt.device)};
    communicator.group()->allreduce(own)->wait(attempt.limit);
    if (attempt.device.is_cuda())
        torch::cuda::synchronize(attempt.device.index());
    if (attempt.backend == "nccl")
        communicator.leave();
    return torch::equal(own.front(), sum) ? "" : "rank " + std::to_string(attempt.env.rank) + " got wrong sums";
}

/// Exchanges data with one other rank, over a connection of its own through the chosen interface.
std::string talkTo(const Attempt &attempt, int other) {
    const int low = std::min(other, attempt.env.rank), high = std::max(other, attempt.env.rank);
    const int me = attempt.env.rank == low ? 0 : 1;
    const auto store = c10::make_intrusive<c10d::PrefixStore>(
        "pair/" + std::to_string(low) + "-" + std::to_string(high), attempt.store());
    const auto gloo = makeGloo(store, me, 2, attempt.place);
    std::vector<torch::Tensor> own{known(attempt.env.rank, c10::kCPU)}, theirs{torch::zeros(numbers)};
    if (me == 0) {
        gloo->send(own, 1, pairTag)->wait();
        gloo->recv(theirs, 1, pairTag)->wait();
    } else {
        gloo->recv(theirs, 0, pairTag)->wait();
        gloo->send(own, 0, pairTag)->wait();
    }
    return torch::equal(theirs.front(), known(other, c10::kCPU)) ? "" : "wrong numbers came over";
}

class PlaceCheck {
public:
    PlaceCheck(const LabOptions &options, const RankEnvironment &env, const Placement &placement)
        : m_options(options), m_env(env), m_placement(placement), m_device(placement.devices.front().device) {}

    Result<void> run();

private:
    std::vector<Json> tryPairs();

    const LabOptions &m_options;
    const RankEnvironment &m_env;
    const Placement &m_placement;
    c10::Device m_device;
    std::chrono::milliseconds m_allLimit = allLimit;
    c10::intrusive_ptr<c10d::Store> m_store;
    std::unique_ptr<Communicator> m_communicator;
    GlooPlace m_place;
    std::string m_backend;
};

/// Rounds in which each rank is paired with another (the circle method): N ranks need N - 1 rounds.
std::vector<Json> PlaceCheck::tryPairs() {
    // With an odd number, one rank pauses in each round.
    const int ranks = m_env.worldSize + m_env.worldSize % 2, rounds = ranks - 1;
    const auto limit = std::min<std::chrono::milliseconds>(longestPair, pairsLimit / rounds);
    std::vector<Json> failed;
    const auto begun = std::chrono::steady_clock::now();
    for (int round = 0; round < rounds; ++round) {
        const auto at = [&](int seat) { return seat == 0 ? 0 : 1 + (seat - 1 + round) % rounds; };
        for (int seat = 0; seat < ranks / 2; ++seat) {
            const int a = at(seat), b = at(ranks - 1 - seat);
            if ((a != m_env.rank && b != m_env.rank) || std::max(a, b) >= m_env.worldSize)
                continue;
            const int other = a == m_env.rank ? b : a;
            // Rounds begin together, so that a peer does not wait while this rank is still in an earlier one.
            const auto due = begun + round * limit;
            const auto left = std::max<std::chrono::milliseconds>(
                200ms,
                std::chrono::duration_cast<std::chrono::milliseconds>(due + limit - std::chrono::steady_clock::now()));
            Attempt attempt{m_env, m_place, m_backend, m_device, m_allLimit, m_allLimit + restLimit};
            attempt.place.limit = left;
            if (const std::string why = reasonWithin(left, [attempt, other] { return talkTo(attempt, other); });
                !why.empty())
                failed.push_back(
                    {{"ranks", {std::min(other, m_env.rank), std::max(other, m_env.rank)}}, {"reason", why}});
        }
    }
    return failed;
}

Result<void> PlaceCheck::run() {
    auto store = openStore(m_env, allLimit + restLimit);
    if (!store)
        return fail(store.error());
    m_store = *store;
    m_communicator = std::make_unique<Communicator>(m_env, m_store);
    const auto names =
        m_communicator->exchange("check-who", "rank " + std::to_string(m_env.rank) + " on " + hostName());
    const auto kinds = m_communicator->exchange("check-kinds", m_device.is_cuda() ? "gpu" : "cpu");
    if (std::find(kinds.begin(), kinds.end(), "gpu") != kinds.end()) {
        m_allLimit += gpuStartLimit;
        m_store->setTimeout(m_allLimit + restLimit);
    }
    const auto backend = chooseBackend(*m_communicator, m_options.config.backend, m_device, m_placement.names.front());
    if (!backend)
        return fail(backend.error());
    m_backend = *backend;
    m_place = glooPlaceOf(m_env, m_options.config.interface);
    m_place.limit = m_allLimit;
    const Attempt attempt{m_env, m_place, m_backend, m_device, m_allLimit, m_allLimit + restLimit};
    const auto all =
        m_communicator->exchange("check-all", reasonWithin(m_allLimit, [attempt] { return addUp(attempt); }));
    const auto bad = std::find_if(all.begin(), all.end(), [](const std::string &reason) { return !reason.empty(); });
    Json answer = {{"type", "check"}, {"ok", bad == all.end()}};
    if (bad != all.end()) {
        answer["reason"] = *bad;
        answer["ranks"] = names;
        answer["pairs"] = Json::array();
        for (const std::string &sent : m_communicator->exchange("check-pairs", Json(tryPairs()).dump()))
            for (const Json &pair : Json::parse(sent))
                if (std::none_of(answer["pairs"].begin(), answer["pairs"].end(),
                                 [&](const Json &known) { return known["ranks"] == pair["ranks"]; }))
                    answer["pairs"].push_back(pair);
    }
    if (m_env.rank == 0)
        std::cout << answer.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
    const auto left = [](int rank) { return "check-left/" + std::to_string(rank); };
    if (m_env.rank != 0) {
        m_store->set(left(m_env.rank), std::string("1"));
        return {};
    }
    std::vector<std::string> others; // rank 0 leaves last, since it serves the store
    for (int rank = 1; rank < m_env.worldSize; ++rank)
        others.push_back(left(rank));
    m_store->wait(others);
    return {};
}

} // namespace

int checkMain(const std::vector<std::string> &arguments) {
    return labRankMain(
        arguments, [](const LabOptions &options, const RankEnvironment &env, const Placement &placement) {
            const c10::Device device = placement.devices.front().device;
            const c10::OptionalDeviceGuard onDevice(device.is_cuda() ? std::optional(device) : std::nullopt);
            const auto done = PlaceCheck(options, env, placement).run();
            if (done) // a thread that waits for a missing peer must not keep the process alive
                std::_Exit(0);
            return done;
        });
}

} // namespace lockstep::trainer
