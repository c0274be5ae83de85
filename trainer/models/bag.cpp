// SPDX-License-Identifier: MIT
#include "trainer/models/bag.h"

namespace lockstep::trainer {

Bag::Bag() : m_embedding(256, 8), m_fc(8, 4) {
    register_module("embedding", m_embedding);
    register_module("fc", m_fc);
}

torch::Tensor Bag::layers(torch::Tensor input) {
    return m_fc(m_embedding(std::move(input)).mean(1));
}

} // namespace lockstep::trainer
