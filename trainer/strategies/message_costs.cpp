// SPDX-License-Identifier: MIT
#include "trainer/strategies/message_costs.h"

#include <algorithm>
#include <map>

#include <ATen/Functions.h>
#include <torch/types.h>

#include "ipc/median.h"
#include "trainer/comm/work_between.h"
#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {
namespace {

constexpr int tag = 100;
constexpr std::int64_t fewestExchanges = 2, mostExchanges = 10; // that are timed
constexpr std::int64_t enoughBytes = 32 << 20; // for more than the fewest: a slow network takes a third of a second

/// One sent and one received.
double exchangeSeconds(c10d::ProcessGroup &group, int peer, std::int64_t bytes) {
    const torch::Tensor content = at::ones({bytes}, at::kByte);
    std::vector<torch::Tensor> sent{at::zeros({bytes}, at::kByte)}, received{at::zeros({bytes}, at::kByte)};
    torch::Tensor work = at::ones({workNumbers});
    std::vector<double> took;
    const std::int64_t exchanges = std::clamp(enoughBytes / bytes, fewestExchanges, mostExchanges);
    for (std::int64_t i = 0; i <= exchanges; ++i) { // the first one opens the way and does not count
        work.mul_(1.0);                             // as between two messages of a step
        const std::int64_t startNs = monotonicNs();
        const auto arriving = group.recv(received, peer, tag);
        sent.front().copy_(content); // as activations are, into their message
        const auto leaving = group.send(sent, peer, tag);
        arriving->wait();
        leaving->wait();
        if (i > 0)
            took.push_back(static_cast<double>(monotonicNs() - startNs) * 1e-9);
    }
    return *median(took);
}

} // namespace

std::vector<double> messageSeconds(c10d::ProcessGroup &group, int peer, const std::vector<std::int64_t> &bytes) {
    std::map<std::int64_t, double> known;
    std::vector<double> seconds;
    for (const std::int64_t size : bytes) {
        const auto [place, isNew] = known.try_emplace(size);
        if (isNew)
            place->second = exchangeSeconds(group, peer, size) / 2;
        seconds.push_back(place->second);
    }
    return seconds;
}

} // namespace lockstep::trainer
