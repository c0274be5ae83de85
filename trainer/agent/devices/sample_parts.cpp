// SPDX-License-Identifier: MIT
#include "trainer/agent/devices/sample_parts.h"

#include <utility>

namespace lockstep::agent {

namespace {

/// Far enough below maxFrameBytes for what is in the first part only.
constexpr std::size_t mostBytes = 48 * 1024;

/// No less than an entry takes when it is encoded: its keys and numbers, then its texts.
std::size_t bytesOf(const ProcessSample &) {
    return 128;
}

std::size_t bytesOf(const DeviceSample &device) {
    std::size_t bytes = 420 + device.device.size() + device.kind.size() + device.name.size() + device.cores.size();
    for (const std::string &reason : device.throttle)
        bytes += reason.size() + 3;
    return bytes;
}

class Parts {
public:
    explicit Parts(Frame first) : m_all{std::move(first)} {}

    template <class Entry> void add(std::vector<Entry> DeviceFrame::*list, std::vector<Entry> entries) {
        for (Entry &entry : entries) {
            const std::size_t bytes = bytesOf(entry);
            if (m_bytes > 0 && m_bytes + bytes > mostBytes)
                begin();
            m_bytes += bytes;
            (last().*list).push_back(std::move(entry));
        }
    }
    [[nodiscard]] std::vector<Frame> take() { return std::move(m_all); }

private:
    DeviceFrame &last() { return std::get<DeviceFrame>(m_all.back().body); }
    void begin() {
        Frame next;
        next.monoNs = m_all.front().monoNs;
        next.wallUs = m_all.front().wallUs;
        DeviceFrame body;
        body.intervalS = last().intervalS;
        next.body = std::move(body);
        m_all.push_back(std::move(next));
        m_bytes = 0;
    }
    std::vector<Frame> m_all;
    std::size_t m_bytes = 0; ///< of the last one
};

} // namespace

std::vector<Frame> partsOf(Frame sample) {
    auto &body = std::get<DeviceFrame>(sample.body);
    auto devices = std::exchange(body.devices, {});
    auto processes = std::exchange(body.processes, {}), viewers = std::exchange(body.viewers, {});
    Parts parts(std::move(sample));
    parts.add(&DeviceFrame::devices, std::move(devices));
    parts.add(&DeviceFrame::processes, std::move(processes));
    parts.add(&DeviceFrame::viewers, std::move(viewers));
    return parts.take();
}

} // namespace lockstep::agent
