// SPDX-License-Identifier: MIT
#include "trainer/comm/cuda/module.h"

#include <cstdio>

#include <cuda_runtime_api.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "trainer/comm/cuda/cuda_step_graphs.h"

namespace lockstep::trainer {
namespace {

std::vector<std::string> visibleGpus(std::vector<std::string> &troubles) {
    int count = 0;
    if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
        troubles.push_back(std::string("CUDA finds no GPU: ") + cudaGetErrorString(error));
        cudaGetLastError(); // clears it: having no GPU is not an error
        return {};
    }
    std::vector<std::string> uuids;
    for (int i = 0; i < count; ++i) {
        cudaDeviceProp properties{};
        if (const cudaError_t error = cudaGetDeviceProperties(&properties, i); error != cudaSuccess) {
            troubles.push_back("GPU " + std::to_string(i) + " can't be asked: " + cudaGetErrorString(error));
            cudaGetLastError();
            uuids.emplace_back("unknown-" + std::to_string(i)); // so that the other GPUs keep their numbers
            continue;
        }
        // The same names as NVML's: a MIG slice has a name of its own.
        std::string text = std::string(properties.name).find(" MIG ") != std::string::npos ? "MIG-" : "GPU-";
        for (int b = 0; b < 16; ++b) {
            char hex[4];
            std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(properties.uuid.bytes[b]));
            text += hex;
            if (b == 3 || b == 5 || b == 7 || b == 9)
                text += '-';
        }
        uuids.push_back(text);
    }
    return uuids;
}

c10::intrusive_ptr<c10d::Backend> makeNccl(const c10::intrusive_ptr<c10d::Store> &store, int rank, int size) {
    return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, c10d::ProcessGroupNCCL::Options::create());
}

} // namespace
} // namespace lockstep::trainer

extern "C" __attribute__((visibility("default"))) const lockstep::trainer::CudaFunctions lockstep_cuda_functions{
    lockstep::trainer::visibleGpus, lockstep::trainer::makeNccl, lockstep::trainer::makeCudaStepGraphs};
