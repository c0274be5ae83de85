// SPDX-License-Identifier: MIT
#include "trainer/comm/sums.h"

#include <algorithm>
#include <vector>

#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {
namespace {

constexpr std::int64_t leastSegmentBytes = std::int64_t{256} * 1024;
constexpr std::int64_t mostSegments = 4;

/// A share of the ring is passed on as several messages, so that a rank adds one up while the next one is on its way.
class RingShares {
public:
    RingShares(const at::Tensor &buffer, int ranks, std::int64_t segments)
        : m_buffer(buffer), m_ranks(ranks), m_share(ringShare(buffer.numel(), ranks)),
          m_segment(ringShare(m_share, static_cast<int>(segments))) {}

    /// Of share `which`, counted around the ring; the last ones may be shorter, or empty.
    [[nodiscard]] at::Tensor segment(int which, std::int64_t number) const {
        const std::int64_t numbers = m_buffer.numel(), first = std::min(numbers, (which + m_ranks) % m_ranks * m_share),
                           end = std::min(numbers, first + m_share), from = std::min(end, first + number * m_segment);
        return m_buffer.narrow(0, from, std::min(m_segment, end - from));
    }
    /// Room in `arriving` for that segment of any share.
    [[nodiscard]] at::Tensor roomFor(const at::Tensor &segment, std::int64_t number, const at::Tensor &arriving) const {
        return arriving.narrow(0, std::min(number * m_segment, m_share), segment.numel());
    }

private:
    at::Tensor m_buffer;
    int m_ranks;
    std::int64_t m_share, m_segment;
};

std::int64_t segmentsOf(const at::Tensor &buffer, int ranks) {
    if (buffer.is_cuda())
        return 1;
    const std::int64_t bytes = ringShare(buffer.numel(), ranks) * static_cast<std::int64_t>(buffer.element_size());
    return std::clamp<std::int64_t>(bytes / leastSegmentBytes, 1, mostSegments);
}

/// Sends and receives under way. NCCL needs both of a step coalesced: otherwise both neighbours would wait to receive.
class RingLink {
public:
    RingLink(c10d::ProcessGroup &group, int tag) : m_group(group), m_tag(tag) {}

    using Work = c10::intrusive_ptr<c10d::Work>;
    /// Work that is done when `arriving` is there; none: it is empty. Nothing is sent of an empty tensor.
    Work pass(const at::Tensor &leaving, const at::Tensor &arriving) {
        const int rank = m_group.getRank(), size = m_group.getSize();
        std::vector<at::Tensor> out{leaving}, in{arriving};
        const bool together = leaving.is_cuda();
        if (together)
            m_group.startCoalescing(c10::DeviceType::CUDA);
        Work received = arriving.numel() > 0 ? m_group.recv(in, (rank + size - 1) % size, m_tag) : nullptr;
        if (leaving.numel() > 0)
            m_sends.push_back(m_group.send(out, (rank + 1) % size, m_tag));
        if (!together)
            return received;
        m_sends.clear();
        return m_group.endCoalescing(c10::DeviceType::CUDA);
    }
    void finish() {
        for (const Work &send : m_sends)
            send->wait();
    }

private:
    c10d::ProcessGroup &m_group;
    int m_tag;
    std::vector<Work> m_sends;
};

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
    const int rank = group.getRank(), size = group.getSize(), addingSteps = size - 1, steps = 2 * addingSteps;
    const std::int64_t segments = segmentsOf(buffer, size);
    const RingShares shares(buffer, size, segments);
    RingLink link(group, tag);
    struct Transfer {
        RingLink::Work received;
        std::int64_t startNs = 0, sentBytes = 0;
    };
    std::vector<Transfer> under(static_cast<std::size_t>(segments));
    // The share that arrives is the one before the share that leaves.
    const auto leaving = [&](int step, std::int64_t segment) {
        return shares.segment(step < addingSteps ? rank - step : rank + 1 - (step - addingSteps), segment);
    };
    const auto own = [&](int step, std::int64_t segment) {
        return shares.segment(step < addingSteps ? rank - step - 1 : rank - (step - addingSteps), segment);
    };
    const auto begin = [&](int step, std::int64_t segment) {
        const at::Tensor sent = leaving(step, segment), into = own(step, segment);
        Transfer &transfer = under[static_cast<std::size_t>(segment)];
        transfer.startNs = monotonicNs();
        transfer.sentBytes = static_cast<std::int64_t>(sent.nbytes());
        transfer.received = link.pass(sent, step < addingSteps ? shares.roomFor(into, segment, arriving) : into);
    };
    for (std::int64_t segment = 0; segment < segments; ++segment)
        begin(0, segment);
    for (int step = 0; step < steps; ++step)
        for (std::int64_t segment = 0; segment < segments; ++segment) {
            const Transfer &transfer = under[static_cast<std::size_t>(segment)];
            if (transfer.received)
                transfer.received->wait();
            if (onTransfer)
                onTransfer(step < addingSteps ? "reduce-scatter" : "all-gather", transfer.startNs, monotonicNs(),
                           transfer.sentBytes);
            if (step < addingSteps) {
                const at::Tensor sum = own(step, segment);
                sum.add_(shares.roomFor(sum, segment, arriving));
            }
            if (step + 1 < steps)
                begin(step + 1, segment);
        }
    link.finish();
}

} // namespace lockstep::trainer
