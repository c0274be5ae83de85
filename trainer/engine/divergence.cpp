// SPDX-License-Identifier: MIT
#include "trainer/engine/divergence.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <ATen/Functions.h>

#include "ipc/alerts.h"
#include "ipc/logging.h"
#include "ipc/nonfinite_stop.h"
#include "ipc/sound_values.h"

namespace lockstep::trainer {

namespace {
constexpr int mostRollbacks = 3;

bool isFinite(const torch::Tensor &tensor) {
    return !tensor.defined() || !tensor.is_floating_point() || at::isfinite(tensor).all().item<bool>();
}
} // namespace

DivergenceWatch::DivergenceWatch(Session &session) : m_session(session) {
    const char *text = std::getenv("LOCKSTEP_TEST_NAN");
    int rank = 0;
    long long step = 0, count = 1;
    if (!text || std::sscanf(text, "%d:%lld:%lld", &rank, &step, &count) < 2 || rank != session.env.rank)
        return;
    m_poisonedFrom = step;
    m_poisonedTo = step + count;
}

void DivergenceWatch::poison(std::int64_t step, Batch &batch) const {
    if (step >= m_poisonedFrom && step < m_poisonedTo && batch.inputs.defined())
        batch.inputs = at::full_like(batch.inputs, std::nan(""));
}

void DivergenceWatch::check(std::int64_t step, const Batch &batch, const torch::Tensor &loss) {
    if (batch.real == 0 || !loss.device().is_cpu()) // padded duplicates alone have no loss
        return;
    const double value = loss.item<double>();
    if (!std::isfinite(value) && !m_found)
        m_found = found(step, value, batch.inputs);
    else if (std::isfinite(value) && goesOn())
        m_found.reset();
}

void DivergenceWatch::onNonFinite(std::int64_t step, double loss) {
    if (!m_found)
        m_found = found(step, loss, {});
    const bool isOther = goesOn() && m_found->step != step; // after that one, or before it
    const char *const then = goesOn() ? "; training goes on"
                             : m_session.config.onNonfinite == "rollback"
                                 ? "; training goes back to the last good checkpoint"
                                 : "; training stops (--on-nonfinite)";
    const AlertFrame alert =
        makeAlert(nonFiniteLoss, sentence(isOther ? found(step, loss, {}) : *m_found) + then, step);
    m_session.frames->send(alert);
    logWarning(alert.message);
}

/// Whether a lower step of one rank is earlier than a higher one of another.
bool DivergenceWatch::stepsAreOrdered() const {
    const RunConfig &config = m_session.config;
    return specOf(config.method).traffic != Traffic::Push || config.maxStaleness == 0;
}

/// Under ps-async the parameters have been replaced since the loss was computed: if they are bad now, anybody's gradients
/// may have made them so.
DivergenceWatch::Found DivergenceWatch::found(std::int64_t step, double loss, const torch::Tensor &inputs) {
    const NamedTensors state = m_session.modelState();
    const auto isGood = [](const auto &item) { return isFinite(item.second); };
    const bool own = !isFinite(inputs) || std::all_of(state.begin(), state.end(), isGood);
    return {step, loss, whatIsBad(inputs), own};
}

std::string DivergenceWatch::sentence(const Found &it) const {
    return "the loss of rank " + std::to_string(m_session.env.rank) + " is " + valueInWords(it.loss) + " since step " +
           std::to_string(it.step) + " (" + it.bad + ")";
}

/// Whether the step has changed the parameters that it computed its loss with, as one with a server that updates them has.
bool DivergenceWatch::changesInStep() const {
    return specOf(m_session.config.method).traffic == Traffic::Push;
}

/// On the way from the data to the update, in the order in which values flow: which of several was the first is only known while the
/// step's data are at hand, which on a GPU are gone by then, and its parameters as they were.
std::string DivergenceWatch::whatIsBad(const torch::Tensor &inputs) {
    const std::string first = "the first tensor that is not finite: ", afterwards = "not finite afterwards: ";
    if (!inputs.defined())
        return afterwards + badInState();
    if (!isFinite(inputs))
        return first + "the input";
    const std::string found = changesInStep() ? afterwards : first;
    const std::vector<std::size_t> stages = m_session.strategy->stageLayers();
    // Of a pipeline's later stages this rank's parameters are an epoch old.
    const auto own = stages.empty() ? std::nullopt : std::optional(stages.front());
    if (const std::string bad = m_session.model->firstNotFinite(inputs, own); !bad.empty())
        return found + bad;
    return found + (stages.size() > 1 ? "one of a later stage" : badInState());
}

/// What parameters, gradients and the optimizer hold now.
std::string DivergenceWatch::badInState() const {
    for (const auto &[name, tensor] : m_session.modelState())
        if (!isFinite(tensor))
            return layerAndTensor(name);
    const NamedTensors state = m_session.modelState();
    for (auto item = state.rbegin(); item != state.rend(); ++item) // backward goes from the last layer to the first
        if (!isFinite(item->second.grad()))
            return "the gradient of " + layerAndTensor(item->first);
    for (const auto &[name, tensor] : m_session.optimizer->state())
        if (!isFinite(tensor))
            return name;
    return "the loss itself";
}

std::optional<DivergenceWatch::Agreement> DivergenceWatch::agree(const std::string &newest) {
    if (goesOn())
        return std::nullopt;
    const auto rows = m_session.communicator->gather(
        {m_found ? static_cast<double>(m_found->step) + 1 : 0.0, m_found && m_found->own ? 1.0 : 0.0});
    const auto isOwn = [&](std::size_t rank) { return stepsAreOrdered() || rows[rank][1] > 0; };
    std::size_t first = rows.size();
    for (std::size_t rank = 0; rank < rows.size(); ++rank)
        if (rows[rank][0] > 0 &&
            (first == rows.size() || std::pair(!isOwn(rank), rows[rank][0]) < std::pair(!isOwn(first), rows[first][0])))
            first = rank;
    if (first == rows.size())
        return std::nullopt;
    const std::string number = std::to_string(++m_agreements); // no key of the store serves twice
    const auto sentences =
        m_session.communicator->exchange("diverged-" + number, m_found ? sentence(*m_found) : std::string());
    const char *const origin = isOwn(first) ? "" : ", and which rank that came from is unknown";
    return Agreement{sentences[first] + origin,
                     m_session.communicator->exchange("last_good-" + number, newest).front()};
}

Error DivergenceWatch::end(const Agreement &agreed) {
    return Error::failed("training stopped because " + agreed.why +
                             (agreed.lastGood.empty() ? "" : "; the last good checkpoint is " + agreed.lastGood),
                         std::string(nonfiniteStopWayOut));
}

Result<void> DivergenceWatch::goBack(const Agreement &agreed) {
    const auto &[why, file] = agreed;
    if (file.empty())
        return fail(Error::failed(why + ", and there is no checkpoint yet to go back to", "try a lower --lr"));
    if (++m_rollbacks > mostRollbacks)
        return fail(Error::failed(why + ", after training has gone back " + std::to_string(mostRollbacks) + " times",
                                  "try a lower --lr; the last good checkpoint is " + file));
    if (auto restored = restoreFrom(m_session, file, "-rollback-" + std::to_string(m_rollbacks)); !restored)
        return restored;
    m_found.reset();
    if (!m_session.isRank0())
        return {};
    const AlertFrame alert = makeAlert("rollback", "training goes on with the parameters of " + file +
                                                       ", without the batches since, because " + why);
    m_session.frames->send(alert);
    logWarning(alert.message);
    return {};
}

} // namespace lockstep::trainer
