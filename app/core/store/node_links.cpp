// SPDX-License-Identifier: MIT
#include "store/node_links.h"

#include <algorithm>

#include <QStringList>

namespace lockstep::core {

void NodeLinks::take(const Frame &frame, const LinkFrame &body) {
    NodeLink &link = m_links[body.ofNode];
    link.node = body.ofNode;
    if (!body.host.empty())
        link.host = body.host;
    if (body.link == "lost" && link.up)
        ++link.losses;
    link.up = body.link == "up";
    link.ended = body.link == "ended";
    link.reason = body.reason;
    link.sinceWallUs = frame.wallUs;
    if (body.clockOffsetS)
        link.clockOffsetS = body.clockOffsetS;
    if (body.roundTripS)
        link.roundTripS = body.roundTripS;
}

std::optional<double> NodeLinks::clockOffsetS(int node) const {
    const auto found = m_links.find(node);
    return found == m_links.end() ? std::nullopt : found->second.clockOffsetS;
}

bool NodeLinks::anyLost() const {
    return std::any_of(m_links.begin(), m_links.end(),
                       [](const auto &link) { return !link.second.up && !link.second.ended; });
}

QString NodeLinks::sentence() const {
    if (m_links.empty())
        return {};
    QStringList lost;
    int ended = 0;
    for (const auto &[node, link] : m_links) {
        if (!link.up && !link.ended)
            lost << QString::fromStdString(sentenceOf(link));
        ended += link.ended ? 1 : 0;
    }
    if (!lost.isEmpty())
        return lost.join(QStringLiteral("; "));
    const QString nodes = QStringLiteral("%1 nodes, ").arg(m_links.size() + 1);
    return nodes + (ended == int(m_links.size()) ? QStringLiteral("all ended") : QStringLiteral("all links up"));
}

} // namespace lockstep::core
