// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <QProcessEnvironment>

#include "ipc/error.h"

namespace lockstep::core {

/// What precedes `lockstep-agent …` to run it on the run's machine: nothing for this one, `ssh … HOST`, or `srun …
/// --overlap` in a Slurm job.
struct CommandPrefix {
    std::vector<std::string> words;       ///< empty: this machine
    std::string host;                     ///< as given to prefixFor(); empty: this machine
    std::string agent = "lockstep-agent"; ///< the agent's path there
    bool shell = true;                    ///< a shell there reads what follows (ssh), so it is quoted
    [[nodiscard]] bool local() const { return words.empty(); }
    auto operator<=>(const CommandPrefix &) const = default;
};

/// The prefix for `host` (empty: this machine; "slurm:JOB/NODE": a node of a running job, JOB as squeue's %A). A name
/// that starts with '-' or holds anything but letters, digits and `._-@:[]%` is refused: it would reach a shell. So is an agent that
/// checkAgentPath() refuses.
/// LOCKSTEP_SSH_OPTIONS adds options (split at blanks, for tests).
[[nodiscard]] Result<CommandPrefix> prefixFor(std::string_view host, std::string_view remoteAgent = {});

/// A word that another machine may have said, in a list or a document of ours: of at most `most` bytes, without control characters.
[[nodiscard]] bool isPlainWord(std::string_view word, std::size_t most);
/// Refuses what is no path of a program: over 4 KiB, or with control characters.
[[nodiscard]] Result<void> checkAgentPath(std::string_view path);

/// The prefix for an origin.json (JSON text) of a run or a queue: its host and agent. The words are rebuilt: a file
/// must not name the command to run. Nothing for this machine, or if no host is named.
[[nodiscard]] std::optional<CommandPrefix> prefixOfOrigin(std::string_view originJson);

/// The full command: prefix, agent, arguments; quoted where a remote shell reads it.
[[nodiscard]] std::vector<std::string> agentCommand(const CommandPrefix &prefix,
                                                    const std::vector<std::string> &arguments);

/// The same command with ssh allowed to ask; by default it runs in batch mode.
[[nodiscard]] std::vector<std::string> mayAsk(std::vector<std::string> words);
/// This process's environment plus `more`.
[[nodiscard]] QProcessEnvironment environmentWith(const std::map<std::string, std::string> &more);

/// Quotes one word for a POSIX shell: 'it'"'"'s'.
[[nodiscard]] std::string quoteForShell(std::string_view word);

/// The local lockstep-agent: LOCKSTEP_AGENT, next to our own executable, then PATH.
[[nodiscard]] Result<std::string> findAgent();
/// The same for lockstepctl (LOCKSTEP_CTL), which the window starts.
[[nodiscard]] Result<std::string> findCtl();
/// The folder of the Python files that belong to an agent, installed or in the source tree; empty: none that other users
/// can't change.
[[nodiscard]] std::string scriptsBeside(const std::string &agent);
/// The folder of Lockstep's Python files, which the local agent substitutes for {scripts}: LOCKSTEP_SCRIPTS,
/// installed next to the agent, or the source tree's.
[[nodiscard]] Result<std::string> findScripts();

} // namespace lockstep::core
