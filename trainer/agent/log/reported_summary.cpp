// SPDX-License-Identifier: MIT
#include "trainer/agent/log/reported_summary.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>

#include "ipc/sound_values.h"

namespace lockstep::agent {

namespace {

/// Frames may name any epoch: bounds the memory that they take.
constexpr std::size_t mostEpochs = 100'000;
/// The newest ones: of the older tests none counts, unless restarted ranks go back behind all of these.
constexpr std::size_t mostTests = 1'000;

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

std::string lateBeginInWords(int firstEpoch) {
    return "the first epoch that was reported is number " + std::to_string(firstEpoch) +
           ", as in a run that goes on from a checkpoint: how long it trained in all is unknown; compare the times of "
           "its epochs, or number them from 1 if there was none before";
}

std::string countedOnInWords(int after) {
    return "the script was started again after epoch " + std::to_string(after) +
           ": whether it went on from a checkpoint or trained anew is unknown; its epochs are counted on, and its "
           "training time is that of all";
}

std::string tooManyEpochsInWords() {
    return "it reported more than " + std::to_string(mostEpochs) +
           " epochs, the most that are added up while it runs: how long it trained, its steps, its phases and "
           "the losses of its epochs are in its log alone";
}

/// Where a stopped trainer went on from a checkpoint, what its ranks reported lacks the epochs before that.
bool reportsWhole(const RunResult &result, const RunRecord &record) {
    const bool resumed = record.config && record.config->resume;
    return result.state == RunState::Done || (result.state == RunState::Stopped && !resumed);
}

} // namespace

void ReportedSummary::take(int rank, const Frame &frame) {
    if (const auto *steps = std::get_if<StepsFrame>(&frame.body)) {
        take(rank, *steps);
    } else if (const auto *done = std::get_if<EpochFrame>(&frame.body)) {
        take(rank, *done);
    } else if (const auto *state = std::get_if<StateFrame>(&frame.body)) {
        m_attempts.take(rank, *state);
        m_about.take(0, rank, state->about); // a node's ranks are numbered behind those of the nodes before
        if (!state->backend.empty() && rank <= m_backendRank) {
            m_backend = state->backend;
            m_backendRank = rank;
        }
    } else if (const auto *eval = std::get_if<EvalFrame>(&frame.body)) {
        take(rank, *eval);
    }
}

void ReportedSummary::take(int rank, const EvalFrame &eval) {
    const auto known = m_tests.find(eval.epoch);
    if (known != m_tests.end() && rank > known->second.rank)
        return;
    m_tests.insert_or_assign(eval.epoch, Test{rank, eval.accuracy, eval.perClassAccuracy});
    if (m_tests.size() > mostTests)
        m_tests.erase(m_tests.begin());
}

/// Another program, too, may have restarted the ranks: all of them, as this agent does.
void ReportedSummary::take(int rank, const StepsFrame &steps) {
    if (m_startsOver || m_attempts.makesAgain(rank, steps))
        forget(steps.epoch);
    m_attempts.take(rank, steps);
    m_metrics.take(rank, steps);
    Epoch *epoch = steps.loss ? at(steps.epoch) : nullptr;
    if (!epoch)
        return;
    epoch->lossSum += steps.loss->mean * static_cast<double>(steps.samples);
    epoch->lossSamples += static_cast<double>(steps.samples);
}

void ReportedSummary::take(int rank, const EpochFrame &done) {
    if (m_startsOver)
        forget(done.epoch);
    m_metrics.take(rank, done);
    Epoch *epoch = at(done.epoch);
    if (!epoch)
        return;
    if (!epoch->ranks.try_emplace(rank, partOf(done)).second) {
        m_repeated = m_repeated.value_or(std::pair(rank, done.epoch));
        return;
    }
    epoch->samples += done.samples;
    epoch->steps = std::max(epoch->steps, done.steps);
    epoch->diverged = epoch->diverged || (done.loss && !isFiniteValue(*done.loss));
    if (done.loss)
        epoch->meanLoss += (*done.loss - epoch->meanLoss) / ++epoch->lossRanks;
    if (done.loss && rank < epoch->lossRank) {
        epoch->loss = done.loss;
        epoch->lossRank = rank;
    }
}

ReportedSummary::Epoch *ReportedSummary::at(int epoch) {
    if (m_epochs.contains(epoch) || m_epochs.size() < mostEpochs)
        return &m_epochs[epoch];
    m_firstBeyond = std::min(m_firstBeyond.value_or(epoch), epoch);
    return nullptr;
}

ReportedSummary::Part ReportedSummary::partOf(const EpochFrame &done) {
    Part part{done.durationS, {}};
    part.phasesS.reserve(done.phases.size());
    for (const auto &[name, time] : done.phases) {
        auto phase = m_phases.find(name);
        if (phase == m_phases.end() && keepsPhase(name, m_phases.size()))
            phase = m_phases.emplace(name, m_phases.size()).first;
        if (phase != m_phases.end())
            part.phasesS.emplace_back(phase->second, time.sumS);
    }
    return part;
}

double ReportedSummary::Epoch::durationS() const {
    double longest = 0;
    for (const auto &[rank, part] : ranks)
        longest = std::max(longest, part.durationS);
    return longest;
}

/// What ranks say of it, else the mean of their windows of steps. Without samples nothing weighs the losses, and each rank says its own.
std::optional<double> ReportedSummary::Epoch::knownLoss() const {
    if (diverged)
        return std::nullopt;
    if (loss)
        return samples > 0 ? loss : finiteOrUnknown(meanLoss);
    return lossSamples > 0 ? finiteOrUnknown(lossSum / lossSamples) : std::nullopt;
}

void ReportedSummary::startOver() {
    m_startsOver = true;
    m_about.clear();
    m_backend.clear();
    m_backendRank = INT_MAX;
}

/// What has ended before that epoch stays: the ranks go on from a checkpoint behind it.
void ReportedSummary::forget(int from) {
    m_startsOver = false;
    m_attempts.startOver();
    m_epochs.erase(m_epochs.lower_bound(from), m_epochs.end());
    if (m_epochs.empty())
        m_complete = true; // what was missed is reported again
    m_tests.erase(m_tests.lower_bound(from), m_tests.end());
    if (m_firstBeyond >= from)
        m_firstBeyond.reset();
    if (m_repeated && m_repeated->second >= from)
        m_repeated.reset();
}

ReportedSummary ReportedSummary::withoutBegunEpochs() const {
    ReportedSummary out = *this;
    while (!out.m_epochs.empty() && out.m_epochs.rbegin()->second.ranks.empty())
        out.m_epochs.erase(std::prev(out.m_epochs.end()));
    return out;
}

void ReportedSummary::addTo(RunResult &result, const RunRecord &record) const {
    if (result.summary || !reportsWhole(result, record))
        return;
    result.summary = result.state == RunState::Stopped ? withoutBegunEpochs().summary(record, result.runTimeS)
                                                       : summary(record, result.runTimeS);
    if (result.summary)
        addKnownGaps(result);
    else if (m_repeated)
        result.warnings.push_back(repeatedEpochInWords(m_repeated->first, m_repeated->second));
}

void ReportedSummary::addWarnings(RunResult &result, const RunRecord &record) const {
    if (!result.summary && reportsWhole(result, record))
        addKnownGaps(result);
}

void ReportedSummary::addKnownGaps(RunResult &result) const {
    if (beginsLate())
        result.warnings.push_back(lateBeginInWords(m_epochs.begin()->first));
    if (m_countedOnAfter && !m_epochs.empty())
        result.warnings.push_back(countedOnInWords(*m_countedOnAfter));
    if (m_firstBeyond)
        result.warnings.push_back(tooManyEpochsInWords());
    if (m_repeated)
        result.warnings.push_back(repeatedEpochInWords(m_repeated->first, m_repeated->second));
}

bool ReportedSummary::beginsLate() const {
    return !m_epochs.empty() && m_epochs.begin()->first > 1;
}

/// Without gaps. Where a frame is missing, as many as the script meant to train.
bool ReportedSummary::hasAllEpochs(const RunRecord &record) const {
    const auto reported = static_cast<int>(m_epochs.size());
    if (m_epochs.rbegin()->first - m_epochs.begin()->first + 1 != reported)
        return false;
    const auto meant = numberIn<int>(wordsOf(record, m_about.all()), "epochs");
    return m_complete || (meant && reported >= *meant);
}

bool ReportedSummary::takeEpochs(const RunRecord &record, Summary &out) const {
    if (m_epochs.empty() || !hasAllEpochs(record))
        return false;
    double total = 0;
    for (const auto &[number, epoch] : m_epochs) {
        if (static_cast<int>(epoch.ranks.size()) < record.processes)
            return false; // a sum with unknown parts would be too small
        out.epochs.push_back({number, epoch.knownLoss(), epoch.durationS(), epoch.samples});
        out.steps += epoch.steps;
        total += epoch.durationS();
    }
    if (!isDuration(total))
        return false; // each may be one, and their sum is none
    // Of a run that goes on from a checkpoint it counts the epochs before that, too; and a report that came twice can't be told from one
    // more epoch.
    if (!m_repeated && !beginsLate())
        out.totalTrainingTimeS = total;
    out.phasesS = phasesOfSlowest();
    return true;
}

std::optional<Summary> ReportedSummary::summary(const RunRecord &record, double runTimeS) const {
    Summary out;
    if (!takeEpochs(record, out))
        return std::nullopt;
    if (m_firstBeyond)
        out = {}; // sums of the first ones alone are no figures of the run
    const About &about = m_about.all();
    takeWords(wordsOf(record, about), out);
    out.backend = !m_backend.empty() ? m_backend : about.contains("backend") ? about.find("backend")->second : "";
    out.worldSize = record.processes;
    out.devices = record.deviceNames;
    if (record.config && record.claims.knows("cores_per_device"))
        out.coresPerDevice = record.config->coresPerDevice;
    if (out.workers && *out.workers <= std::numeric_limits<int>::max() / std::max(1, record.processes))
        out.workersTotal = *out.workers * record.processes;
    out.runTimeS = runTimeS;
    if (!m_tests.empty()) {
        const Test &last = m_tests.rbegin()->second;
        out.testAccuracy = last.accuracy;
        out.perClassAccuracy = last.perClassAccuracy;
    }
    out.oversubscribed = record.config && record.config->oversubscribe;
    out.metrics = m_metrics.ofRun();
    return out;
}

/// Of the rank whose epochs took longest in all.
std::map<std::string, double, std::less<>> ReportedSummary::phasesOfSlowest() const {
    std::map<int, double> durationS; // by rank
    for (const auto &[number, epoch] : m_epochs)
        for (const auto &[rank, part] : epoch.ranks)
            durationS[rank] += part.durationS;
    const int slowest = std::ranges::max_element(durationS, {}, [](const auto &rank) { return rank.second; })->first;
    std::vector<std::optional<double>> sums(m_phases.size());
    for (const auto &[number, epoch] : m_epochs)
        if (const auto part = epoch.ranks.find(slowest); part != epoch.ranks.end())
            for (const auto &[phase, seconds] : part->second.phasesS)
                sums[phase] = sums[phase].value_or(0) + seconds;
    std::map<std::string, double, std::less<>> out;
    for (const auto &[name, phase] : m_phases)
        if (sums[phase] && isDuration(*sums[phase]))
            out.emplace(name, *sums[phase]);
    return out;
}

} // namespace lockstep::agent
