// SPDX-License-Identifier: MIT
// One frame and nothing else, so that many can be tried in a second.
#include "ipc/frames.h"
#include "tests/fuzz/target.h"

using namespace lockstep;
using namespace lockstep::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static Decoder decoder;
    requireFrameStable(decoder, textOf(data, size));
    return 0;
}
