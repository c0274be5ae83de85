// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <vector>

#include <QObject>
#include <QProcess>
#include <QTimer>

#include "nodes/node_probe.h"

namespace lockstep::core {

/// A live node: one connection that reports its state each second and reconnects when it breaks. Never blocks; event
/// loop.
class NodeWatch : public QObject {
    Q_OBJECT
public:
    NodeWatch(NodeEntry node, SshAnswers answers, QObject *parent = nullptr);
    ~NodeWatch() override;
    void start();
    /// The newest snapshot: trouble with its sentence, or facts and clock. While the link is down, the last facts are
    /// kept.
    [[nodiscard]] const NodeSnapshot &snapshot() const { return m_snapshot; }
    [[nodiscard]] bool live() const { return m_live; }
    /// Whether all is known that can be: how busy the node is, and its clock, come with its second answer.
    [[nodiscard]] bool complete() const { return m_taken > 1; }
    static constexpr int againMs = 5000; ///< pause before reconnecting

Q_SIGNALS:
    void changed(); ///< snapshot() or live() changed

private:
    void read();
    void over();
    void fail(const NodeError &error);
    NodeEntry m_node;
    SshAnswers m_answers;
    NodeSnapshot m_snapshot;
    std::unique_ptr<QProcess> m_process;
    QTimer m_again;
    std::int64_t m_pingedUs = 0;
    bool m_live = false;
    int m_taken = 0; ///< answers
};

struct NodeFigure {
    std::string title, value; ///< "-": unknown
    std::string detail;       ///< what a person rarely needs beside it
};
/// What is known of a node: its entry in the book and its watch's snapshot.
[[nodiscard]] std::vector<NodeFigure> nodeFigures(const NodeSnapshot &snapshot);

} // namespace lockstep::core
