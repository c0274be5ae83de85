// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "ipc/frames.h"

namespace lockstep::agent {

/// What a rank may put into the log: checks every line before it is sealed. Keeps each rank's rseq over reconnections.
class FrameGate {
public:
    struct Handlers {
        std::function<void(int rank, std::string_view line, const Frame &frame)> onFrame;
        std::function<void(int rank, std::string_view line, const Error &why)> onMalformed;
        /// Frames that never came: [expected, got).
        std::function<void(int rank, std::uint64_t expected, std::uint64_t got)> onGap;
    };
    explicit FrameGate(Handlers handlers) : m_handlers(std::move(handlers)) {}

    void take(int rank, std::string_view line);
    /// The group was started again: every rank counts from 0.
    void startOver() { m_nextRseq.clear(); }
    void startOver(int rank) { m_nextRseq.erase(rank); } ///< only this one was
    [[nodiscard]] std::uint64_t next(int rank) const {
        const auto found = m_nextRseq.find(rank);
        return found == m_nextRseq.end() ? 0 : found->second;
    }

private:
    Handlers m_handlers;
    Decoder m_decoder;
    std::map<int, std::uint64_t> m_nextRseq;
};

/// Puts `"key":json` before the closing brace of an encoded frame; all other bytes stay.
[[nodiscard]] std::string withMember(std::string_view encoded, std::string_view key, std::string_view json);

/// JSON of an epoch frame's `devices`; absent values stay absent.
[[nodiscard]] std::string devicesJson(const std::vector<DeviceEpochUse> &devices);

} // namespace lockstep::agent
