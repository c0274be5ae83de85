// SPDX-License-Identifier: MIT
#include "trainer/data/bert_characters.h"

#include <algorithm>

#include "trainer/data/bert_character_data.h"

namespace lockstep::trainer {
namespace {

constexpr char32_t pastLast = 0x110000;

// Hangul's syllables: of each leading consonant 588, of each vowel 28 (Unicode 3.12).
constexpr char32_t firstSyllable = 0xac00, lastSyllable = 0xd7a3, leads = 0x1100, vowels = 0x1161, trails = 0x11a7;
constexpr char32_t perLead = 588, perVowel = 28;

template <class Use> void each(std::span<const bert::Range> ranges, Use use) {
    for (const auto &range : ranges)
        for (char32_t point = range.first; point <= range.last; ++point)
            use(point);
}

/// What each character becomes, by code point; the others are left as they are.
void putTargets(std::span<const bert::Step> steps, std::span<const char32_t> runs, std::span<std::uint32_t> targets) {
    for (const auto &step : steps)
        for (char32_t point = step.first; point <= step.last; point += step.step)
            targets[point] = step.target + (point - step.first);
    for (std::size_t at = 0; at < runs.size(); at += 2 + runs[at + 1])
        std::copy_n(runs.begin() + static_cast<std::ptrdiff_t>(at) + 2, runs[at + 1], targets.begin() + runs[at]);
}

} // namespace

BertCharacters::BertCharacters(const TokenizerRules &rules) : m_entries(pastLast, 0) {
    if (rules.stripsAccents())
        stripAccents();
    if (rules.lowerCase)
        lower();
    std::vector<bool> isSign(pastLast);
    each(bert::punctuation(), [&isSign](char32_t point) { isSign[point] = true; });
    for (char32_t point = 0; point < pastLast; ++point) // a sign is known by what the character has become
        if (const auto [kind, becomes] = of(point); kind == Kind::Kept && isSign[becomes])
            setKind(point, Kind::Alone);
    if (rules.splitChinese)
        each(bert::ideographs(), [this](char32_t point) { setKind(point, Kind::Alone); });
    each(bert::removed(), [this](char32_t point) { setKind(point, Kind::Dropped); });
    each(bert::spaces(), [this](char32_t point) { setKind(point, Kind::Space); });
}

void BertCharacters::stripAccents() {
    putTargets(bert::baseSteps(), bert::baseRuns(), m_entries);
    for (const auto &mark : bert::moved())
        setKind(mark.mark, Kind::Moved);
    each(bert::marks(), [this](char32_t point) { setKind(point, Kind::Dropped); });
    each(bert::endingMarks(), [this](char32_t point) { setKind(point, Kind::Ending); });
    for (const auto &several : bert::baseSeveral())
        setKind(several.from, Kind::Several);
    for (char32_t point = firstSyllable; point <= lastSyllable; ++point)
        setKind(point, Kind::Several);
}

/// After the accents, as in BertNormalizer. No mark and no part of several characters has a lower case.
void BertCharacters::lower() {
    std::vector<std::uint32_t> targets(pastLast, 0);
    putTargets(bert::lowerSteps(), bert::lowerRuns(), targets);
    for (char32_t point = 0; point < pastLast; ++point)
        if (const auto [kind, becomes] = of(point); kind == Kind::Kept && targets[becomes] != 0)
            m_entries[point] = targets[becomes];
    for (const auto &several : bert::lowerSeveral())
        if (m_entries[several.from] == 0)
            setKind(several.from, Kind::Several);
}

int BertCharacters::combiningClass(char32_t point) {
    const auto moved = bert::moved();
    return std::lower_bound(moved.begin(), moved.end(), point,
                            [](const bert::Moved &mark, char32_t wanted) { return mark.mark < wanted; })
        ->combiningClass;
}

std::array<char32_t, 3> BertCharacters::parts(char32_t point) {
    if (firstSyllable <= point && point <= lastSyllable) {
        const char32_t index = point - firstSyllable, trail = index % perVowel;
        return {leads + index / perLead, vowels + index % perLead / perVowel, trail ? trails + trail : 0};
    }
    for (const auto several : {bert::baseSeveral(), bert::lowerSeveral()})
        if (const auto found = std::ranges::lower_bound(several, point, {}, &bert::Several::from);
            found != several.end() && found->from == point)
            return found->to;
    return {};
}

} // namespace lockstep::trainer
