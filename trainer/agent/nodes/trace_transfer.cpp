// SPDX-License-Identifier: MIT
#include "trainer/agent/nodes/trace_transfer.h"

#include <algorithm>

#include "ipc/crc32c.h"

namespace lockstep::agent {

namespace {
constexpr std::size_t pieceBytes = 16 * 1024; // fits into a line of 64 KiB even when every character is escaped
}

void TraceOutbox::add(int rank, std::string text) {
    std::erase_if(m_traces, [&](const Outgoing &one) { return one.rank == rank; }); // a newer trace replaces it
    std::string crc = crcText(crc32c(text));
    m_traces.push_back({rank, std::move(text), std::move(crc), 0});
}

std::optional<NodeMessage> TraceOutbox::next() {
    const auto trace =
        std::find_if(m_traces.begin(), m_traces.end(), [](const Outgoing &one) { return one.sent < one.text.size(); });
    if (trace == m_traces.end())
        return std::nullopt;
    NodeMessage piece;
    piece.what = NodeMessage::What::TracePart;
    piece.rank = trace->rank;
    piece.offset = trace->sent;
    piece.total = trace->text.size();
    piece.crc = trace->crc;
    piece.text = trace->text.substr(trace->sent, pieceBytes);
    trace->sent += piece.text.size();
    return piece;
}

void TraceOutbox::startOver() {
    for (Outgoing &one : m_traces)
        one.sent = 0;
}

void TraceOutbox::kept(const NodeMessage &message) {
    std::erase_if(m_traces, [&](const Outgoing &one) { return one.rank == message.rank && one.crc == message.crc; });
}

std::optional<TraceInbox::Whole> TraceInbox::take(const NodeMessage &piece, const std::set<int> &ranks) {
    const int rank = piece.rank.value_or(-1);
    const std::uint64_t total = piece.total.value_or(0), offset = piece.offset.value_or(0);
    if (!ranks.contains(rank) || total == 0 || total > largestTrace)
        return std::nullopt;
    std::string &text = m_texts[rank];
    if (offset == 0) {
        m_bytes -= text.size();
        text.clear();
    }
    if (offset != text.size() || piece.text.empty() || offset + piece.text.size() > total ||
        m_bytes + piece.text.size() > mostHeld) {
        m_bytes -= text.size();
        m_texts.erase(rank);
        return std::nullopt;
    }
    text += piece.text;
    m_bytes += piece.text.size();
    if (text.size() < total)
        return std::nullopt;
    m_bytes -= text.size();
    Whole whole{rank, std::move(text), piece.crc, false};
    whole.good = crcText(crc32c(whole.text)) == piece.crc;
    m_texts.erase(rank);
    return whole;
}

} // namespace lockstep::agent
