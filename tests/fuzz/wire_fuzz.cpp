// SPDX-License-Identifier: MIT
// What a rank or a viewer says, and the lines of a log, one by one.
#include "ipc/frames.h"
#include "ipc/line_framer.h"
#include "ipc/log.h"
#include "ipc/messages.h"
#include "tests/fuzz/target.h"

using namespace lockstep;
using namespace lockstep::fuzz;

namespace {

void fuzzLine(Decoder &decoder, LineChecker &checker, std::string_view line) {
    static_cast<void>(checker.check(line));
    static_cast<void>(decodeHello(line));
    static_cast<void>(decodeControl(line));
    const std::string written = requireFrameStable(decoder, line);
    require(written.empty() || crcHolds(sealLine(written, 0, 1)));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static Decoder decoder;
    const std::string_view bytes = textOf(data, size);
    LineChecker checker;
    LineFramer framer;
    static_cast<void>(framer.feed(bytes, [&](std::string_view line) { fuzzLine(decoder, checker, line); }));
    require(framer.pending() < maxFrameBytes);
    fuzzLine(decoder, checker, bytes);
    return 0;
}
