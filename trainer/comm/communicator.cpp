// SPDX-License-Identifier: MIT
#include "trainer/comm/communicator.h"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <thread>

#include <c10/core/GradMode.h>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {

Communicator::Communicator(RankEnvironment env, c10::intrusive_ptr<c10d::Store> store)
    : m_env(std::move(env)), m_store(std::move(store)) {}

void Communicator::connect(const std::string &backend, c10::Device device, const GlooPlace &place) {
    using Group = c10d::ProcessGroup;
    const int rank = m_env.rank, size = m_env.worldSize;
    m_place = place;
    m_group = c10::make_intrusive<Group>(c10::make_intrusive<c10d::PrefixStore>("group", m_store), rank, size);
    const auto gloo = makeGloo(c10::make_intrusive<c10d::PrefixStore>("gloo", m_store), rank, size, place);
    m_group->setBackend(c10::DeviceType::CPU, Group::BackendType::GLOO, gloo);
    if (backend == "nccl") {
        if (!place.interface.empty()) // "=": exactly this name; otherwise NCCL takes all that begin like it
            ::setenv("NCCL_SOCKET_IFNAME", ("=" + place.interface).c_str(), 1);
        const auto nccl = makeNccl(c10::make_intrusive<c10d::PrefixStore>("nccl", m_store), rank, size);
        m_group->setBoundDeviceId(
            device); // setBackend() passes it on; without it, a barrier guesses the device by rank
        m_group->setBackend(c10::DeviceType::CUDA, Group::BackendType::NCCL, nccl);
        m_group->setDefaultBackend(Group::BackendType::NCCL);
    } else {
        if (device.is_cuda())
            m_group->setBackend(c10::DeviceType::CUDA, Group::BackendType::GLOO, gloo);
        m_group->setDefaultBackend(Group::BackendType::GLOO);
    }
    m_someOnGpu = sum({device.is_cuda() ? 1.0 : 0.0}).front() > 0;
    m_lastEndNs = monotonicNs();
}

c10::intrusive_ptr<c10d::Backend> Communicator::makeGroup(const std::string &name, int rank, int size) {
    return makeGloo(c10::make_intrusive<c10d::PrefixStore>(name, m_store), rank, size, m_place);
}

void Communicator::leave() {
    barrier(); // no rank's data is in transit any more
    if (!m_group || m_group->getBackendType() != c10d::ProcessGroup::BackendType::NCCL)
        return;
    m_group->getBackend(c10::DeviceType::CUDA)->shutdown();
    barrier(); // rank 0 stays until all have shut down, since it serves the store
}

void Communicator::part() {
    constexpr std::chrono::milliseconds limit(3000), often(2);
    if (!m_store || worldSize() == 1)
        return;
    try {
        std::int64_t parted = m_store->add("parted", 1);
        const auto until = std::chrono::steady_clock::now() + limit;
        while (rank() == 0 && parted < worldSize() && std::chrono::steady_clock::now() < until) {
            std::this_thread::sleep_for(often);
            parted = m_store->add("parted", 0);
        }
    } catch (const std::exception &) { // another rank has left already, so this one may leave too
    }
}

std::vector<std::string> Communicator::exchange(const std::string &key, const std::string &text) {
    if (!m_store || worldSize() == 1)
        return {text};
    m_store->set(key + "/" + std::to_string(rank()), text.empty() ? std::string(" ") : text);
    std::vector<std::string> all;
    for (int r = 0; r < worldSize(); ++r) {
        const std::vector<std::uint8_t> bytes = m_store->get(key + "/" + std::to_string(r));
        const std::string value(bytes.begin(), bytes.end());
        all.push_back(value == " " ? std::string() : value);
    }
    return all;
}

void Communicator::allReduce(torch::Tensor tensor) {
    const InCollective here(m_position);
    std::vector<torch::Tensor> tensors{std::move(tensor)};
    m_group->allreduce(tensors)->wait();
    m_lastEndNs = monotonicNs();
}

std::vector<double> Communicator::sum(std::vector<double> own) {
    if (m_group && worldSize() > 1)
        allReduce(torch::from_blob(own.data(), {static_cast<std::int64_t>(own.size())}, torch::kFloat64));
    return own;
}

std::vector<std::vector<double>> Communicator::gather(const std::vector<double> &own) {
    const auto count = own.size();
    std::vector<double> all(count * static_cast<std::size_t>(worldSize()), 0.0);
    std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(count) * rank());
    all = sum(std::move(all));
    std::vector<std::vector<double>> rows;
    for (int r = 0; r < worldSize(); ++r) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(count) * r;
        rows.emplace_back(first, first + static_cast<std::ptrdiff_t>(count));
    }
    return rows;
}

std::vector<torch::Tensor> Communicator::gatherBytes(const torch::Tensor &own) {
    if (!m_group || worldSize() == 1)
        return {own};
    auto all = torch::zeros({worldSize(), own.numel()}, torch::kUInt8);
    all[rank()].copy_(own.view(-1));
    allReduce(all);
    return all.unbind(0);
}

void Communicator::broadcast(const std::vector<torch::Tensor> &tensors) {
    constexpr std::size_t bytesAtOnce = 250 * 1024 * 1024; // torch's DistributedDataParallel
    if (tensors.empty() || !m_group || worldSize() == 1)
        return;
    const c10::AutoGradMode noGrad(false);
    const InCollective here(m_position);
    c10d::broadcast_coalesced(m_group, tensors, bytesAtOnce);
}

void Communicator::broadcastFrom(int root, torch::Tensor tensor) {
    const c10::AutoGradMode noGrad(false);
    const InCollective here(m_position);
    std::vector<torch::Tensor> tensors{std::move(tensor)};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    m_group->broadcast(tensors, options)->wait();
}

void Communicator::barrier() {
    (void)sum({0.0});
}

} // namespace lockstep::trainer
