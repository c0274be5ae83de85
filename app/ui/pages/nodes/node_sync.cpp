// SPDX-License-Identifier: MIT
#include "app/ui/pages/nodes/node_sync.h"

#include <algorithm>
#include <iterator>

#include "base/format.h"
#include "models/cells.h"

namespace lockstep::ui {
namespace {

using core::qs;

QString wordsOf(const core::SyncProgress &progress) {
    return progress.totalBytes > 0 ? QObject::tr("%1 %2: %3 of %4")
                                         .arg(qs(progress.what), qs(progress.bundle), core::bytes(progress.doneBytes),
                                              core::bytes(progress.totalBytes))
                                   : qs(progress.what) + u' ' + qs(progress.bundle);
}

std::optional<double> shareOf(const core::SyncProgress &progress) {
    return progress.totalBytes > 0 ? std::optional(progress.doneBytes / progress.totalBytes) : std::nullopt;
}

} // namespace

void NodeSync::sync(const std::vector<core::NodeEntry> &nodes, core::SshAnswers answers) {
    if (m_job) {
        m_job->stop();
        return;
    }
    std::vector<core::NodeEntry> others;
    std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(others),
                 [](const core::NodeEntry &node) { return node.how != "local"; });
    if (others.empty())
        return;
    m_job = std::make_unique<core::SyncJob>();
    connect(m_job.get(), &core::SyncJob::progressed, this, [this](const core::SyncProgress &progress) {
        Q_EMIT progressed(qs(progress.node), wordsOf(progress), shareOf(progress));
    });
    connect(m_job.get(), &core::SyncJob::nodeDone, this,
            [this](const QString &node, const std::vector<core::SyncReport> &) { Q_EMIT progressed(node, {}, {}); });
    connect(m_job.get(), &core::SyncJob::nodeFailed, this, [this](const QString &node, const Error &error) {
        Q_EMIT progressed(node, {}, {});
        Q_EMIT failed(node + QStringLiteral(": ") + QString::fromStdString(error.message()));
    });
    connect(
        m_job.get(), &core::SyncJob::finished, this,
        [this] {
            m_job.reset();
            Q_EMIT finished();
        },
        Qt::QueuedConnection);
    Q_EMIT started();
    for (const core::NodeEntry &node : others)
        Q_EMIT progressed(qs(node.name), tr("waiting to be synced"), {});
    m_job->start(nodes, {}, std::move(answers)); // this machine too: all agree on a line of PyTorch
}

} // namespace lockstep::ui

#include "moc_node_sync.cpp"
