// SPDX-License-Identifier: MIT
#include "trainer/data/loader.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <omp.h>
#include <pthread.h>
#include <stdexcept>
#include <thread>
#include <utility>

#include <torch/torch.h>

#include "trainer/data/batch_maker.h"
#include "trainer/data/device_batches.h"

namespace lockstep::trainer {
namespace {

/// One loading thread works on one core: no intra-op threads of its own, nothing recorded for autograd.
void setUpWorker(const CoreList &cores, int number) {
    pthread_setname_np(pthread_self(), ("loader-" + std::to_string(number)).c_str());
    if (const Result<void> pinned = pinThread(cores); !pinned)
        throw std::runtime_error("a loading worker " + pinned.error().message());
    (void)at::get_num_threads(); // torch sets OpenMP up in each thread once; what follows must come after it
    omp_set_num_threads(1);      // not at::set_num_threads: that also changes what threads born later get
}

/// One batch of one epoch.
struct Position {
    std::int64_t epoch = 0, batch = 0;
    bool operator==(const Position &) const = default;
};

/// One place in the ring of ready batches.
struct Slot {
    bool ready = false;
    Batch batch;
    std::exception_ptr error;
};

} // namespace

struct Loader::Impl {
    Impl(const DataSet &dataSet, LoaderOptions given)
        : set(dataSet), options(std::move(given)), maker(set, options), ring(2 * std::max(options.workers, 0)) {
        if (options.device)
            resident.emplace(set, options);
        const auto samples = (set.size() + options.worldSize - 1) / options.worldSize;
        steps = (samples + options.batchSize - 1) / options.batchSize;
    }

    ~Impl() { stop(); }

    void startWorkers() {
        for (int i = 0; i < options.workers; ++i)
            workers.emplace_back([this, i] { work(i); });
    }

    void stop() {
        {
            const std::lock_guard lock(mutex);
            stopping = true;
        }
        wake.notify_all();
        for (auto &worker : workers)
            worker.join();
        workers.clear();
    }

    /// Needs the mutex when there are workers. At an epoch's end some workers are in the next one, so two orders are kept.
    std::shared_ptr<const RankShare> orderOf(std::int64_t epoch) {
        auto &[of, order] = orders.at(static_cast<std::size_t>(epoch % 2));
        if (!order || of != epoch) {
            const LengthBuckets buckets{options.lengthBuckets ? set.texts.lengths() : std::span<const std::int64_t>(),
                                        options.batchSize * options.worldSize};
            order = std::make_shared<const RankShare>(
                shares.empty() ? RankShare{.order = sampleOrder(set.size(), options.worldSize, options.rank,
                                                                options.seed, epoch, buckets),
                                           .share = options.batchSize}
                               : unevenShare(set.size(), shares, options.rank, options.seed, epoch, buckets));
            of = epoch;
        }
        return order;
    }

    Batch make(const RankShare &epoch, Position at) const {
        const SampleOrder &samples = epoch.order;
        const auto begin = at.batch * epoch.share;
        const auto n = std::min(epoch.share, static_cast<std::int64_t>(samples.indices.size()) - begin);
        const auto real = std::clamp<std::int64_t>(samples.real - begin, 0, n);
        const std::span all(samples.indices);
        const auto chosen = all.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(n));
        // On a GPU the strategy may record the operations that make the batch.
        Batch batch = !resident                      ? maker.make(chosen, at.epoch, real)
                      : resident->device().is_cuda() ? resident->prepare(chosen, at.epoch, real)
                                                     : resident->make(chosen, at.epoch, real);
        batch.weight = at.batch + 1 < steps ? epoch.weight : epoch.lastWeight;
        return batch;
    }

    /// Moves on by one batch, over the epoch's end too.
    [[nodiscard]] Position after(Position at) const {
        return at.batch + 1 < steps ? Position{at.epoch, at.batch + 1} : Position{at.epoch + 1, 0};
    }

    [[nodiscard]] bool mayPrefetch() const {
        return !stopping && planned.epoch <= lastEpoch && plannedNumber - takenNumber < ring.size();
    }

    void work(int number) {
        const torch::NoGradGuard noGrad;
        std::exception_ptr broken; // a worker that can't be set up reports the error in place of its batches
        try {
            setUpWorker(options.workerCores, number);
        } catch (...) {
            broken = std::current_exception();
        }
        std::unique_lock lock(mutex);
        for (;;) {
            wake.wait(lock, [this] { return stopping || mayPrefetch(); });
            if (stopping)
                return;
            const auto at = planned;
            const auto place = plannedNumber++ % ring.size();
            const auto mine = generation;
            planned = after(planned);
            Slot made{true, {}, broken};
            if (!broken)
                makeUnlocked(lock, at, made, number);
            if (mine != generation)
                continue; // the reader moved to another position meanwhile
            ring[place] = std::move(made);
            ready.notify_one();
        }
    }

    void makeUnlocked(std::unique_lock<std::mutex> &lock, Position at, Slot &made, int number) {
        try {
            const auto samples = orderOf(at.epoch);
            lock.unlock();
            const auto start = std::chrono::steady_clock::now();
            made.batch = make(*samples, at);
            if (options.onBatch)
                options.onBatch(number, std::chrono::nanoseconds(start.time_since_epoch()).count(),
                                std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
        } catch (...) {
            made.error = std::current_exception();
        }
        if (!lock.owns_lock())
            lock.lock();
    }

    /// Discards batches that were read ahead.
    void goTo(Position at) {
        ++generation;
        planned = at;
        plannedNumber = takenNumber = 0;
        ring.assign(ring.size(), {});
    }

    Batch take() {
        std::unique_lock lock(mutex);
        auto &slot = ring[takenNumber % ring.size()];
        ready.wait(lock, [&slot] { return slot.ready; });
        Slot taken = std::move(slot);
        slot = {};
        ++takenNumber;
        lock.unlock();
        wake.notify_one();
        if (taken.error)
            std::rethrow_exception(taken.error);
        return std::move(taken.batch);
    }

    const DataSet &set;
    const LoaderOptions options;
    const BatchMaker maker;
    std::optional<DeviceBatches> resident;
    std::int64_t steps = 0;
    Position reading;         ///< what next() gives next
    std::int64_t reader = -1; ///< the epoch startEpoch() named

    std::mutex mutex; ///< guards all below
    std::condition_variable wake, ready;
    std::vector<Slot> ring;
    Position planned;                                 ///< what a worker makes next
    std::uint64_t plannedNumber = 0, takenNumber = 0; ///< batches since goTo(); modulo the ring's size their place
    std::uint64_t generation = 0;
    std::int64_t lastEpoch = -1;
    bool stopping = false;
    std::array<std::pair<std::int64_t, std::shared_ptr<const RankShare>>, 2> orders; ///< of even and odd epochs
    std::vector<std::int64_t> shares;                                                ///< by rank; empty: even ones
    std::vector<std::thread> workers;
};

Loader::Loader(const DataSet &set, LoaderOptions options) : m_impl(std::make_unique<Impl>(set, std::move(options))) {
    m_impl->startWorkers();
}

Loader::~Loader() = default;

void Loader::share(std::vector<std::int64_t> shares) {
    const std::lock_guard lock(m_impl->mutex);
    m_impl->shares = std::move(shares);
    m_impl->orders = {};
    m_impl->reader = -1; // startEpoch() discards what was read ahead
    ++m_impl->generation;
}

std::int64_t Loader::steps() const {
    return m_impl->steps;
}

void Loader::startEpoch(std::int64_t epoch, std::int64_t lastEpoch, std::int64_t firstBatch) {
    auto &impl = *m_impl;
    // An epoch entered at its end has no batches left; the following one is next.
    const auto start = firstBatch < impl.steps ? Position{epoch, firstBatch} : Position{epoch + 1, 0};
    {
        const std::lock_guard lock(impl.mutex);
        const bool goesOn = impl.reader >= 0 && impl.reading == start;
        if (!goesOn)
            impl.goTo(start);
        impl.lastEpoch = std::max(epoch, lastEpoch);
    }
    impl.reading = start;
    impl.reader = epoch;
    impl.wake.notify_all();
}

std::optional<std::int64_t> Loader::ready() const {
    if (m_impl->workers.empty())
        return std::nullopt;
    const std::lock_guard lock(m_impl->mutex);
    return std::count_if(m_impl->ring.begin(), m_impl->ring.end(), [](const Slot &slot) { return slot.ready; });
}

std::optional<Batch> Loader::next() {
    auto &impl = *m_impl;
    if (impl.reading.epoch != impl.reader || impl.reading.batch >= impl.steps)
        return std::nullopt;
    const auto at = impl.reading;
    impl.reading = impl.after(at);
    if (!impl.workers.empty())
        return impl.take();
    const torch::NoGradGuard noGrad;
    return impl.make(*impl.orderOf(at.epoch), at);
}

} // namespace lockstep::trainer
