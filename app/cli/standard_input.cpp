// SPDX-License-Identifier: MIT
#include "standard_input.h"

#include <cstddef>
#include <iostream>

#include "ipc/file_system.h"

namespace lockstep::cli {

Result<std::string> standardInput() {
    constexpr std::size_t block = 64 * 1024;
    std::string text;
    while (std::cin && text.size() <= largestDocument) {
        const std::size_t before = text.size();
        text.resize(before + block);
        std::cin.read(text.data() + before, std::streamsize(block));
        text.resize(before + std::size_t(std::cin.gcount()));
    }
    if (text.size() > largestDocument)
        return fail(Error::badArgument("stdin has more than the " + std::to_string(largestDocument >> 20) +
                                           " MiB that a document may have",
                                       "give a shorter text"));
    return text;
}

} // namespace lockstep::cli
