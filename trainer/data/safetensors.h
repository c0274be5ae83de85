// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <torch/types.h>

#include "ipc/error.h"

namespace lockstep::trainer {

/// Tensors by name, in file order, and the free-form strings of `__metadata__`.
/// Format: github.com/huggingface/safetensors (u64 LE header length, JSON header, data).
struct TensorFile {
    std::vector<std::pair<std::string, torch::Tensor>> tensors; ///< contiguous CPU tensors; F64 F32 I64 I32 U8 BOOL
    std::map<std::string, std::string> metadata;
    /// The file carries the SHA-256 of its own bytes, taken with zeros in the digest's place, as one more string of
    /// `__metadata__`. Other readers ignore it.
    bool sealed = false;
};

/// Checks bounds, overlaps, dtypes, lengths (header ≤ 100 MB, of ≤ 100,000 tensors and ≤ 10,000 strings of `__metadata__`), sizes (≤ 64,
/// whose product without zeros fits 62 bits) and, of a sealed file, the digest; the error names file and tensor. Takes memory for data
/// only once the header agrees with the file's length and `judge`, which is given the file without its tensors, has no error.
[[nodiscard]] Result<TensorFile> readTensors(const std::string &path,
                                             const std::function<Result<void>(const TensorFile &)> &judge = {});
/// Writes all or nothing: to a file beside it, which is synced and renamed. An error if there are more tensors than are read.
[[nodiscard]] Result<void> writeTensors(const std::string &path, const TensorFile &file);

/// SHA-256 of all parameters as fp32 little-endian bytes in state_dict order.
[[nodiscard]] std::string parametersSha256(const std::vector<torch::Tensor> &parameters);

} // namespace lockstep::trainer
