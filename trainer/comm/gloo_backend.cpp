// SPDX-License-Identifier: MIT
// The only file that includes Gloo's headers. PyTorch's wheel does not contain them, and the distribution's are older
// than the Gloo inside libtorch. So only opaque pointers to Gloo's types are used here; no function of Gloo is called.
#include "trainer/comm/backends.h"

#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO
#endif
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace lockstep::trainer {

c10::intrusive_ptr<c10d::Backend> makeGloo(const c10::intrusive_ptr<c10d::Store> &store, int rank, int size,
                                           const GlooPlace &place) {
    using Gloo = c10d::ProcessGroupGloo;
    auto options = Gloo::Options::create();
    options->threads = glooThreads;
    if (place.limit)
        options->timeout = *place.limit;
    options->devices.push_back(place.interface.empty() ? Gloo::createDeviceForHostname(place.address)
                                                       : Gloo::createDeviceForInterface(place.interface));
    return c10::make_intrusive<Gloo>(store, rank, size, options);
}

} // namespace lockstep::trainer
