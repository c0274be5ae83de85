// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>

#include <memory>
#include <optional>
#include <vector>

#include "nodes/sync.h"

namespace lockstep::ui {

/// Brings to nodes what they lack, beside the window, and says for each of them how far it is.
class NodeSync : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;
    /// While one goes on: stops it.
    void sync(const std::vector<core::NodeEntry> &nodes, core::SshAnswers answers);

Q_SIGNALS:
    void started();
    /// Words and share done, 0..1, of one node; empty words: it is over.
    void progressed(const QString &node, const QString &words, std::optional<double> fraction);
    void failed(const QString &sentence);
    void finished();

private:
    std::unique_ptr<core::SyncJob> m_job;
};

} // namespace lockstep::ui
