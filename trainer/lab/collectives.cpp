// SPDX-License-Identifier: MIT
#include "trainer/lab/collectives.h"

#include <c10/util/Exception.h>
#include <torch/cuda.h>

#include "trainer/comm/sums.h"
#include "trainer/comm/work_between.h"
#include "trainer/lab/lab_options.h"

namespace lockstep::trainer {

namespace {

constexpr int tag = 7;
constexpr std::string_view pointToPoint = "send_recv";

std::int64_t roundedUp(std::int64_t count, std::int64_t parts) {
    return (count + parts - 1) / parts * parts;
}

bool sharesOut(const std::string &name) {
    return name == "reduce_scatter" || name == "all_gather" || name == "ring_all_reduce";
}

/// Integers, small enough that all their sums are exact in fp32, and different on every rank.
torch::Tensor pattern(std::int64_t count, int rank, c10::Device device) {
    return torch::arange(count, torch::dtype(torch::kFloat32).device(device)).remainder_(61).add_(rank + 1);
}

} // namespace

int partnerOfRank0(const std::vector<int> &localRanks) {
    for (std::size_t rank = 1; rank < localRanks.size(); ++rank)
        if (localRanks[rank] == 0)
            return static_cast<int>(rank);
    return 1;
}

bool isPointToPoint(std::string_view collective) {
    return collective.starts_with(pointToPoint);
}

std::optional<std::string> whyNotOffered(const std::string &collective, const std::string &backend, bool onGpu) {
    if (onGpu && collective.ends_with(afterWork))
        return "the host can't time a GPU's calls one by one";
    if (backend == "gloo" && onGpu && collective != "all_reduce" && collective != "broadcast")
        return "for tensors on GPUs gloo offers only broadcast and all_reduce";
    return std::nullopt;
}

LabBuffers::LabBuffers(std::int64_t largestBytes, int worldSize, c10::Device device) {
    const auto count = roundedUp((largestBytes + 3) / 4, worldSize);
    const auto options = torch::dtype(torch::kFloat32).device(device);
    for (torch::Tensor *buffer : {&input, &output, &scratch})
        *buffer = torch::full({count}, 1.0, options); // written once, so that every page exists
    work = torch::full({workNumbers}, 1.0, options);
}

Exchange::Exchange(std::string name, c10::intrusive_ptr<c10d::ProcessGroup> group, LabBuffers &buffers,
                   std::int64_t bytes, int partner)
    : m_name(std::move(name)), m_group(std::move(group)), m_rank(m_group->getRank()), m_size(m_group->getSize()),
      m_partner(partner), m_afterWork(m_name.ends_with(afterWork)), m_count((bytes + 3) / 4) {
    if (m_afterWork)
        m_name.resize(m_name.size() - afterWork.size());
    m_work = buffers.work;
    if (sharesOut(m_name))
        m_count = roundedUp(m_count, m_size);
    m_share = m_count / m_size;
    m_input = buffers.input.narrow(0, 0, m_count);
    m_output = buffers.output.narrow(0, 0, m_count);
    m_scratch = buffers.scratch.narrow(0, 0, m_count);
}

void Exchange::run() {
    if (m_name == pointToPoint)
        return sendReceive();
    if (m_name == "ring_all_reduce")
        return sumAroundRing(*m_group, m_input, m_scratch, tag);
    if (m_name == "server_all_reduce")
        return sumThroughServer(*m_group, m_input, m_scratch, tag);
    if (m_name == "reduce_scatter") {
        auto share = m_output.narrow(0, 0, m_share);
        m_group->_reduce_scatter_base(share, m_input)->wait();
    } else if (m_name == "all_gather") {
        auto share = m_input.narrow(0, 0, m_share);
        m_group->_allgather_base(m_output, share)->wait();
    } else {
        std::vector<torch::Tensor> tensors{m_input};
        (m_name == "broadcast" ? m_group->broadcast(tensors) : m_group->allreduce(tensors))->wait();
    }
}

bool Exchange::takesPart() const {
    return m_name != pointToPoint || m_rank == 0 || m_rank == m_partner;
}

/// Between rank 0 and its partner; other ranks do nothing. Back to back it is a ping-pong; after work both send at once, as stages of a
/// pipeline do, so
/// that each rank has the same to do.
void Exchange::sendReceive() {
    if (!takesPart())
        return;
    std::vector<torch::Tensor> own{m_input}, others{m_output};
    if (m_afterWork) {
        const auto arriving = m_group->recv(others, peer(), tag);
        const auto leaving = m_group->send(own, peer(), tag);
        arriving->wait();
        leaving->wait();
    } else if (m_rank == 0) {
        m_group->send(own, peer(), tag)->wait();
        m_group->recv(others, peer(), tag)->wait();
    } else {
        m_group->recv(others, peer(), tag)->wait();
        m_group->send(own, peer(), tag)->wait();
    }
}

void Exchange::work() {
    m_work.mul_(1.0);
}

void Exchange::fill() {
    m_output.fill_(-1);
    if (m_name == "all_gather")
        m_input.narrow(0, 0, m_share).copy_(pattern(m_share, m_rank, m_input.device()));
    else
        m_input.copy_(pattern(m_count, m_rank, m_input.device()));
}

void Exchange::clear() {
    for (torch::Tensor *buffer : {&m_input, &m_output, &m_scratch})
        buffer->zero_();
}

torch::Tensor Exchange::expected() const {
    const auto device = m_input.device();
    if (m_name == "broadcast")
        return pattern(m_count, 0, device);
    if (m_name == pointToPoint)
        return takesPart() ? pattern(m_count, peer(), device) : m_output.clone();
    std::vector<torch::Tensor> shares;
    if (m_name == "all_gather") {
        for (int rank = 0; rank < m_size; ++rank)
            shares.push_back(pattern(m_share, rank, device));
        return torch::cat(shares);
    }
    auto sum = pattern(m_count, 0, device);
    for (int rank = 1; rank < m_size; ++rank)
        sum.add_(pattern(m_count, rank, device));
    return m_name == "reduce_scatter" ? sum.narrow(0, m_rank * m_share, m_share) : sum;
}

torch::Tensor Exchange::result() const {
    if (m_name == "reduce_scatter")
        return m_output.narrow(0, 0, m_share);
    return m_name == "all_gather" || m_name == pointToPoint ? m_output : m_input;
}

Result<void> Exchange::verify() {
    fill();
    run();
    if (m_input.is_cuda())
        torch::cuda::synchronize(m_input.device().index());
    if (torch::equal(result(), expected()))
        return {};
    return fail(Error::failed(m_name + " of " + std::to_string(bytes()) + " bytes gave wrong numbers on rank " +
                                  std::to_string(m_rank),
                              "its time is meaningless"));
}

double busFactor(const std::string &collective, int worldSize) {
    const double n = worldSize;
    if (collective.find("all_reduce") != std::string::npos)
        return 2 * (n - 1) / n;
    return collective == "reduce_scatter" || collective == "all_gather" ? (n - 1) / n : 1;
}

} // namespace lockstep::trainer
