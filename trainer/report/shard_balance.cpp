// SPDX-License-Identifier: MIT
#include "trainer/report/shard_balance.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "ipc/median.h"
#include "trainer/data/sampler.h"

namespace lockstep::trainer {

namespace {

std::string threeDigits(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
}

std::string listed(std::span<const std::int64_t> shares) {
    std::string text;
    for (std::size_t i = 0; i < shares.size(); ++i)
        text += (i == 0 ? "" : i + 1 == shares.size() ? " and " : ", ") + std::to_string(shares[i]);
    return text;
}

} // namespace

ShardBalance::ShardBalance(std::int64_t batch, int ranks, bool adaptive)
    : m_batch(batch), m_adaptive(adaptive), m_shares(static_cast<std::size_t>(ranks), batch / ranks),
      m_ready(m_shares.size()) {}

void ShardBalance::addStep(std::span<const OwnTimes> ranks) {
    if (ranks.size() != m_shares.size() || ++m_steps <= warmUp || m_ready.front().size() >= longest)
        return;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        m_ready[rank].push_back(ranks[rank].ready);
}

bool ShardBalance::changesAfterStep() {
    if (m_ready.front().size() < window)
        return false;
    if (m_roundsLeft > 0) {
        --m_roundsLeft;
        return judge(/*mayChange=*/true);
    }
    return std::exchange(m_changed, false) && judge(/*mayChange=*/false);
}

bool ShardBalance::changesAtEpoch() {
    return m_adaptive && m_roundsLeft == 0 && m_ready.front().size() >= window && judge(/*mayChange=*/true);
}

std::vector<double> ShardBalance::medianReadyNs() {
    std::vector<double> medians;
    for (std::vector<double> &times : m_ready)
        medians.push_back(std::max(1.0, *median(std::exchange(times, {}))));
    m_steps = 0;
    return medians;
}

bool ShardBalance::judge(bool mayChange) {
    const std::vector<double> readyNs = medianReadyNs();
    const double slowestNs = std::ranges::max(readyNs);
    std::vector<double> samplesPerNs;
    double all = 0;
    for (std::size_t rank = 0; rank < readyNs.size(); ++rank) {
        samplesPerNs.push_back(static_cast<double>(m_shares[rank]) / readyNs[rank]);
        all += samplesPerNs.back();
    }
    const double balancedNs = static_cast<double>(m_batch) / all, gain = 1 - balancedNs / slowestNs;
    const std::string milliseconds = threeDigits(slowestNs * 1e-6) + " ms";
    std::string sentence;
    if (m_evenNs > 0)
        sentence = "with shards of " + listed(m_shares) + " samples the slowest rank is ready after " + milliseconds +
                   ", with even ones after " + threeDigits(m_evenNs * 1e-6) + " ms (" +
                   threeDigits(m_predictedNs * 1e-6) + " ms was predicted)";
    else
        m_evenNs = slowestNs;
    auto shares = inProportion(m_batch, samplesPerNs);
    m_changed = false;
    if (!mayChange) {
        m_sentence = sentence;
        return false;
    }
    if (gain < worthwhile || shares == m_shares) {
        if (sentence.empty())
            sentence = "even shards stay: the slowest rank is ready after " + milliseconds +
                       ", and uneven ones would save less than " + threeDigits(100 * worthwhile) + " % of that";
        m_roundsLeft = 0;
        m_sentence = sentence;
        return false;
    }
    const auto [slow, fast] = std::ranges::minmax(samplesPerNs);
    const bool even = std::ranges::adjacent_find(m_shares, std::ranges::not_equal_to()) == m_shares.end();
    sentence += (sentence.empty() ? "" : "; ") +
                (even ? "a sample takes the slowest rank " + threeDigits(fast / slow) +
                            " times as long as the fastest, so even shards waste " + threeDigits(100 * gain) +
                            " % of the time until all are ready"
                      : "they waste " + threeDigits(100 * gain) + " %") +
                "; from now on shards of " + listed(shares) + " samples";
    m_shares = std::move(shares);
    m_changed = true;
    m_predictedNs = balancedNs;
    m_sentence = std::move(sentence);
    return true;
}

std::optional<std::string> ShardBalance::takeSentence() {
    return std::exchange(m_sentence, {});
}

} // namespace lockstep::trainer
