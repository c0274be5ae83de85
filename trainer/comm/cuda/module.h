// SPDX-License-Identifier: MIT
#pragma once
// The functions of lockstep-trainer's CUDA half, a library that is loaded when a run uses GPUs. Without this split, a rank on CPU
// devices would also load CUDA's libraries: a quarter of its memory and a part of its start-up time.
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "trainer/comm/step_graphs.h"

namespace lockstep::trainer {

/// The functions behind the library's only symbol. Program and library must be of the same build. The library links
/// torch but none of our code, since a loaded library cannot use the executable's symbols. So it returns messages
/// instead of logging them.
struct CudaFunctions {
    /// UUIDs in CUDA's order. `troubles` gets a sentence for each GPU or property that could not be read.
    std::vector<std::string> (*visibleGpus)(std::vector<std::string> &troubles);
    c10::intrusive_ptr<c10d::Backend> (*makeNccl)(const c10::intrusive_ptr<c10d::Store> &, int rank, int size);
    std::unique_ptr<StepGraphs> (*makeStepGraphs)();
};
inline constexpr const char *cudaFunctionsSymbol = "lockstep_cuda_functions";
inline constexpr const char *cudaModuleName = "lockstep-trainer-cuda.so"; ///< lies beside the program

} // namespace lockstep::trainer
