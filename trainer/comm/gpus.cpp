#include "trainer/comm/gpus.h"

#ifdef LOCKSTEP_CUDA
#include <cuda_runtime_api.h>

#include <cstdio>
#endif

namespace lockstep::trainer {

#ifdef LOCKSTEP_CUDA
std::vector<std::string> visibleGpus() {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        cudaGetLastError(); // clears it: no GPU is an answer, not an error
        return {};
    }
    std::vector<std::string> uuids;
    for (int i = 0; i < count; ++i) {
        cudaDeviceProp properties{};
        if (cudaGetDeviceProperties(&properties, i) != cudaSuccess)
            continue;
        std::string text = "GPU-";
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
#else
std::vector<std::string> visibleGpus() {
    return {};
}
#endif

} // namespace lockstep::trainer
