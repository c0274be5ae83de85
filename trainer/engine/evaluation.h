// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include <c10/core/Device.h>

#include "ipc/frames.h"
#include "trainer/comm/communicator.h"
#include "trainer/data/data_set.h"
#include "trainer/models/model.h"

namespace lockstep::trainer {

/// Accuracy and loss over the whole test set, each sample once: every rank takes its share, and all get the sum.
class Evaluator {
public:
    /// Shares the memory of `test`'s inputs; this rank's texts and targets are copied.
    Evaluator(const DataSet &test, Communicator &communicator, c10::Device device, torch::Dtype dtype);
    /// The model goes to evaluation mode and comes back in training mode.
    [[nodiscard]] EvalFrame run(Model &model, int epoch);

private:
    [[nodiscard]] torch::Tensor inputsOf(std::int64_t first, std::int64_t count) const;

    Communicator &m_communicator;
    c10::Device m_device;
    torch::Dtype m_dtype;
    DataSetSpec m_spec;
    std::int64_t m_samples;            ///< of all ranks
    torch::Tensor m_inputs, m_targets; ///< this rank's share; m_inputs is a view of the set's
    PackedTexts m_texts;               ///< instead of m_inputs where samples are texts, the longest first
};

} // namespace lockstep::trainer
