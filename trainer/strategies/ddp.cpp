// SPDX-License-Identifier: MIT
#include "trainer/strategies/ddp.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <ATen/Functions.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Event.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "trainer/comm/backends.h"
#include "trainer/comm/torch_compat.h"

namespace lockstep::trainer {

namespace {

static_assert(c10d::kDefaultFirstBucketBytes == firstBucketMb * 1024 * 1024);

std::int64_t controlSlots(const Communicator &communicator) {
    return 1 + static_cast<std::int64_t>(OwnTimes::numbers) * communicator.worldSize();
}

} // namespace

Ddp::Ddp(std::shared_ptr<Model> model, Communicator &communicator, PhaseClock &clock, const Options &given,
         Trace *trace)
    : m_model(std::move(model)), m_communicator(communicator), m_clock(clock),
      m_passes(m_model, clock, given.accumulate), m_trace(trace), m_parameters(m_model->parameters()),
      m_record(std::make_shared<BucketRecord>()),
      m_sums(given.sums ? std::make_unique<SumThread>(communicator.group(), *given.sums, trace) : nullptr) {
    const c10::AutoGradMode noGrad(false);
    const auto options = m_parameters.front().options().requires_grad(false);
    m_control = torch::zeros({controlSlots(communicator)}, options).requires_grad_(true);
    m_controlInput = torch::zeros({controlSlots(communicator)}, options);
    c10d::verify_params_across_processes(communicator.group(), m_parameters, {});
    communicator.broadcast(m_parameters);
    m_parameters.push_back(m_control);
    communicator.broadcast(m_model->buffers());
    makeReducer(firstBuckets(given.bucketOrder), given);
}

Ddp::~Ddp() {
    m_reducer->remove_autograd_hooks();
}

/// One bucket of everything, as torch's DistributedDataParallel starts before it knows the order in which gradients
/// come; or the order of the resumed run, so that its sums are the same from the first step on.
BucketOrder Ddp::firstBuckets(const std::string &saved) const {
    BucketOrder buckets = parseBucketOrder(saved).value_or(BucketOrder());
    std::vector<std::size_t> all;
    for (const auto &bucket : buckets)
        all.insert(all.end(), bucket.begin(), bucket.end());
    std::sort(all.begin(), all.end());
    std::vector<std::size_t> wanted(m_parameters.size());
    std::iota(wanted.begin(), wanted.end(), std::size_t{0});
    if (all == wanted)
        return buckets;
    return {wanted};
}

void Ddp::makeReducer(const BucketOrder &buckets, const Options &options) {
    const auto capBytes = static_cast<std::int64_t>(options.bucketMb * 1024 * 1024);
    std::unordered_map<std::size_t, std::string> names;
    for (const auto &item : m_model->named_parameters())
        names.emplace(names.size(), item.key());
    names.emplace(names.size(), "lockstep.control");
    m_reducer = lockstep::trainer::makeReducer(m_parameters, buckets, m_communicator.group(), capBytes,
                                               std::min<std::int64_t>(c10d::kDefaultFirstBucketBytes, capBytes), names);
    m_logger = std::make_shared<c10d::Logger>(m_reducer);
    m_reducer->set_logger(m_logger);
    const auto device = m_parameters.front().device();
    const std::vector<int> ids = device.is_cuda() ? std::vector<int>{device.index()} : std::vector<int>{};
    m_logger->set_construction_data_and_log("lockstep", ids, ids.empty() ? -1 : ids.front(), /*broadcast_buffers=*/true,
                                            /*has_sync_bn=*/false, /*static_graph=*/false);
    m_reducer->register_comm_hook(std::make_unique<BucketHook>(
        m_communicator.group(), m_sums.get(), options.sentAs, m_record, m_clock, m_communicator.position(),
        [this](c10d::GradBucket &bucket) { beforeLastBucket(bucket); }));
}

/// Gives all ranks rank 0's buffers, as torch's DistributedDataParallel does before each step. Nothing hides that, and ranks wait for each
/// other in it.
void Ddp::shareBuffers() {
    const auto buffers = m_model->buffers();
    if (buffers.empty() || m_communicator.worldSize() == 1)
        return;
    const std::int64_t startNs = monotonicNs();
    const auto start = m_clock.point();
    m_communicator.broadcast(buffers);
    const auto end = m_clock.point();
    m_buffersNs = m_clock.lap(Phase::Exposed) - startNs;
    if (end) {
        if (m_communicator.group()->getBackendType() != c10d::ProcessGroup::BackendType::NCCL)
            return; // what Gloo does on a GPU can't be observed: the buckets' times aren't known either
        return m_clock.whenKnown([this, start, end](StepTimes &times, const auto &when) {
            const std::int64_t tookNs = when(*end) - when(*start);
            times.add(Phase::Comm, tookNs);
            m_statistics.addExposed(tookNs, {});
        });
    }
    m_clock.add(Phase::Comm, m_buffersNs);
    m_statistics.addExposed(m_buffersNs, {});
}

StepOutcome Ddp::step(const Batch &batch, bool wantStop) {
    shareBuffers();
    m_reducer->rebuild_buckets();
    m_reducer->prepare_for_forward();
    if (wantStop)
        m_controlInput.narrow(0, 0, 1).fill_(1);
    // Made before the model's graph, so autograd reaches it last and it lands in the last bucket.
    const torch::Tensor control = at::dot(m_control, m_controlInput);
    const LocalPasses::Loss loss = m_passes.untilLastBackward(batch);
    StepOutcome outcome{loss.reported, false};
    m_reducer->prepare_for_backward({}); // until here the Reducer lets gradients be, as torch's no_sync() does
    m_record->beginBackward(m_clock.point());
    (loss.toRun + control).backward();
    m_clock.lap(Phase::Exposed);
    outcome.stop = readControl();
    accountCommunication();
    return outcome;
}

void Ddp::takeOptimizerState(const Optimizer &) {
    m_controlInput.zero_();
    m_stopBefore = false;
    m_copied.reset();
}

void Ddp::beforeLastBucket(c10d::GradBucket &bucket) {
    m_clock.lap(Phase::Backward);
    m_backwardEndNs = monotonicNs();
    m_readyNs = m_backwardEndNs - m_communicator.lastEndNs() - m_buffersNs;
    if (m_control.is_cuda())
        return;
    const auto parameters = bucket.getParameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (!parameters[i].is_same(m_control))
            continue;
        shareOwnTimes(bucket.getGradients()[i]);
    }
}

void Ddp::shareOwnTimes(const at::Tensor &slots) {
    const auto own = m_clock.takeOwn().value_or(StepTimes());
    std::array<double, OwnTimes::numbers> seconds{static_cast<double>(m_readyNs) * 1e-9};
    for (std::size_t i = 0; i < ownPhases.size(); ++i)
        seconds.at(1 + i) = static_cast<double>(own.of(*phaseNamed(ownPhases.at(i))).value_or(0)) * 1e-9;
    const c10::AutoGradMode noGrad(false);
    const auto count = static_cast<std::int64_t>(seconds.size());
    slots.narrow(0, 1 + m_communicator.rank() * count, count)
        .copy_(at::from_blob(seconds.data(), {count}, at::TensorOptions(at::kDouble)));
}

/// Whether some rank wants to stop. On a GPU the answer is that of the previous step: it has arrived by now, while waiting for
/// this step's would stall the queue. Ranks with CPU devices beside GPUs also use the previous step's, so all ranks agree.
bool Ddp::readControl() {
    const c10::AutoGradMode noGrad(false);
    const at::Tensor &slots = m_control.grad();
    bool stop = false;
    if (!slots.is_cuda()) {
        const at::Tensor numbers = slots.to(at::kDouble);
        const auto *values = numbers.const_data_ptr<double>();
        stop = values[0] > 0;
        if (m_communicator.someOnGpu())
            stop = std::exchange(m_stopBefore, stop); // and GPUs record no times of their own
        else
            readOwnTimes(values + 1);
    } else {
        if (m_copied) {
            m_copied->synchronize();
            stop = m_hostFlag.item<double>() > 0;
        } else {
            m_copied = std::make_unique<c10::Event>(slots.device().type());
            m_hostFlag = torch::zeros({1}, slots.options().device(torch::kCPU).pinned_memory(true));
        }
        m_hostFlag.copy_(slots.narrow(0, 0, 1), /*non_blocking=*/true);
        m_copied->record(c10::impl::VirtualGuardImpl(slots.device().type()).getStream(slots.device()));
    }
    m_control.mutable_grad() = at::Tensor();
    return stop;
}

void Ddp::readOwnTimes(const double *slots) {
    const double scale = 1e9 * m_communicator.worldSize(); // they were averaged
    m_ownTimes.resize(static_cast<std::size_t>(m_communicator.worldSize()));
    m_waitNs = 0;
    for (OwnTimes &times : m_ownTimes) {
        times.ready = *slots++ * scale;
        for (double &phase : times.phases)
            phase = *slots++ * scale;
        m_waitNs = std::max(m_waitNs, static_cast<std::int64_t>(times.ready) - m_readyNs);
    }
}

void Ddp::accountCommunication() {
    if (m_control.is_cuda())
        return accountWhenKnown();
    std::int64_t backwardNs = 0;
    auto stamps = m_record->take(backwardNs);
    if (stamps.empty())
        return;
    startInTurn(stamps, m_sums ? 1 : std::size_t{glooThreads});
    const auto step = m_statistics.add(stamps, backwardNs);
    m_clock.add(Phase::Comm, step.commNs);
    const std::int64_t endNs = std::ranges::max(stamps, {}, &BucketStamp::endNs).endNs,
                       exposedNs = std::max<std::int64_t>(0, endNs - m_backwardEndNs);
    if (m_communicator.someOnGpu()) {
        m_statistics.addExposed(exposedNs, {}); // who waits for whom is not known
    } else {
        const std::int64_t waitNs = step.waitWithin(exposedNs, m_buffersNs, m_waitNs);
        m_clock.add(Phase::Wait, waitNs);
        m_statistics.addExposed(exposedNs, waitNs);
    }
    m_communicator.setLastEndNs(endNs);
    if (m_trace && m_trace->on())
        traceBuckets(stamps);
}

/// GPUs: the same from points of their streams, with the step's other times. Who waits for whom is not known there.
void Ddp::accountWhenKnown() {
    std::shared_ptr<c10::Event> backward;
    auto points = m_record->takePoints(backward);
    if (points.empty())
        return;
    const bool traced = m_trace && m_trace->on();
    m_clock.whenKnown([this, traced, backward, points = std::move(points)](StepTimes &times, const auto &when) {
        std::vector<BucketStamp> stamps;
        for (const BucketPoints &point : points)
            stamps.push_back({point.bytes, when(*point.ready), 0, when(*point.end)});
        startInTurn(stamps);
        times.add(Phase::Comm, m_statistics.add(stamps, when(*backward)).commNs);
        m_statistics.addExposed(stamps.back().endNs - stamps.back().readyNs, {});
        if (traced)
            traceBuckets(stamps);
    });
}

void Ddp::traceBuckets(const std::vector<BucketStamp> &stamps) {
    for (std::size_t i = 0; i < stamps.size(); ++i)
        m_trace->span(Trace::firstBucket + static_cast<int>(i), m_sums ? m_sums->name() : "all-reduce",
                      stamps[i].startNs, stamps[i].endNs, stamps[i].bytes, stamps[i].readyNs);
}

std::string Ddp::bucketOrder() {
    m_reducer->rebuild_buckets(); // after the first step: otherwise the next step would do it
    std::string text;
    for (const auto &bucket : m_logger->get_per_bucket_variable_indices()) {
        if (!text.empty())
            text += ';';
        for (std::size_t i = 0; i < bucket.size(); ++i)
            text += (i ? "," : "") + std::to_string(bucket[i]);
    }
    return text;
}

} // namespace lockstep::trainer
