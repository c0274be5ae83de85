// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include <torch/types.h>

#include "ipc/error.h"

namespace lockstep::trainer {

/// The bytes of one IDX file (Yann LeCun's MNIST format: big-endian magic 0x0000TTDD, DD sizes, then the data).
struct IdxFile {
    std::string path;                ///< as found, with .gz when it is
    std::vector<std::int64_t> sizes; ///< of each dimension
    torch::Tensor data;              ///< uint8, shaped by `sizes`, contiguous
    std::string sha256;              ///< of the file as found, hex
};

/// Reads PATH, or else PATH.gz. Only unsigned bytes (type 0x08) with `dimensions` sizes are taken; the error names the
/// file, what was expected, what was found. A missing file is an error with an empty `where`.
[[nodiscard]] Result<IdxFile> readIdx(const std::string &path, int dimensions);

} // namespace lockstep::trainer
