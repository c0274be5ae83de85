// SPDX-License-Identifier: MIT
#include "trainer/engine/run_saver.h"

#include <algorithm>
#include <span>
#include <utility>

#include <ATen/Context.h>
#include <ATen/CPUGeneratorImpl.h>

#include "ipc/alerts.h"
#include "ipc/clock.h"
#include "ipc/logging.h"
#include "ipc/model_facts.h"
#include "trainer/data/safetensors.h"
#include "trainer/models/bert_folder.h"

namespace lockstep::trainer {

namespace {

/// The state of every rank's GPU generator, one row per rank; zeros for ranks with CPU devices; undefined without any GPU.
torch::Tensor deviceRandomStates(const Session &s) {
    const bool onGpu = s.device().is_cuda();
    if (!onGpu && !s.communicator->someOnGpu())
        return {};
    torch::Tensor own = torch::empty({0}, torch::kUInt8);
    if (onGpu)
        own = at::globalContext().defaultGenerator(s.device()).get_state();
    double bytes = 0;
    for (const auto &row : s.communicator->gather({static_cast<double>(own.numel())}))
        bytes = std::max(bytes, row.front());
    if (!onGpu)
        own = torch::zeros({static_cast<std::int64_t>(bytes)}, torch::kUInt8);
    return torch::stack(s.communicator->gatherBytes(own));
}

} // namespace

RunSaver::RunSaver(Session &session)
    : m_session(session), m_checkpoints(session.config.checkpointDir),
      m_training(session.resumed ? session.resumed->training
                                 : session.communicator->exchange("training", makeRunId()).front()),
      m_earlier(session.resumed ? earlierParts(*session.resumed, session.config) : std::vector<EarlierPart>()),
      m_isFirst(!session.resumed) {}

std::string RunSaver::madeOtherwise() const {
    return trainer::madeOtherwise(m_earlier, m_session.config);
}

RunProgress RunSaver::resume() {
    const auto &checkpoint = m_session.resumed;
    RunProgress progress;
    if (!checkpoint)
        return progress;
    if (m_session.isFirstOfNode())
        m_checkpoints.resumeFrom(m_session.resumedFrom, m_training);
    if (!m_session.isRank0()) // which does so once it has saved another one
        m_checkpoints.prune();
    m_session.checkpointed = m_session.isRank0();
    progress.epochs = checkpoint->epochs;
    progress.stepInEpoch = checkpoint->stepInEpoch;
    progress.untested = checkpoint->untested;
    progress.step = checkpoint->epochsDone * m_session.loader->steps() + progress.stepInEpoch;
    const auto row = checkpoint->progress[m_session.env.rank].contiguous();
    const std::span<const double> numbers(row.data_ptr<double>(), static_cast<std::size_t>(row.numel()));
    progress.unfinished = EpochTotals::fromNumbers(numbers);
    if (numbers.size() > EpochTotals::numbers)
        progress.total = EpochTotals::fromNumbers(numbers.subspan(EpochTotals::numbers));
    if (numbers.size() > leftOutColumn)
        progress.unfinished.leftOut = static_cast<std::int64_t>(numbers[leftOutColumn]);
    return progress;
}

Result<void> RunSaver::save(const RunProgress &progress, int epochsDone) {
    Session &s = m_session;
    auto numbers = progress.unfinished.toNumbers();
    const auto total = progress.total.toNumbers();
    numbers.insert(numbers.end(), total.begin(), total.end());
    numbers.push_back(static_cast<double>(progress.unfinished.leftOut));
    Checkpoint checkpoint;
    std::vector<torch::Tensor> rows;
    for (const auto &row : s.communicator->gather(numbers))
        rows.push_back(torch::tensor(row, torch::kFloat64));
    checkpoint.progress = torch::stack(rows);
    checkpoint.rng = torch::stack(s.communicator->gatherBytes(at::detail::getDefaultCPUGenerator().get_state()));
    checkpoint.deviceRng = deviceRandomStates(s);
    std::vector<torch::Tensor> replicas;
    for (const auto &generator : s.strategy->generators())
        replicas.push_back(generator.get_state());
    if (!replicas.empty())
        checkpoint.replicaRng = torch::stack(replicas);
    checkpoint.bucketOrder = s.strategy->bucketOrder();
    checkpoint.optimizer = s.strategy->optimizerState(*s.optimizer);
    const Result<bool> saved = s.isRank0() ? write(std::move(checkpoint), progress, epochsDone) : Result<bool>(false);
    setOthersAside(saved && *saved);
    if (!saved)
        return fail(saved.error());
    return {};
}

/// Whether it was written: what is not finite is not.
Result<bool> RunSaver::write(Checkpoint checkpoint, const RunProgress &progress, int epochsDone) {
    const Session &s = m_session;
    checkpoint.config = s.config;
    checkpoint.worldSize = s.env.worldSize;
    checkpoint.launch = s.env.launch;
    checkpoint.training = m_training;
    checkpoint.data = s.trainSha256;
    checkpoint.savedUs = SystemClock().wallUs();
    checkpoint.earlier = m_earlier;
    checkpoint.epochsDone = epochsDone;
    checkpoint.stepInEpoch = progress.stepInEpoch;
    checkpoint.untested = progress.untested;
    checkpoint.epochs = progress.epochs;
    checkpoint.parameters = s.modelState();
    if (const std::string bad = notFiniteIn(checkpoint); !bad.empty()) {
        const AlertFrame alert = makeAlert("checkpoint_skipped",
                                           "no checkpoint after step " + std::to_string(progress.step - 1) + ": " +
                                               bad + " is not finite; the last good checkpoint is kept",
                                           progress.step - 1);
        s.frames->send(alert);
        logWarning(alert.message);
        return false;
    }
    if (auto saved = m_checkpoints.save(checkpoint, progress.step); !saved)
        return fail(saved.error());
    m_session.checkpointed = true;
    return true;
}

/// Rank 0 has moved another training's checkpoints out of the way of its first own one. The folders of other nodes
/// follow: what is in them would be gone on from once the nodes change places.
void RunSaver::setOthersAside(bool saved) {
    const Session &s = m_session;
    if (!m_isFirst || s.env.localWorldSize == s.env.worldSize)
        return;
    m_isFirst = s.communicator->gather({saved ? 1.0 : 0.0}).front().front() == 0;
    if (m_isFirst || s.isRank0() || !s.isFirstOfNode())
        return;
    if (auto apart = m_checkpoints.setOthersAside(m_training); !apart)
        logWarning(apart.error().message());
}

void RunSaver::keepCopy(const std::string &file) {
    if (m_session.isFirstOfNode() && !m_session.isRank0())
        m_checkpoints.keepCopy(file);
}

Result<void> RunSaver::saveFinal() {
    const RunConfig &config = m_session.config;
    if (savesFolder(config.model))
        return writeBertFolder(config.saveFinal, bertFolderOf(config.bertDir), m_session.modelState(),
                               m_session.train.classNames);
    TensorFile file;
    file.metadata = {{"format", "pt"}};
    for (const auto &[name, tensor] : m_session.modelState())
        file.tensors.emplace_back(name, tensor.detach().to(torch::kCPU).contiguous());
    return writeTensors(config.saveFinal, file);
}

} // namespace lockstep::trainer
