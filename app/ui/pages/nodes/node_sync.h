// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>

#include <memory>
#include <optional>
#include <vector>

#include "nodes/sync.h"

namespace lockstep::ui {

/// Syncs nodes in the background and reports the progress of each.
class NodeSync : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;
    /// While a sync is under way: stops it.
    void sync(const std::vector<core::NodeEntry> &nodes, core::SshAnswers answers);

Q_SIGNALS:
    void started();
    /// Text and progress (0..1) of one node; empty text: done.
    void progressed(const QString &node, const QString &words, std::optional<double> fraction);
    void failed(const QString &sentence);
    void finished();

private:
    std::unique_ptr<core::SyncJob> m_job;
};

} // namespace lockstep::ui
