// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ipc/run_config.h"
#include "trainer/comm/communicator.h"
#include "trainer/engine/optimizer.h"
#include "trainer/report/phase_clock.h"
#include "trainer/report/trace.h"
#include "trainer/strategies/dp.h"
#include "trainer/strategies/strategy.h"

namespace lockstep::trainer {

/// What a strategy is made from. References and pointers outlive the strategy.
struct StrategyParts {
    const RunConfig &config;
    std::shared_ptr<Model> model;
    Communicator &communicator; ///< connected where the method is distributed
    PhaseClock &clock;
    Trace *trace;
    std::vector<ComputeDevice> devices;                  ///< of this process; the first holds the model
    std::function<std::shared_ptr<Model>()> makeReplica; ///< same shape and precision, any parameters
    OptimizerOptions optimizer;
    std::int64_t batch = 0;  ///< samples a step of this process
    SampleSpec sample;       ///< of the data
    bool oneNode = true;     ///< all ranks run on one machine
    std::string bucketOrder; ///< Strategy::bucketOrder() of the run that is resumed; else empty
};

/// The strategy of config.method. An error: it can't train this model so. Throws what torch and c10d throw.
[[nodiscard]] Result<std::unique_ptr<Strategy>> makeStrategy(const StrategyParts &parts);

} // namespace lockstep::trainer
