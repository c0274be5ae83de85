// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <string>

#include <torch/types.h>

#include "ipc/error.h"

namespace lockstep::trainer {

/// One split of an image data set, resident in memory as it is on disk.
struct ImageSet {
    torch::Tensor images; ///< uint8 [N, 28, 28], contiguous, CPU
    torch::Tensor labels; ///< int64 [N], 0..classes-1
    int classes = 10;
    double mean = 0, std = 1;                  ///< of pixels scaled to 0..1; what normalising uses
    std::map<std::string, std::string> sha256; ///< file name → hex of the file as found

    [[nodiscard]] std::int64_t size() const { return labels.defined() ? labels.size(0) : 0; }
};

enum class Split { Train, Test };

/// Reads MNIST's IDX files (gzip or plain, `train-images-idx3-ubyte[.gz]` …) of `dataset` (mnist | fashion-mnist).
/// An empty `dataDir` means where the distribution's package puts it. `limit` > 0 keeps the first N samples.
/// Errors (missing, torn gzip, wrong magic, counts that differ, labels out of range) name the file, what was
/// expected, what was found and where to get it; all are BadArgument (exit 2).
[[nodiscard]] Result<ImageSet> loadImageSet(const std::string &dataset, const std::string &dataDir, Split split,
                                            std::int64_t limit = 0);

} // namespace lockstep::trainer
