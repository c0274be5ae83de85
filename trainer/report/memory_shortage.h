// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

namespace lockstep::trainer {

/// What is free where memory ran out: "21.3 GB of the machine's memory are free, this process may have 717 MB in all (ulimit -v)".
/// From /proc/meminfo and the process's own limit; empty if neither is known.
[[nodiscard]] std::string freeMemoryInWords();

/// What an exception's text says of memory that ran out: "159 MB were asked for, …". It knows the texts of torch's CPU and CUDA
/// allocators and of std::bad_alloc. `freeOnCpu`: freeMemoryInWords(); a GPU's text says by itself what is free. Empty: it speaks of
/// something else.
[[nodiscard]] std::string memoryShortage(std::string_view text, const std::string &freeOnCpu);

} // namespace lockstep::trainer
