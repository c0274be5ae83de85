// SPDX-License-Identifier: MIT
#include "store/nodes_replay.h"

#include <algorithm>
#include <limits>

#include "ipc/frames.h"

namespace lockstep::core {

void NodesReplay::Lines::add(std::string_view line) {
    m_text += line;
    m_ends.push_back(static_cast<std::uint32_t>(m_text.size()));
    if (m_next + 1 == m_ends.size())
        read();
}

void NodesReplay::Lines::clear() {
    m_text.clear();
    m_ends.clear();
    m_next = 0;
}

std::string_view NodesReplay::Lines::front() const {
    const std::size_t from = m_next == 0 ? 0 : m_ends[m_next - 1];
    return std::string_view(m_text).substr(from, m_ends[m_next] - from);
}

void NodesReplay::Lines::pop() {
    ++m_next;
    if (!empty())
        read();
}

void NodesReplay::Lines::read() {
    m_wallUs = wallUsOf(front());
}

void NodesReplay::open(const RunFolder &folder) {
    for (const int node : nodesIn(folder)) {
        if (int(m_sources.size()) >= mostNodes && !m_sources.contains(node))
            continue;
        auto &source = m_sources[node];
        if (!source) {
            source = std::make_unique<Source>();
            if (node == 0)
                source->offsetUs = 0;
        }
        source->replay.open(QString::fromStdString(folder.log(node)));
    }
}

bool NodesReplay::fill(Source &source) const {
    constexpr std::size_t ofAll = 32 << 20, least = 16 << 10;
    source.lines.clear();
    return source.replay.slice([&](std::string_view line) { source.lines.add(line); },
                               std::clamp(ofAll / m_sources.size(), least, LogReplay::sliceBytes));
}

bool NodesReplay::slice(const std::function<void(std::string_view, int)> &onLine) {
    if (m_sources.size() == 1) {
        const auto &[node, source] = *m_sources.begin();
        return source->replay.slice([&, number = node](std::string_view line) { onLine(line, number); });
    }
    bool more = false;
    std::map<Source *, int> numbers;
    for (const auto &[node, source] : m_sources) {
        numbers[source.get()] = node;
        if (source->lines.empty())
            more = fill(*source) || more;
    }
    // Stop when one source is empty for now: its next line may be earlier than the others'.
    for (Source *next = earliest(); next; next = earliest()) {
        const std::string_view line = next->lines.front();
        const int node = numbers[next];
        if (node == 0)
            learnOffset(line);
        onLine(line, node);
        next->lines.pop();
        if (next->lines.empty()) {
            more = fill(*next) || more;
            if (more || !next->lines.empty())
                return true; // a slice has been read
        }
    }
    return more;
}

/// The source whose next line was written first. A node whose clock offset node 0 has not reported yet waits for node 0.
NodesReplay::Source *NodesReplay::earliest() {
    Source *first = nullptr;
    double least = std::numeric_limits<double>::infinity();
    const auto head = m_sources.find(0);
    const bool headHasLines = head != m_sources.end() && !head->second->lines.empty();
    for (const auto &[node, source] : m_sources) {
        if (source->lines.empty() || (!source->offsetUs && headHasLines))
            continue;
        const double wall = double(source->lines.frontWallUs()) - source->offsetUs.value_or(0);
        if (wall < least) {
            least = wall;
            first = source.get();
        }
    }
    return first;
}

void NodesReplay::learnOffset(std::string_view line) {
    if (!line.starts_with("{\"type\":\"link\""))
        return;
    Decoder decoder;
    const auto frame = decoder.decode(line);
    const auto *link = frame ? std::get_if<LinkFrame>(&frame->body) : nullptr;
    if (!link || !link->clockOffsetS)
        return;
    if (const auto found = m_sources.find(link->ofNode); found != m_sources.end())
        found->second->offsetUs = *link->clockOffsetS * 1e6;
}

} // namespace lockstep::core
