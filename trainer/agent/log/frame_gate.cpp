// SPDX-License-Identifier: MIT
#include "trainer/agent/log/frame_gate.h"

#include <nlohmann/json.hpp>

namespace lockstep::agent {

namespace {

Result<void> checkFrame(int rank, std::string_view line, const Frame &frame, const Decoder &decoder) {
    const auto refuse = [](std::string what) { return fail(Error::badArgument(std::move(what))); };
    if (line.size() + roomForSeal > maxFrameBytes)
        return refuse("a frame of " + std::to_string(line.size()) + " bytes leaves no room for its checksum");
    if (frame.rank != rank)
        return refuse("rank " + (frame.rank ? std::to_string(*frame.rank) : "absent") + " in a frame of rank " +
                      std::to_string(rank));
    if (!frame.rseq)
        return refuse("rseq is missing");
    // The log adds them, and a line with the same key twice can't be read. How a sealed line is cut apart rests on these bytes, which
    // cannot be part of a string, where the quotes would be escaped.
    if (decoder.has("node") || decoder.has("seq") || decoder.has("crc") ||
        line.find(",\"crc\":") != std::string_view::npos)
        return refuse("node, seq and crc are given by the log's writer");
    const std::string_view type = typeOf(frame);
    if (type == "header" || type == "exit" || type == "device" || type == "link" ||
        type == "node") // between nodes, a line of that type is an agent's
        return refuse("a rank can't send '" + std::string(type) + "' frames");
    return {};
}

} // namespace

void FrameGate::take(int rank, std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t'))
        line.remove_suffix(1);
    if (line.empty())
        return;
    const auto frame = m_decoder.decode(line);
    if (!frame) {
        m_handlers.onMalformed(rank, line, frame.error());
        return;
    }
    if (const auto ok = checkFrame(rank, line, *frame, m_decoder); !ok) {
        m_handlers.onMalformed(rank, line, ok.error());
        return;
    }
    std::uint64_t &next = m_nextRseq[rank];
    if (*frame->rseq < next)
        return; // sent again after a reconnection
    if (*frame->rseq > next)
        m_handlers.onGap(rank, next, *frame->rseq);
    next = *frame->rseq + 1;
    m_handlers.onFrame(rank, line, *frame);
}

std::string withMember(std::string_view encoded, std::string_view key, std::string_view json) {
    std::string line(encoded.substr(0, encoded.rfind('}')));
    line.append(",\"").append(key).append("\":").append(json).append("}");
    return line;
}

std::string devicesJson(const std::vector<DeviceEpochUse> &devices) {
    auto list = nlohmann::ordered_json::array();
    for (const DeviceEpochUse &use : devices) {
        nlohmann::ordered_json device;
        device["device"] = use.device;
        const auto put = [&](const char *key, std::optional<double> value) {
            if (value)
                device[key] = *value;
        };
        put("utilization_mean", use.utilizationMean);
        put("utilization_max", use.utilizationMax);
        put("memory_mean_bytes", use.memoryMeanBytes);
        put("memory_max_bytes", use.memoryMaxBytes);
        list.push_back(std::move(device));
    }
    return list.dump();
}

} // namespace lockstep::agent
