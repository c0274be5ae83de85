// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <QByteArray>
#include <QProcess>

#include "base/command_prefix.h"
#include "ipc/unix_socket.h"
#include "nodes/node_book.h"
#include "nodes/ssh_questions.h"

namespace lockstep::core {

/// Why a node can't be used; the callers add the fix.
enum class NodeTrouble {
    None,
    Unreachable,
    NameUnknown,
    KeyRefused,
    HostKeyUnknown,
    HostKeyChanged,
    NoAgent,
    OldAgent
};

struct NodeError {
    NodeTrouble trouble = NodeTrouble::Unreachable;
    Error error;
};

/// The whole output of a command. `code` is 128 + signal when it was killed.
struct Said {
    int code = 0;
    std::string out, err;
    bool late = false; ///< it exceeded its time limit and was killed
};

/// Runs commands on one node over one connection. For ssh this is a master connection, which asks once and ends with
/// this object. Blocks: use it in the thread that opened it, never in the GUI thread. A stop ends every wait.
class NodeShell {
public:
    using Limit = std::chrono::milliseconds;

    /// Connects; may ask the person (SshAnswers), so it may take long.
    [[nodiscard]] static tl::expected<std::unique_ptr<NodeShell>, NodeError>
    open(const NodeEntry &node, const SshAnswers &answers, std::stop_token stop = {});
    ~NodeShell();
    NodeShell(const NodeShell &) = delete;
    NodeShell &operator=(const NodeShell &) = delete;

    /// A prefix that reaches the node through this connection. Valid while this object lives.
    [[nodiscard]] const CommandPrefix &prefix() const { return m_prefix; }
    [[nodiscard]] const NodeEntry &node() const { return m_node; }

    /// lockstep-agent with these arguments.
    [[nodiscard]] Said agent(const std::vector<std::string> &arguments, const std::string &input = {},
                             Limit limit = std::chrono::seconds(30));
    /// A POSIX shell script with $1, $2, … = `arguments`, which are passed safely quoted.
    [[nodiscard]] Said script(const std::string &text, const std::vector<std::string> &arguments = {},
                              const std::string &input = {}, Limit limit = std::chrono::seconds(60));
    /// Starts a command and leaves it running; the caller ends it by closing its stdin.
    [[nodiscard]] std::unique_ptr<QProcess> startAgent(const std::vector<std::string> &arguments);
    [[nodiscard]] std::unique_ptr<QProcess> startScript(const std::string &text,
                                                        const std::vector<std::string> &arguments);
    /// The next line of its stdout, without the newline; nothing at end of file, after the limit or after a stop.
    [[nodiscard]] std::optional<std::string> readLine(QProcess &process, Limit limit) const;
    [[nodiscard]] bool stopped() const { return m_stop.stop_requested(); }

private:
    NodeShell() = default;
    [[nodiscard]] tl::expected<void, NodeError> connectMaster(const SshAnswers &answers);
    [[nodiscard]] NodeError masterError() const; ///< why the master connection ended
    [[nodiscard]] std::vector<std::string> scriptWords(const std::string &text,
                                                       const std::vector<std::string> &arguments) const;
    [[nodiscard]] Said run(std::vector<std::string> words, const std::string &input, Limit limit);
    NodeEntry m_node;
    CommandPrefix m_prefix;
    std::stop_token m_stop;
    std::unique_ptr<QProcess> m_master;
    Fd m_folder;           ///< keeps the sockets' folder from being removed
    std::string m_control; ///< the master's socket
};

/// Turns ssh's output into an error with its fix. The host can write into that output, too, so nothing that it names is opened.
/// `known`: for a changed host key, the fingerprints that are known; empty: the error says how to look them up.
[[nodiscard]] NodeError sshError(const std::string &host, const std::string &said, const std::string &known = {});

/// "SHA256:…" of each key that this user's known_hosts files have for the host of `prefix`, joined by ", "; empty: none is found.
/// Blocks while ssh and ssh-keygen read their files, for some seconds at most.
[[nodiscard]] std::string knownFingerprints(const CommandPrefix &prefix);

} // namespace lockstep::core
