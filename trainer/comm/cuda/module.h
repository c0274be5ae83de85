#pragma once
// What lockstep-trainer asks of its CUDA half, a library of its own that is loaded when a run names GPUs: a rank on CPU
// devices would otherwise carry CUDA's libraries, a quarter of its memory and a part of its start.
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "trainer/comm/step_graphs.h"

namespace lockstep::trainer {

/// The one symbol the library gives; both sides are of one build. The library links torch and nothing of ours: a program gives
/// no symbol to what it loads, so what is to be logged is handed back.
struct CudaFunctions {
    /// UUIDs in CUDA's order; `troubles`: a sentence for each thing that could not be asked.
    std::vector<std::string> (*visibleGpus)(std::vector<std::string> &troubles);
    c10::intrusive_ptr<c10d::Backend> (*makeNccl)(const c10::intrusive_ptr<c10d::Store> &, int rank, int size);
    std::unique_ptr<StepGraphs> (*makeStepGraphs)();
};
inline constexpr const char *cudaFunctionsSymbol = "lockstep_cuda_functions";
inline constexpr const char *cudaModuleName = "lockstep-trainer-cuda.so"; ///< lies beside the program

} // namespace lockstep::trainer
