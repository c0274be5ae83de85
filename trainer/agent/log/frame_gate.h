// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "ipc/frames.h"

namespace lockstep::agent {

/// Of a log's line: `,"node":…,"seq":…,"crc":"…"` with the longest possible numbers, bytes.
inline constexpr std::size_t roomForSeal = 80;

/// Checks every line of a rank before it is sealed into the log. Keeps each rank's rseq across reconnections.
class FrameGate {
public:
    struct Handlers {
        std::function<void(int rank, std::string_view line, const Frame &frame)> onFrame;
        std::function<void(int rank, std::string_view line, const Error &why)> onMalformed;
        /// The frames [expected, got) never came.
        std::function<void(int rank, std::uint64_t expected, std::uint64_t got)> onGap;
    };
    explicit FrameGate(Handlers handlers) : m_handlers(std::move(handlers)) {}

    void take(int rank, std::string_view line);
    /// While onFrame is called: whether its line has this key, whatever the value.
    [[nodiscard]] bool has(std::string_view key) const { return m_decoder.has(key); }
    /// All ranks were restarted and count from 0 again.
    void startOver() { m_nextRseq.clear(); }
    void startOver(int rank) { m_nextRseq.erase(rank); } ///< only this rank was restarted
    [[nodiscard]] std::uint64_t next(int rank) const {
        const auto found = m_nextRseq.find(rank);
        return found == m_nextRseq.end() ? 0 : found->second;
    }

private:
    Handlers m_handlers;
    Decoder m_decoder;
    std::map<int, std::uint64_t> m_nextRseq;
};

/// Inserts `"key":json` before the closing brace of an encoded frame. All other bytes stay as they are.
[[nodiscard]] std::string withMember(std::string_view encoded, std::string_view key, std::string_view json);

/// JSON of an epoch frame's `devices`; unknown values are absent.
[[nodiscard]] std::string devicesJson(const std::vector<DeviceEpochUse> &devices);

} // namespace lockstep::agent
