// SPDX-License-Identifier: MIT
#include "trainer/strategies/parameter_shares.h"

#include <stdexcept>

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "trainer/strategies/flat_tensors.h"

namespace lockstep::trainer {

ParameterShares::ParameterShares(const Model &model, Communicator &communicator, const Options &options)
    : m_communicator(communicator), m_apart(options.firstServer >= options.trainers) {
    const c10::AutoGradMode noGrad(false);
    for (const auto &item : model.named_parameters()) {
        m_names.push_back(item.key());
        m_parameters.push_back(item.value());
    }
    c10d::verify_params_across_processes(communicator.group(), m_parameters, {});
    communicator.broadcast(m_parameters);
    m_flat = flattened(m_parameters);
    const std::int64_t all = m_flat.numel();
    for (int server = 0; server < options.servers; ++server) {
        Share share;
        share.rank = options.firstServer + server;
        share.first = all * server / options.servers;
        share.numbers = all * (server + 1) / options.servers - share.first;
        if (share.rank == communicator.rank())
            m_server = std::make_unique<ParameterServer>(share.of(m_flat).clone(), options.optimizer, options.trainers,
                                                         options.maxStaleness);
        m_shares.push_back(share);
    }
}

void ParameterShares::toModel() const {
    copyFlat(m_flat, m_parameters);
}

bool ParameterShares::endEpoch(Optimizer &optimizer, bool stopped) {
    const c10::AutoGradMode noGrad(false);
    if (m_apart) { // the servers have seen their own shares alone
        torch::Tensor stop = torch::full({1}, stopped ? 1.0 : 0.0, torch::kFloat64);
        m_communicator.broadcastFrom(m_shares.front().rank, stop);
        stopped = stop.item<double>() > 0;
        for (const Share &share : m_shares) {
            if (share.rank == m_communicator.rank())
                share.of(m_flat).copy_(m_server->parameters());
            m_communicator.broadcastFrom(share.rank, share.of(m_flat));
        }
    }
    toModel();
    shareState(optimizer);
    return stopped;
}

void ParameterShares::shareState(Optimizer &optimizer) {
    NamedTensors named;
    const auto &own = optimizer.stateTensors();
    for (std::size_t k = 0; k < own.size(); ++k) {
        const auto &[key, tensors] = own[k];
        const bool isCount = key == Optimizer::countKey; // one a server
        torch::Tensor flat = at::zeros({isCount ? static_cast<std::int64_t>(m_shares.size()) : m_flat.numel()},
                                       tensors.front().options());
        for (std::size_t i = 0; i < m_shares.size(); ++i) {
            const Share &share = m_shares[i];
            const torch::Tensor part = isCount ? flat.narrow(0, static_cast<std::int64_t>(i), 1) : share.of(flat);
            if (share.rank == m_communicator.rank())
                part.copy_(m_server->optimizer().stateTensors()[k].second.front());
            m_communicator.broadcastFrom(share.rank, part);
        }
        const auto parts = isCount ? std::vector<torch::Tensor>(tensors.size(), flat[0]) : unflattened(flat, tensors);
        for (std::size_t i = 0; i < parts.size(); ++i)
            named.emplace_back(Optimizer::stateName(m_names[i], key), parts[i]);
    }
    if (auto loaded = optimizer.load(named); !loaded)
        throw std::logic_error(loaded.error().message()); // cannot happen: the names and shapes are its own
}

void ParameterShares::takeState(const Optimizer &optimizer) {
    const c10::AutoGradMode noGrad(false);
    m_flat.copy_(flattened(m_parameters));
    if (!m_server)
        return;
    for (const Share &share : m_shares) {
        if (share.rank != m_communicator.rank())
            continue;
        m_server->parameters().copy_(share.of(m_flat));
        NamedTensors state;
        if (!optimizer.state().empty())
            for (const auto &[key, tensors] : optimizer.stateTensors()) {
                const bool isCount = key == Optimizer::countKey;
                state.emplace_back(Optimizer::stateName(ParameterServer::shareName, key),
                                   isCount ? tensors.front() : share.of(flattened(tensors)));
            }
        if (auto loaded = m_server->optimizer().load(state); !loaded)
            throw std::logic_error(loaded.error().message()); // cannot happen: the names and shapes are its own
    }
}

} // namespace lockstep::trainer
