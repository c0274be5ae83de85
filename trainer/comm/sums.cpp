// SPDX-License-Identifier: MIT
#include "trainer/comm/sums.h"

#include <algorithm>
#include <vector>

#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {
namespace {

/// Sends to `to` and receives from `from` at the same time; an empty tensor is not sent. NCCL needs both coalesced: otherwise both
/// neighbours would wait to receive.
void passOn(c10d::ProcessGroup &group, const at::Tensor &leaving, int to, const at::Tensor &arriving, int from,
            int tag) {
    std::vector<at::Tensor> out{leaving}, in{arriving};
    const bool sends = leaving.numel() > 0, receives = arriving.numel() > 0;
    if (leaving.is_cuda()) {
        group.startCoalescing(c10::DeviceType::CUDA);
        if (sends)
            group.send(out, to, tag);
        if (receives)
            group.recv(in, from, tag);
        group.endCoalescing(c10::DeviceType::CUDA)->wait();
        return;
    }
    const auto received = receives ? group.recv(in, from, tag) : nullptr;
    const auto sent = sends ? group.send(out, to, tag) : nullptr;
    if (received)
        received->wait();
    if (sent)
        sent->wait();
}

} // namespace

void sumThroughServer(c10d::ProcessGroup &group, const at::Tensor &buffer, const at::Tensor &arriving, int tag) {
    std::vector<at::Tensor> own{buffer}, theirs{arriving};
    if (group.getRank() != 0) {
        group.send(own, 0, tag)->wait();
        group.recv(own, 0, tag)->wait();
        return;
    }
    for (int from = 1; from < group.getSize(); ++from) {
        group.recv(theirs, from, tag)->wait();
        buffer.add_(arriving);
    }
    std::vector<c10::intrusive_ptr<c10d::Work>> sends;
    for (int to = 1; to < group.getSize(); ++to)
        sends.push_back(group.send(own, to, tag));
    for (const auto &send : sends)
        send->wait();
}

std::int64_t ringShare(std::int64_t numbers, int ranks) {
    return (numbers + ranks - 1) / ranks;
}

void sumAroundRing(c10d::ProcessGroup &group, const at::Tensor &buffer, const at::Tensor &arriving, int tag,
                   const OnTransfer &onTransfer) {
    const int rank = group.getRank(), size = group.getSize();
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    const std::int64_t numbers = buffer.numel(), length = ringShare(numbers, size);
    const auto share = [&](int which) {
        const std::int64_t from = std::min(numbers, (which + size) % size * length);
        return buffer.narrow(0, from, std::min(length, numbers - from));
    };
    const auto pass = [&](const char *name, const at::Tensor &leaving, const at::Tensor &into) {
        const std::int64_t startNs = monotonicNs();
        passOn(group, leaving, right, into, left, tag);
        if (onTransfer)
            onTransfer(name, startNs, monotonicNs(), static_cast<std::int64_t>(leaving.nbytes()));
    };
    for (int step = 0; step < size - 1; ++step) {
        const at::Tensor own = share(rank - step - 1), theirs = arriving.narrow(0, 0, own.numel());
        pass("reduce-scatter", share(rank - step), theirs);
        own.add_(theirs);
    }
    for (int step = 0; step < size - 1; ++step)
        pass("all-gather", share(rank + 1 - step), share(rank - step));
}

} // namespace lockstep::trainer
