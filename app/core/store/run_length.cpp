// SPDX-License-Identifier: MIT
#include "store/run_length.h"

#include <algorithm>

#include <QString>

#include "ipc/sound_values.h"

namespace lockstep::core {
namespace {

constexpr std::size_t mostEpochs = 10'000;

std::optional<qlonglong> positiveIn(const About &about, const char *key) {
    const auto found = about.find(key);
    bool whole = false;
    const qlonglong count = found == about.end() ? 0 : QString::fromStdString(found->second).toLongLong(&whole);
    return whole && count > 0 ? std::optional(count) : std::nullopt;
}

} // namespace

void RunLength::startAnew(Epoch &epoch) {
    const auto announced = epoch.announced;
    epoch = {};
    epoch.announced = announced;
}

RunLength::Epoch *RunLength::at(int epoch) {
    if (epoch < 1 || (m_reported.size() >= mostEpochs && !m_reported.contains(epoch)))
        return nullptr;
    return &m_reported[epoch];
}

std::optional<std::int64_t> RunLength::lengthOf(const Epoch &epoch) const {
    return epoch.own ? epoch.own : epoch.announced ? epoch.announced : m_newest;
}

void RunLength::take(const StateFrame &body, int node) {
    const bool hasLength = body.epochs || body.totalSteps || body.stepsPerEpoch || positiveIn(body.about, "epochs") ||
                           positiveIn(body.about, "total_steps");
    if (!hasLength || node > m_node)
        return;
    if (node < m_node) { // what a later node has said counts no more
        m_epochs.reset();
        m_steps.reset();
        m_each.reset();
        m_node = node;
    }
    take(body.about);
    if (body.epochs)
        m_epochs = body.epochs;
    if (body.totalSteps)
        m_steps = body.totalSteps;
    if (!body.stepsPerEpoch || *body.stepsPerEpoch <= 0)
        return;
    m_newest = body.stepsPerEpoch;
    if (body.totalSteps && body.epochs && *body.stepsPerEpoch <= mostCounted / std::max(1, *body.epochs) &&
        *body.totalSteps == *body.stepsPerEpoch * *body.epochs)
        m_each = body.stepsPerEpoch;
    if (Epoch *epoch = body.epoch ? at(*body.epoch) : nullptr)
        epoch->announced = body.stepsPerEpoch;
}

void RunLength::take(const About &about) {
    if (const auto epochs = positiveIn(about, "epochs"); epochs && *epochs <= INT32_MAX && !m_epochs)
        m_epochs = int(*epochs);
    if (const auto steps = positiveIn(about, "total_steps"); steps && *steps <= mostCounted)
        m_steps = *steps;
}

void RunLength::take(const StepsFrame &body) {
    Epoch *epoch = at(body.epoch);
    if (!epoch || body.count <= 0)
        return;
    if (epoch->own && body.firstStep > epoch->last + 1) // a further training, as in cross-validation
        startAnew(*epoch);
    epoch->first = epoch->first < 0 ? body.firstStep : std::min(epoch->first, body.firstStep);
    epoch->last = std::max(epoch->last, body.lastStep);
}

RunLength::Misplaced RunLength::take(int rank, const EpochFrame &body) {
    Epoch *epoch = at(body.epoch);
    if (!epoch || m_each)
        return {};
    const std::int64_t steps = body.steps > 0 ? body.steps : epoch->first < 0 ? 0 : epoch->last - epoch->first + 1;
    if (steps <= 0)
        return {};
    m_newest = epoch->own = std::max(epoch->own.value_or(0), steps);
    epoch->misplaced = epoch->misplaced || (epoch->placedBy && epoch->placedBy != epoch->own);
    if (!epoch->misplaced)
        return {};
    // What comes from now on is placed by this, until a further frame changes it.
    const Measure measure{*epoch->own, epoch->first};
    const auto known = epoch->anew.find(rank);
    const Misplaced out{known == epoch->anew.end() || known->second != measure, epoch->allAnew != measure};
    epoch->anew[rank] = measure;
    epoch->allAnew = measure;
    return out;
}

void RunLength::forget(int from) {
    for (auto epoch = m_reported.lower_bound(from); epoch != m_reported.end();)
        if (epoch->second.announced)
            startAnew((epoch++)->second);
        else
            epoch = m_reported.erase(epoch);
}

/// A script learns the length of its loader epoch by epoch: those that it has not begun count as the newest known one.
std::optional<std::int64_t> RunLength::steps() const {
    if (m_steps || !m_epochs || !m_newest)
        return m_steps;
    std::int64_t sum = 0;
    const int first = m_reported.empty() ? 1 : std::min(m_reported.begin()->first, *m_epochs);
    std::int64_t open = std::int64_t(*m_epochs) - first + 1;
    for (auto epoch = m_reported.begin(); epoch != m_reported.end() && epoch->first <= *m_epochs; ++epoch, --open)
        sum += *lengthOf(epoch->second);
    if (open > mostCounted / *m_newest || sum + open * *m_newest > mostCounted)
        return std::nullopt;
    return sum + open * *m_newest;
}

bool RunLength::endAmid(int epoch) {
    const auto last = m_reported.find(epoch), before = m_reported.find(epoch - 1);
    if (m_each || last == m_reported.end())
        return false;
    Epoch &own = last->second;
    const auto planned = before != m_reported.end() && before->second.own ? before->second.own : own.announced;
    if (!own.own || !planned || *planned <= *own.own || own.planned == planned)
        return false;
    own.planned = planned;
    return true;
}

std::int64_t RunLength::lastStepOf(int epoch) const {
    const auto found = m_reported.find(epoch);
    return found == m_reported.end() ? -1 : found->second.last;
}

std::int64_t RunLength::lastStepBefore(int epoch) const {
    for (auto later = m_reported.lower_bound(epoch); later != m_reported.begin();)
        if (--later; later->second.last >= 0)
            return later->second.last;
    return -1;
}

double RunLength::epochsAt(std::int64_t step, int epoch) const {
    if (m_each)
        return double(step + 1) / double(*m_each);
    const auto found = m_reported.find(epoch);
    const auto length = found == m_reported.end() ? std::nullopt
                        : found->second.planned   ? found->second.planned
                                                  : lengthOf(found->second);
    if (!length)
        return double(epoch);
    if (found->second.first < 0)
        return double(epoch - 1);
    return epoch - 1 + std::clamp(double(step - found->second.first + 1) / double(*length), 0.0, 1.0);
}

double RunLength::placeOf(std::int64_t step, int epoch) {
    if (Epoch *own = m_each ? nullptr : at(epoch)) {
        const auto length = lengthOf(*own);
        own->misplaced = own->misplaced || !length || (own->placedBy && own->placedBy != length);
        own->placedBy = length;
    }
    return epochsAt(step, epoch);
}

} // namespace lockstep::core
