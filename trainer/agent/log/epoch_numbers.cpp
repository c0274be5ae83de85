// SPDX-License-Identifier: MIT
#include "trainer/agent/log/epoch_numbers.h"

#include <algorithm>
#include <utility>

#include "ipc/sound_values.h"

namespace lockstep::agent {

void EpochNumbers::startOver(const std::optional<Made> &agreed) {
    begin(true);
    if (agreed)
        m_before = {std::clamp(agreed->epochs, 0, highestEpoch),
                    std::clamp(agreed->steps, std::int64_t(0), mostCounted)};
    m_ranks.clear();
}

bool EpochNumbers::startOver(int rank) {
    const auto known = m_ranks.find(rank);
    if (known == m_ranks.end())
        return false;
    const bool restarted = known->second.start == m_start && anyUnfinished();
    if (known->second.start == m_start)
        begin(restarted);
    m_ranks.erase(known); // its first frame says with how many others it is
    return restarted || std::exchange(m_shown, false);
}

bool EpochNumbers::anyUnfinished() const {
    return std::ranges::any_of(m_ranks,
                               [&](const auto &known) { return known.second.start == m_start && !known.second.done; });
}

/// An epoch that one of the ranks has not completed is made again. A start that ended before any rank reported has made
/// nothing.
EpochNumbers::Made EpochNumbers::made() const {
    const OfRank *least = nullptr;
    for (const auto &[rank, own] : m_ranks)
        if (own.start == m_start && own.counted && (!least || own.made.epochs < least->made.epochs))
            least = &own;
    return least ? least->made : m_before;
}

void EpochNumbers::begin(bool restarted) {
    m_before = restarted ? made() : Made();
    ++m_start;
    m_worldSize = 0;
}

/// A rank with a new number belongs to a new start if there are more ranks now than there were.
EpochNumbers::OfRank &EpochNumbers::of(int rank, const Frame &frame) {
    const auto *state = std::get_if<StateFrame>(&frame.body);
    const int worldSize = state ? state->worldSize.value_or(0) : 0;
    const auto known = m_ranks.find(rank);
    if (known == m_ranks.end() && worldSize > m_worldSize && m_worldSize > 0) {
        m_shown = anyUnfinished();
        begin(m_shown);
    }
    OfRank &own =
        known != m_ranks.end() ? known->second : m_ranks.emplace(rank, OfRank(m_start, m_before)).first->second;
    if (worldSize > 0 && own.start == m_start)
        m_worldSize = worldSize;
    return own;
}

EpochNumbers::Made EpochNumbers::before(int rank, const Frame &frame) {
    OfRank &own = of(rank, frame);
    if (const auto *state = std::get_if<StateFrame>(&frame.body)) {
        own.counted = own.counted || state->countsAnew;
        own.done = own.done || state->state == RunState::Done;
    }
    if (!own.counted)
        return {};
    if (const auto *steps = std::get_if<StepsFrame>(&frame.body); steps && steps->count > 0)
        own.steps = std::min(own.before.steps + steps->lastStep + 1, mostCounted);
    else if (const auto *epoch = std::get_if<EpochFrame>(&frame.body))
        own.made = {std::min(own.before.epochs + epoch->epoch, highestEpoch), own.steps};
    return own.before;
}

namespace {

struct Counting {
    const EpochNumbers::Made &before;

    void epoch(int &number) const { number = std::min(number, highestEpoch - before.epochs) + before.epochs; }
    void step(std::int64_t &number) const { number = std::min(number, mostCounted - before.steps) + before.steps; }

    void operator()(StateFrame &state) const {
        if (state.epoch)
            epoch(*state.epoch);
    }
    void operator()(StepsFrame &steps) const {
        epoch(steps.epoch);
        step(steps.firstStep);
        step(steps.lastStep);
    }
    void operator()(EpochFrame &done) const { epoch(done.epoch); }
    void operator()(EvalFrame &eval) const { epoch(eval.epoch); }
    void operator()(AlertFrame &alert) const {
        if (!alert.step)
            return;
        step(*alert.step);
        alert.message += " (as counted since the restart)";
    }
    void operator()(HeartbeatFrame &beat) const {
        if (beat.at && beat.at->step)
            step(*beat.at->step);
    }
    void operator()(auto &) const {} // has no numbers
};

} // namespace

Frame countedOn(Frame frame, const EpochNumbers::Made &before) {
    std::visit(Counting{before}, frame.body);
    return frame;
}

} // namespace lockstep::agent
