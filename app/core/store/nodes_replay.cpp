// SPDX-License-Identifier: MIT
#include "store/nodes_replay.h"

#include <sys/stat.h>

#include <algorithm>

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
        const std::string path = folder.log(node);
        if (!m_sources.contains(node) && (int(m_sources.size()) >= mostNodes || isAnothers(path, node)))
            continue;
        auto &source = m_sources[node];
        if (!source) {
            source = std::make_unique<Source>();
            if (node == 0)
                source->offsetUs = 0;
        }
        source->replay.open(QString::fromStdString(path));
    }
}

bool NodesReplay::isAnothers(const std::string &path, int node) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 &&
           m_nodeOf.try_emplace({status.st_dev, status.st_ino}, node).first->second != node;
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
    for (const auto &[node, source] : m_sources)
        if (source->lines.empty() && fill(*source)) {
            more = true;
            orderFilled(node, *source);
        }
    // Stop when one source is empty for now: its next line may be earlier than the others'.
    while (!m_order.empty()) {
        const int node = m_order.begin()->second;
        Source &next = *m_sources.at(node);
        const std::string_view line = next.lines.front();
        if (node == 0)
            learnOffset(line);
        onLine(line, node);
        next.lines.pop();
        if (!next.lines.empty()) {
            order(node, next);
            continue;
        }
        more = fill(next) || more;
        orderFilled(node, next);
        if (more || !next.lines.empty())
            return true; // a slice has been read
    }
    return more;
}

/// Puts a source at the place of its front. A node whose clock offset node 0 has not reported yet waits for node 0.
void NodesReplay::order(int node, Source &source) {
    const auto head = m_sources.find(0);
    const bool headHasLines = head != m_sources.end() && !head->second->lines.empty();
    std::optional<double> frontUs;
    if (!source.lines.empty() && (source.offsetUs || !headHasLines))
        frontUs = double(source.lines.frontWallUs()) - source.offsetUs.value_or(0);
    if (frontUs == source.frontUs)
        return;
    if (source.frontUs)
        m_order.erase({*source.frontUs, node});
    if (frontUs)
        m_order.emplace(*frontUs, node);
    source.frontUs = frontUs;
}

/// Others wait for node 0 only while it has lines.
void NodesReplay::orderFilled(int node, Source &source) {
    order(node, source);
    if (node == 0)
        for (const auto &[other, waiting] : m_sources)
            order(other, *waiting);
}

void NodesReplay::learnOffset(std::string_view line) {
    if (!line.starts_with("{\"type\":\"link\""))
        return;
    Decoder decoder;
    const auto frame = decoder.decode(line);
    const auto *link = frame ? std::get_if<LinkFrame>(&frame->body) : nullptr;
    if (!link || !link->clockOffsetS)
        return;
    const auto found = m_sources.find(link->ofNode);
    if (found == m_sources.end())
        return;
    found->second->offsetUs = *link->clockOffsetS * 1e6;
    order(found->first, *found->second);
}

} // namespace lockstep::core
