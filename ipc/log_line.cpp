// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>

#include "ipc/crc32c.h"
#include "ipc/log.h"
#include "ipc/placement.h"

namespace lockstep {

namespace {
constexpr std::string_view crcKey = ",\"crc\":\"";
constexpr std::size_t sealLength = crcKey.size() + 8 + 2;                   // 8 digits, then "}
constexpr std::uint64_t mostSeq = std::numeric_limits<std::int64_t>::max(); // so that the next one is a number, too
} // namespace

std::string sealLine(std::string_view encodedFrame, int node, std::uint64_t seq) {
    std::string line;
    line.reserve(encodedFrame.size() + 80);
    line.append(encodedFrame.substr(0, encodedFrame.empty() ? 0 : encodedFrame.size() - 1));
    if (!line.empty() && line.back() != '{')
        line += ',';
    line += "\"node\":" + std::to_string(node) + ",\"seq\":" + std::to_string(seq);
    const std::string crc = crcText(crc32c(line));
    line += crcKey;
    line += crc;
    line += "\"}";
    return line;
}

bool crcHolds(std::string_view line) {
    if (line.size() <= sealLength)
        return false;
    const std::string_view body = line.substr(0, line.size() - sealLength);
    std::string_view seal = line.substr(body.size());
    if (!seal.starts_with(crcKey) || !seal.ends_with("\"}"))
        return false;
    return seal.substr(crcKey.size(), 8) == crcText(crc32c(body));
}

namespace {

/// The number after the last `key` up to the end of the line. Cuts the line before the key.
template <class T> std::optional<T> numberAtEnd(std::string_view &line, std::string_view key) {
    const auto at = line.rfind(key);
    if (at == std::string_view::npos)
        return std::nullopt;
    const std::string_view digits = line.substr(at + key.size());
    T number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || end != digits.data() + digits.size())
        return std::nullopt;
    line = line.substr(0, at);
    return number;
}

} // namespace

std::optional<SealedPlace> placeOfSealedLine(std::string_view line) {
    if (!crcHolds(line))
        return std::nullopt;
    line.remove_suffix(sealLength);
    const auto seq = numberAtEnd<std::uint64_t>(line, ",\"seq\":");
    const auto node = seq ? numberAtEnd<int>(line, "\"node\":") : std::nullopt;
    const bool isKey = line == "{" || line.ends_with(','); // else a longer one, with an escaped quote, ends like it
    if (!node || !isKey || *node < 0 || *node >= mostNodes || *seq > mostSeq)
        return std::nullopt;
    return SealedPlace{*node, *seq};
}

bool LineRecords::next() {
    if (m_over)
        return false;
    m_record = m_rest;
    m_place = placeOfSealedLine(m_record);
    constexpr int most = 16; // checksums of one line that are computed in vain
    for (std::size_t seal = m_place ? std::string_view::npos : m_rest.find(crcKey);
         seal != std::string_view::npos && seal + sealLength + 1 < m_rest.size() && ++m_count <= most;
         seal = m_rest.find(crcKey, seal + 1))
        if (const auto place = placeOfSealedLine(m_rest.substr(0, seal + sealLength))) {
            m_record = m_rest.substr(0, seal + sealLength);
            m_place = place;
            m_rest.remove_prefix(m_record.size() + 1);
            return true;
        }
    m_over = true;
    return true;
}

std::string LogGap::text() const {
    return count() == 1 ? "1 frame lost, seq " + std::to_string(firstSeq)
                        : std::to_string(count()) + " frames lost, seq " + std::to_string(firstSeq) + "-" +
                              std::to_string(lastSeq);
}

LogGaps::LogGaps(std::initializer_list<LogGap> gaps) {
    for (const LogGap &gap : gaps)
        add(gap);
}

void LogGaps::add(const LogGap &gap) {
    if (m_listed.size() < mostListed)
        m_listed.push_back(gap);
    ++m_count;
    m_frames += gap.count();
}

void LogGaps::add(const LogGaps &gaps) {
    const std::size_t room = std::min(mostListed - m_listed.size(), gaps.m_listed.size());
    m_listed.insert(m_listed.end(), gaps.m_listed.begin(), gaps.m_listed.begin() + std::ptrdiff_t(room));
    m_count += gaps.m_count;
    m_frames += gaps.m_frames;
}

std::string LogGaps::textOfOthers() const {
    const std::uint64_t others = m_count - m_listed.size();
    if (others == 0)
        return {};
    std::uint64_t frames = m_frames;
    for (const LogGap &gap : m_listed)
        frames -= gap.count();
    return "and " + std::to_string(others) + (others == 1 ? " more gap: " : " more gaps: ") + std::to_string(frames) +
           (frames == 1 ? " frame lost" : " frames lost");
}

LineChecker::LineChecker(std::uint64_t firstSeq) : m_next(firstSeq) {}

LineChecker::Verdict LineChecker::check(std::string_view line) {
    const auto place = placeOfSealedLine(line);
    return checkSeq(place ? std::optional(place->seq) : std::nullopt);
}

LineChecker::Verdict LineChecker::checkSeq(std::optional<std::uint64_t> seq) {
    if (!seq) {
        ++m_damaged;
        return Verdict::Damaged;
    }
    if (*seq < m_next)
        return Verdict::Doubled;
    if (*seq > m_next)
        m_gaps.add(LogGap{m_next, *seq - 1});
    m_next = *seq + 1;
    return Verdict::Good;
}

} // namespace lockstep
