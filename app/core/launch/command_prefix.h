#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <QProcessEnvironment>

#include "ipc/error.h"

namespace lockstep::core {

/// What stands before `lockstep-agent …` so that it runs where the run is: nothing here, `ssh … HOST` elsewhere, `srun …
/// --overlap` in a job of Slurm's.
struct CommandPrefix {
    std::vector<std::string> words;       ///< empty: this machine
    std::string host;                     ///< as prefixFor() takes it; empty: this machine
    std::string agent = "lockstep-agent"; ///< the agent's path there
    bool shell = true;                    ///< what follows the words is read by a shell there (ssh), and quoted for it
    [[nodiscard]] bool local() const { return words.empty(); }
    bool operator==(const CommandPrefix &) const = default;
};

/// The prefix for `host` (empty: this machine; "slurm:JOB/NODE": a node of a running job, JOB as squeue's %A). A name that starts with '-' or holds anything but letters, digits and
/// `._-@:[]%` is refused: it would reach a shell. LOCKSTEP_SSH_OPTIONS adds options (split at blanks, for tests).
[[nodiscard]] Result<CommandPrefix> prefixFor(std::string_view host, std::string_view remoteAgent = {});

/// The same for what an origin.json names, of a run or a queue: its host and agent, text of JSON. The words are built anew: a file
/// must not name the command to run. Nothing for this machine, or where no host is named.
[[nodiscard]] std::optional<CommandPrefix> prefixOfOrigin(std::string_view originJson);

/// The full command: prefix, agent, arguments; the words that a remote shell will read are quoted.
[[nodiscard]] std::vector<std::string> agentCommand(const CommandPrefix &prefix,
                                                    const std::vector<std::string> &arguments);

/// The same command, with ssh allowed to ask; by itself a prefix's does not.
[[nodiscard]] std::vector<std::string> mayAsk(std::vector<std::string> words);
/// This process's variables and more.
[[nodiscard]] QProcessEnvironment environmentWith(const std::map<std::string, std::string> &more);

/// One word for a POSIX shell: 'it'"'"'s'.
[[nodiscard]] std::string quoteForShell(std::string_view word);

/// The local lockstep-agent: LOCKSTEP_AGENT, beside our own executable, then PATH.
[[nodiscard]] Result<std::string> findAgent();
/// The same for lockstepctl (LOCKSTEP_CTL), which the window starts.
[[nodiscard]] Result<std::string> findCtl();
/// The folder of the Python files that come with an agent, installed or in the source tree; empty: none there.
[[nodiscard]] std::string scriptsBeside(const std::string &agent);
/// The folder of the Python files that come with Lockstep, as the local agent fills it in for {scripts}: LOCKSTEP_SCRIPTS,
/// installed beside the agent, or the source tree's.
[[nodiscard]] Result<std::string> findScripts();

} // namespace lockstep::core
