// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <torch/types.h>

#include "ipc/error.h"
#include "ipc/models.h"
#include "trainer/data/packed_texts.h"

namespace lockstep::trainer {

/// One split of a data set, resident in memory as it is on disk.
struct DataSet {
    DataSetSpec spec = dataSetTable.front();
    torch::Tensor
        inputs; ///< [N, sizes of a sample …], contiguous, CPU: uint8 pixels, or int64 tokens; undefined of texts
    PackedTexts texts;     ///< instead of inputs; empty elsewhere
    torch::Tensor targets; ///< int64 [N], or [N, …] where a sample has several, contiguous: 0..classes-1
    std::vector<std::string> classNames;       ///< of texts: the labels, in the order of their classes
    std::map<std::string, std::string> sha256; ///< file name → hex of the file as found

    [[nodiscard]] std::int64_t size() const { return targets.defined() ? targets.size(0) : 0; }
};

/// SHA-256, in hex, of the samples and targets themselves, however their files are packed. Texts count as int64 [N, longest].
[[nodiscard]] std::string contentSha256(const DataSet &set);

struct DataSets {
    DataSet train, test;
};

enum class Split { Train, Test };

/// Reads the IDX files (gzip or plain, `train-images-idx3-ubyte[.gz]` …) of a data set of ipc/models.h.
/// An empty `folder` means where the distribution's package puts them. `limit` > 0 keeps the first N samples.
/// Errors (missing, torn gzip, wrong magic, counts that differ, labels out of range) name the file, what was
/// expected, what was found and where to get it; all are BadArgument (exit 2).
[[nodiscard]] Result<DataSet> loadDataSet(const DataSetSpec &spec, const std::string &folder, Split split,
                                          std::int64_t limit = 0);
/// The same by the set's name.
[[nodiscard]] Result<DataSet> loadDataSet(std::string_view name, const std::string &folder, Split split,
                                          std::int64_t limit = 0);

/// Both splits, with at most that many samples of each. Their samples together take at most mostSampleBytes (trainer/data/idx_file.h).
[[nodiscard]] Result<DataSets> loadDataSets(std::string_view name, const std::string &folder, std::int64_t trainLimit,
                                            std::int64_t testLimit);

} // namespace lockstep::trainer
