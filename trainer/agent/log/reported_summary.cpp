// SPDX-License-Identifier: MIT
#include "trainer/agent/log/reported_summary.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "ipc/sound_values.h"

namespace lockstep::agent {

namespace {

/// Frames may name any epochs, words and phases: bound the memory that they take.
constexpr std::size_t mostEpochs = 100'000, mostPhases = 256;

template <class T> std::optional<T> numberIn(const About &about, std::string_view key) {
    const auto found = about.find(key);
    if (found == about.end())
        return std::nullopt;
    T number{};
    const char *end = found->second.data() + found->second.size();
    const auto parsed = std::from_chars(found->second.data(), end, number);
    return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(number) : std::nullopt;
}

/// A script may say anything; below 0 it is no count, and no reader of a result takes it.
template <class T> std::optional<T> countIn(const About &about, std::string_view key) {
    const auto number = numberIn<T>(about, key);
    return number && *number >= 0 ? number : std::nullopt;
}

/// What the script said about itself, else what the recipe knows of it.
About wordsOf(const RunRecord &record, const About &said) {
    About about = said;
    if (record.config)
        for (const FieldSpec &field : runConfigFields())
            if (!field.perProcess && record.claims.knows(field.key))
                about.try_emplace(std::string(field.key), field.get(*record.config));
    return about;
}

void takeWords(const About &about, Summary &out) {
    const auto text = [&](std::string_view key) {
        const auto found = about.find(key);
        return found == about.end() ? std::string() : found->second;
    };
    out.method = text("method");
    out.loader = text("loader");
    out.model = text("model");
    out.dataset = text("dataset");
    out.optimizer = text("optimizer");
    out.precision = text("precision");
    out.augment = text("augment");
    out.threads = countIn<int>(about, "threads");
    out.workers = countIn<int>(about, "workers");
    out.seed = numberIn<std::uint64_t>(about, "seed");
    out.batchSize = countIn<std::int64_t>(about, "batch_size");
    out.lr = numberIn<double>(about, "lr");
}

} // namespace

void ReportedSummary::take(int rank, const Frame &frame) {
    if (const auto *steps = std::get_if<StepsFrame>(&frame.body)) {
        noteStep(rank, *steps);
        m_metrics.take(rank, *steps);
    }
    if (const auto *epoch = std::get_if<EpochFrame>(&frame.body))
        m_metrics.take(rank, *epoch);
    const auto roomFor = [&](int epoch) { return m_epochs.contains(epoch) || m_epochs.size() < mostEpochs; };
    if (const auto *state = std::get_if<StateFrame>(&frame.body)) {
        m_attempts.take(rank, *state);
        takeNew(m_about, state->about, mostWords);
        if (!state->backend.empty())
            m_backend = state->backend;
    } else if (const auto *steps = std::get_if<StepsFrame>(&frame.body);
               steps && steps->loss && roomFor(steps->epoch)) {
        Epoch &epoch = m_epochs[steps->epoch];
        epoch.lossSum += steps->loss->mean * static_cast<double>(steps->samples);
        epoch.lossSamples += static_cast<double>(steps->samples);
    } else if (const auto *done = std::get_if<EpochFrame>(&frame.body); done && roomFor(done->epoch)) {
        Epoch &epoch = m_epochs[done->epoch];
        if (!epoch.ranks.insert(rank).second) {
            m_repeated = m_repeated.value_or(std::pair(rank, done->epoch));
            return;
        }
        epoch.durationS = std::max(epoch.durationS, done->durationS);
        epoch.samples += done->samples;
        epoch.steps = std::max(epoch.steps, done->steps);
        if (done->loss)
            epoch.loss = done->loss;
        m_ranks[rank].durationS += done->durationS;
        auto &phasesS = m_ranks[rank].phasesS;
        for (const auto &[name, time] : done->phases)
            if (phasesS.size() < mostPhases || phasesS.contains(name))
                phasesS[name] += time.sumS;
    } else if (const auto *eval = std::get_if<EvalFrame>(&frame.body)) {
        m_eval = *eval;
    }
}

void ReportedSummary::startOver() {
    forgetEpochs();
    const std::optional<int> first = m_firstEpoch;
    *this = {};
    m_firstEpoch = first;
}

/// Another program may have restarted the ranks: all of them, as this agent does.
void ReportedSummary::noteStep(int rank, const StepsFrame &steps) {
    if (m_attempts.makesAgain(rank, steps))
        forgetEpochs();
    m_attempts.take(rank, steps);
}

void ReportedSummary::forgetEpochs() {
    if (!m_epochs.empty())
        m_firstEpoch = std::min(m_firstEpoch.value_or(m_epochs.begin()->first), m_epochs.begin()->first);
    m_epochs.clear();
    m_ranks.clear();
    m_attempts.startOver();
    m_eval.reset();
    m_repeated.reset();
}

void ReportedSummary::addTo(RunResult &result, const RunRecord &record) const {
    result.summary = summary(record, result.runTimeS);
    if (m_repeated)
        result.warnings.push_back(repeatedEpochInWords(m_repeated->first, m_repeated->second));
}

/// Without gaps, from the first one that any start of the ranks has reported: a training that goes on from a checkpoint reports a part.
/// Where a frame is missing, as many as the script meant to train.
bool ReportedSummary::hasAllEpochs(const RunRecord &record) const {
    if (m_firstEpoch && m_epochs.begin()->first > *m_firstEpoch)
        return false;
    const auto reported = static_cast<int>(m_epochs.size());
    if (m_epochs.rbegin()->first - m_epochs.begin()->first + 1 != reported)
        return false;
    const auto meant = numberIn<int>(wordsOf(record, m_about), "epochs");
    return m_complete || (meant && reported >= *meant);
}

std::optional<Summary> ReportedSummary::summary(const RunRecord &record, double runTimeS) const {
    if (m_epochs.empty() || !hasAllEpochs(record))
        return std::nullopt;
    Summary out;
    double total = 0;
    for (const auto &[number, epoch] : m_epochs) {
        if (static_cast<int>(epoch.ranks.size()) < record.processes)
            return std::nullopt; // a sum with unknown parts would be too small
        std::optional<double> loss = epoch.loss;
        if (!loss && epoch.lossSamples > 0)
            loss = epoch.lossSum / epoch.lossSamples;
        out.epochs.push_back({number, finiteOrUnknown(loss), epoch.durationS, epoch.samples});
        out.steps += epoch.steps;
        total += epoch.durationS;
    }
    if (!isDuration(total))
        return std::nullopt; // each may be one, and their sum is none
    takeWords(wordsOf(record, m_about), out);
    out.backend = !m_backend.empty() ? m_backend : m_about.contains("backend") ? m_about.find("backend")->second : "";
    out.worldSize = record.processes;
    out.devices = record.deviceNames;
    if (record.config && record.claims.knows("cores_per_device"))
        out.coresPerDevice = record.config->coresPerDevice;
    if (out.workers && *out.workers <= std::numeric_limits<int>::max() / std::max(1, record.processes))
        out.workersTotal = *out.workers * record.processes;
    if (!m_repeated) // else it is longer by what can't be told from a report that came twice
        out.totalTrainingTimeS = total;
    out.runTimeS = runTimeS;
    if (m_eval) {
        out.testAccuracy = m_eval->accuracy;
        out.perClassAccuracy = m_eval->perClassAccuracy;
    }
    const auto slowest = std::max_element(m_ranks.begin(), m_ranks.end(), [](const auto &a, const auto &b) {
        return a.second.durationS < b.second.durationS;
    });
    out.phasesS = slowest->second.phasesS;
    std::erase_if(out.phasesS, [](const auto &phase) { return !isDuration(phase.second); });
    out.oversubscribed = record.config && record.config->oversubscribe;
    out.metrics = m_metrics.ofRun();
    return out;
}

} // namespace lockstep::agent
