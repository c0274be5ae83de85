// SPDX-License-Identifier: MIT
#pragma once
#include <fstream>
#include <string>

namespace lockstep::trainer {

/// The version of the PyTorch in this folder, from its Python file: "2.9.1+cpu"; empty if it can't be read.
[[nodiscard]] inline std::string torchVersionIn(const std::string &torch) {
    std::ifstream file(torch + "/version.py");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("__version__")) {
            const auto from = line.find_first_of("'\""), to = line.find_last_of("'\"");
            if (from != std::string::npos && to > from)
                return line.substr(from + 1, to - from - 1);
        }
    return {};
}

} // namespace lockstep::trainer
