#pragma once
#include <memory>
#include <vector>

#include <QObject>
#include <QProcess>
#include <QTimer>

#include "nodes/node_probe.h"

namespace lockstep::core {

/// A node, live: one connection that tells each second how it stands, made again when it breaks. Never blocks; event loop.
class NodeWatch : public QObject {
    Q_OBJECT
public:
    NodeWatch(NodeEntry node, SshAnswers answers, QObject *parent = nullptr);
    ~NodeWatch() override;
    void start();
    /// The newest look: trouble with its sentence, or facts and clock. Facts stay from before while the link is down.
    [[nodiscard]] const NodeLook &look() const { return m_look; }
    [[nodiscard]] bool live() const { return m_live; }
    static constexpr int againMs = 5000; ///< pause before another try

Q_SIGNALS:
    void changed(); ///< look() or live() is another one

private:
    void read();
    void over();
    void fail(const NodeError &error);
    NodeEntry m_node;
    SshAnswers m_answers;
    NodeLook m_look;
    std::unique_ptr<QProcess> m_process;
    QTimer m_again;
    std::int64_t m_pingedUs = 0;
    bool m_live = false;
};

/// One node as the book and the watches have them, for a list: what a page shows in a row.
[[nodiscard]] std::vector<std::pair<std::string, std::string>>
nodeFigures(const NodeLook &look); ///< title, value; "-" unknown

} // namespace lockstep::core
