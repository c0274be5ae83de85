// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <torch/types.h>

#include "ipc/cores.h"
#include "trainer/data/data_set.h"
#include "trainer/data/sampler.h"

namespace lockstep::trainer {

class DeviceBatches;

struct Batch {
    /// [n, sizes of a sample …], CPU (pinned if asked) or options.device: pixels normalised, in options.dtype; tokens int64, of texts
    /// as many as the longest has.
    torch::Tensor inputs;  ///< undefined where only targets are asked for
    torch::Tensor targets; ///< int64 [n], or [n, …] where a sample has several
    std::int64_t real = 0; ///< the first `real` samples are not the sampler's padded duplicates
    double weight =
        1; ///< of its gradients in the mean over all ranks; not 1 where ranks take different numbers of samples
    /// --loader device on a GPU: Strategy::makeOnDevice() makes inputs and targets, undefined until then, from these.
    torch::Tensor terms = {}; ///< uint8, page-locked on the host
    const DeviceBatches *maker = nullptr;
};

struct LoaderOptions {
    std::int64_t batchSize = 64; ///< of this process
    int worldSize = 1, rank = 0;
    std::uint64_t seed = 1;
    bool targetsOnly = false;   ///< batches without inputs
    bool itemwise = false;      ///< --loader item: a sample at a time, as PyTorch's DataLoader works
    bool lengthBuckets = false; ///< texts: batches of similar lengths
    bool padFully = false;      ///< texts: to the longest of the set, instead of the batch's longest
    bool affine = false; ///< RandomAffine(15°, translate 0.1, scale 0.9-1.1), nearest, fill 0, before normalising;
                         ///< drawn as a pure function of (seed, epoch, sample index)
    int workers = 0;     ///< loading threads; 0: inside next()
    CoreList workerCores = {};            ///< empty: the caller's own
    torch::Dtype dtype = torch::kFloat32; ///< of pixels; fp64: (u8/255 - mean)/std computed in fp64
    bool pinMemory = false;
    std::optional<c10::Device> device =
        {}; ///< --loader device: data and augmentation live there, and so do the batches
    /// Called with the times when a worker began and ended a batch (CLOCK_MONOTONIC), on its thread; may be empty.
    std::function<void(int worker, std::int64_t startNs, std::int64_t endNs)> onBatch = {};
};

/// Returns the batches of one epoch after another in the sampler's order; the last, smaller batch is kept.
/// Used from one thread; has its own workers. Ready batches wait in a bounded ring, filled across epoch ends
/// (no drain) when the next epoch is known to come.
class Loader {
public:
    Loader(const DataSet &set, LoaderOptions options); ///< `set` must outlive it
    ~Loader();

    /// From the next startEpoch() on, rank r takes `shares[r]` samples of each global batch, which stays as large as before.
    void share(std::vector<std::int64_t> shares);
    /// Batches an epoch.
    [[nodiscard]] std::int64_t steps() const;
    /// Goes to the start of `epoch` (from 0), at batch `firstBatch` (resume). `lastEpoch`: where prefetch ends.
    void startEpoch(std::int64_t epoch, std::int64_t lastEpoch, std::int64_t firstBatch = 0);
    /// Batches that workers have ready in the whole ring; nothing without workers.
    [[nodiscard]] std::optional<std::int64_t> ready() const;
    /// The next batch of the epoch, or nothing at its end. Blocks for a worker when none is ready.
    [[nodiscard]] std::optional<Batch> next();

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

/// Some of a set's inputs in a batch's form: pixels normalised, in `dtype`; tokens unchanged.
[[nodiscard]] torch::Tensor normalize(const torch::Tensor &inputs, const DataSetSpec &spec, torch::Dtype dtype);

} // namespace lockstep::trainer
