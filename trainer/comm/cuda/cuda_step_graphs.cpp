// SPDX-License-Identifier: MIT
#include "trainer/comm/step_graphs.h"

#include <array>

#include <ATen/cuda/CUDAGraph.h>

#include "trainer/comm/cuda/cuda_step_graphs.h"

namespace lockstep::trainer {
namespace {

class CudaStepGraphs final : public StepGraphs {
public:
    void record(Part part, const std::function<void()> &work) override {
        at::cuda::CUDAGraph &graph = m_graphs.at(part);
        // Thread-local mode: loading threads may page-lock memory meanwhile, which the global mode would treat as an
        // error.
        graph.capture_begin(m_pool, cudaStreamCaptureModeThreadLocal);
        try {
            work();
        } catch (...) {
            try {
                graph.capture_end();
            } catch (...) { // report the first error, not this one
            }
            throw;
        }
        graph.capture_end();
    }

    void launch(Part part) override { m_graphs.at(part).replay(); }

private:
    const at::cuda::MempoolId_t m_pool = at::cuda::graph_pool_handle();
    std::array<at::cuda::CUDAGraph, parts> m_graphs;
};

} // namespace

std::unique_ptr<StepGraphs> makeCudaStepGraphs() {
    return std::make_unique<CudaStepGraphs>();
}

} // namespace lockstep::trainer
