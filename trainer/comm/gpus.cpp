// SPDX-License-Identifier: MIT
#include "trainer/comm/gpus.h"

#include <dlfcn.h>
#include <filesystem>
#include <stdexcept>

#include "ipc/logging.h"
#include "trainer/comm/backends.h"
#include "trainer/comm/cuda/module.h"

namespace lockstep::trainer {

namespace {

/// Loads the CUDA library once. It must be loaded before torch is first asked for CUDA, since torch remembers the
/// answer. It is never unloaded, which torch does not support. Null, with a line in the log, if it cannot be loaded.
const CudaFunctions *cudaFunctions() {
    static const CudaFunctions *const functions = []() -> const CudaFunctions * {
        std::error_code error;
        const auto path = std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / cudaModuleName;
        if (!std::filesystem::exists(path, error)) {
            logInfo("this lockstep-trainer was built without CUDA and NCCL");
            return nullptr;
        }
        void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        const void *symbol = library ? ::dlsym(library, cudaFunctionsSymbol) : nullptr;
        if (!symbol)
            logInfo(std::string("CUDA can't be used: ") + ::dlerror());
        return static_cast<const CudaFunctions *>(symbol);
    }();
    return functions;
}

} // namespace

std::vector<std::string> visibleGpus() {
    const CudaFunctions *cuda = cudaFunctions();
    if (!cuda)
        return {};
    std::vector<std::string> troubles;
    std::vector<std::string> gpus = cuda->visibleGpus(troubles);
    for (const std::string &trouble : troubles)
        logInfo(trouble);
    return gpus;
}

c10::intrusive_ptr<c10d::Backend> makeNccl(const c10::intrusive_ptr<c10d::Store> &store, int rank, int size) {
    const CudaFunctions *cuda = cudaFunctions();
    if (!cuda)
        throw std::runtime_error("this lockstep-trainer has no CUDA and NCCL");
    return cuda->makeNccl(store, rank, size);
}

std::unique_ptr<StepGraphs> makeStepGraphs() {
    const CudaFunctions *cuda = cudaFunctions();
    if (!cuda)
        throw std::runtime_error("this lockstep-trainer has no CUDA, so no CUDA graphs");
    return cuda->makeStepGraphs();
}

} // namespace lockstep::trainer
