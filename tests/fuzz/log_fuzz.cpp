// SPDX-License-Identifier: MIT
// A log as a file: damaged, cut off, from anywhere.
#include "ipc/log.h"
#include "tests/fuzz/target.h"

using namespace lockstep;
using namespace lockstep::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const InputFile file(textOf(data, size));
    for (const std::uint64_t from : {std::uint64_t(0), std::uint64_t(5)}) {
        std::uint64_t good = 0, next = from;
        const auto read = readLog(file.path(), from, [&](std::string_view line) {
            const auto place = placeOfSealedLine(line);
            require(crcHolds(line) && place && place->seq >= next);
            next = place->seq + 1;
            ++good;
        });
        require(read && (from > 0 || read->lines == good));
    }
    return 0;
}
