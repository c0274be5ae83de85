// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <torch/types.h>

#include "ipc/error.h"

namespace lockstep::trainer {

/// The bytes of one IDX file, or of its first samples (Yann LeCun's MNIST format: big-endian magic 0x0000TTDD, DD sizes, then the data).
struct IdxFile {
    std::string path;                ///< as found, with .gz when it is
    std::vector<std::int64_t> sizes; ///< of each dimension, as its header says
    torch::Tensor data;              ///< uint8, contiguous, shaped by `sizes`, but with the samples asked for alone
    std::string sha256;              ///< of the file as found, hex
};

/// What a rank keeps of a data set's samples at most, training and test samples together.
inline constexpr std::int64_t mostSampleBytes = std::int64_t{1} << 29;

/// Reads PATH, or else PATH.gz. Only unsigned bytes (type 0x08) with `dimensions` sizes are taken; the error names the
/// file, what was expected, what was found. A missing file is an error with an empty `where`. `limit` > 0 keeps at most the first N
/// samples. The whole file is checked, but takes no memory beyond what is kept. Too many bytes to unpack, or more than `room` to keep, are
/// an error.
[[nodiscard]] Result<IdxFile> readIdx(const std::string &path, int dimensions, std::int64_t limit = 0,
                                      std::int64_t room = mostSampleBytes);

} // namespace lockstep::trainer
