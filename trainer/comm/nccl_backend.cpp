#include "trainer/comm/backends.h"

#include <stdexcept>

#ifdef LOCKSTEP_CUDA
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

namespace lockstep::trainer {

#ifdef LOCKSTEP_CUDA
c10::intrusive_ptr<c10d::Backend> makeNccl(const c10::intrusive_ptr<c10d::Store> &store, int rank, int size,
                                           c10::Device device) {
    auto nccl =
        c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, c10d::ProcessGroupNCCL::Options::create());
    nccl->setBoundDeviceId(device);
    return nccl;
}
#else
c10::intrusive_ptr<c10d::Backend> makeNccl(const c10::intrusive_ptr<c10d::Store> &, int, int, c10::Device) {
    throw std::runtime_error("this lockstep-trainer was built without CUDA and NCCL");
}
#endif

} // namespace lockstep::trainer
