// SPDX-License-Identifier: MIT
#include "nodes/torchrun_lines.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace lockstep::core {
namespace {

using Severity = Finding::Severity;

std::optional<int> wholeNumber(std::string_view text) {
    int value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

bool isAssignment(const std::string &word) {
    const auto equals = word.find('=');
    return equals != std::string::npos && equals > 0 &&
           word.substr(0, equals).find_first_not_of(
               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

bool endsCommand(const std::string &word) {
    return word == ";" || word == "&&" || word == "|" || word == "&";
}

std::string lastOfPath(const std::string &path) {
    return path.substr(path.rfind('/') + 1);
}

/// Index of the launcher's first flag; 0 if there is no launcher.
std::size_t launcherAt(const std::vector<std::string> &words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (lastOfPath(words[i]) == "torchrun")
            return i + 1;
        if (words[i] == "-m" && i + 1 < words.size() &&
            (words[i + 1] == "torch.distributed.run" || words[i + 1] == "torch.distributed.launch"))
            return i + 2;
        if (lastOfPath(words[i]) == "lockstep-agent" && i + 1 < words.size() && words[i + 1] == "run")
            return i + 2;
    }
    return 0;
}

Result<int> numberOf(const std::string &flag, const std::string &value) {
    if (const auto number = wholeNumber(value); number && *number >= 0)
        return *number;
    return fail(Error::badArgument("--" + flag + " " + value + " is not a number", "give a number", "--command"));
}

/// Reads one flag of the launcher; ignores flags that do not matter here.
Result<void> take(TorchrunLine &line, const std::string &flag, const std::string &value) {
    const auto into = [&](std::optional<int> &place, const std::string &text) -> Result<void> {
        const auto number = numberOf(flag, text);
        if (!number)
            return fail(number.error());
        place = *number;
        return {};
    };
    if (flag == "nnodes") // "2" or "1:2": the smallest and the largest number
        return into(line.nodes, value.substr(value.find(':') == std::string::npos ? 0 : value.find(':') + 1));
    if (flag == "nproc-per-node" && wholeNumber(value)) // also "gpu", "cpu", "auto"
        return into(line.processes, value);
    if (flag == "node-rank")
        return into(line.nodeRank, value);
    if (flag == "master-port")
        return into(line.masterPort, value);
    if (flag == "master-addr")
        line.masterAddress = value;
    if (flag == "rdzv-backend")
        line.rendezvousBackend = value;
    if (flag == "rdzv-id")
        line.rendezvousId = value;
    if (flag == "rdzv-endpoint") {
        const auto colon = value.rfind(':');
        line.masterAddress = value.substr(0, colon);
        if (colon != std::string::npos)
            return into(line.masterPort, value.substr(colon + 1));
    }
    return {};
}

/// torchrun's flags that take no value.
bool isSwitch(const std::string &flag) {
    static const std::set<std::string> switches = {"standalone", "no-python", "module", "run-path", "help", "use-env"};
    return switches.contains(flag);
}

std::string named(std::size_t index) {
    return "command " + std::to_string(index + 1);
}

std::string endpoint(const TorchrunLine &line) {
    return "--rdzv-endpoint=" + line.master() + ":" + std::to_string(line.port());
}

class Check {
public:
    Check(const std::vector<TorchrunLine> &lines, const DoctorSnapshot *snapshot)
        : m_lines(lines), m_snapshot(snapshot) {}

    std::vector<Finding> run() {
        if (m_lines.size() > 1) {
            masters();
            counts();
            ranks();
        }
        interfaces();
        sortFindings(m_findings);
        return std::move(m_findings);
    }

private:
    void say(std::string code, std::string where, std::string what, std::string fix,
             Severity severity = Severity::Error) {
        m_findings.push_back({std::move(code), severity, std::move(what), std::move(where), std::move(fix)});
    }

    [[nodiscard]] std::size_t first() const {
        for (std::size_t i = 0; i < m_lines.size(); ++i)
            if (m_lines[i].nodeRank.value_or(-1) == 0)
                return i;
        return 0;
    }

    /// "A in command 1, B in command 2" if the values differ, else empty.
    template <class Value> std::string differing(Value value) const {
        std::string values;
        bool differs = false;
        for (std::size_t i = 0; i < m_lines.size(); ++i) {
            values += (i > 0 ? ", " : "") + value(m_lines[i]) + " in " + named(i);
            differs = differs || value(m_lines[i]) != value(m_lines[0]);
        }
        return differs ? values : std::string();
    }

    void masters() {
        const TorchrunLine &zero = m_lines[first()];
        if (const std::string values = differing([](const TorchrunLine &line) { return line.master(); });
            !values.empty())
            say("master_differs", "all commands",
                "the commands name different masters: " + values + "; each would wait for a rank 0 elsewhere",
                zero.numbersNodes() ? "name the node with rank 0 in all: --master-addr=" + zero.master()
                                    : "name one in all: " + endpoint(zero));
        if (const std::string values = differing([](const TorchrunLine &line) { return std::to_string(line.port()); });
            !values.empty())
            say("port_differs", "all commands", "the commands name different ports: " + values,
                "name one in all: " +
                    (zero.numbersNodes() ? "--master-port=" + std::to_string(zero.port()) : endpoint(zero)));
        if (const std::string values = differing(
                [](const TorchrunLine &line) { return line.rendezvousId.empty() ? "none" : line.rendezvousId; });
            !values.empty())
            say("rendezvous_differs", "all commands", "the commands name different rendezvous: " + values,
                "name one in all: --rdzv-id=" + (zero.rendezvousId.empty() ? "1" : zero.rendezvousId));
        if (const std::string values = differing([](const TorchrunLine &line) { return line.rendezvousBackend; });
            !values.empty())
            say("rendezvous_differs", "all commands", "the commands name different rendezvous: " + values,
                "name one in all: --rdzv-backend=" + zero.rendezvousBackend);
        if (const std::string values = differing([](const TorchrunLine &line) { return line.script; }); !values.empty())
            say("script_differs", "all commands", "the commands run different programs: " + values,
                "run the same one everywhere", Severity::Warning);
        if (zero.master().starts_with("127.") || zero.master() == "localhost" || zero.master() == "::1")
            say("master_loopback", named(first()),
                "the master is " + zero.master() + ", which is each node's own loopback address",
                std::string("name an address of the first node that the others reach: ") +
                    (zero.numbersNodes() ? "--master-addr=ADDRESS" : "--rdzv-endpoint=ADDRESS:PORT"));
    }

    void counts() {
        for (std::size_t i = 0; i < m_lines.size(); ++i)
            if (const int nodes = m_lines[i].nodes.value_or(1); nodes != int(m_lines.size()))
                say("nodes_count", named(i),
                    named(i) + " waits for " + std::to_string(nodes) + " node" + (nodes == 1 ? "" : "s") +
                        ", but there are " + std::to_string(m_lines.size()) + " commands",
                    "--nnodes=" + std::to_string(m_lines.size()) + " in all");
    }

    void ranks() {
        if (!std::ranges::all_of(m_lines, [](const TorchrunLine &line) { return line.numbersNodes(); }))
            return;
        std::map<int, std::size_t> seen;
        for (std::size_t i = 0; i < m_lines.size(); ++i) {
            const int rank = m_lines[i].nodeRank.value_or(0);
            if (const auto [before, fresh] = seen.emplace(rank, i); !fresh)
                say("node_rank_twice", named(i),
                    named(before->second) + " and " + named(i) + " both have node rank " + std::to_string(rank),
                    "--node-rank=" + std::to_string(i) + " in " + named(i));
            else if (rank >= int(m_lines.size()))
                say("node_rank", named(i),
                    "node rank " + std::to_string(rank) + " is past the last of " + std::to_string(m_lines.size()) +
                        " nodes",
                    "count from 0: --node-rank=" + std::to_string(i));
        }
    }

    [[nodiscard]] const NodeSnapshot *nodeOf(std::size_t index) const {
        return m_snapshot && index < m_snapshot->nodes.size() && m_snapshot->nodes[index].usable()
                   ? &m_snapshot->nodes[index]
                   : nullptr;
    }

    void interfaces() {
        for (std::size_t i = 0; i < m_lines.size(); ++i)
            if (const NodeSnapshot *node = nodeOf(i)) {
                for (const char *variable : {"GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"})
                    if (const auto found = m_lines[i].environment.find(variable); found != m_lines[i].environment.end())
                        interface(i, *node, variable, found->second);
                if (m_lines[i].numbersNodes() && m_lines[i].nodeRank.value_or(0) == 0 && m_lines.size() > 1)
                    masterIsHere(i, *node);
                if (const int wanted = m_lines[i].processes.value_or(1);
                    !node->facts->gpus.empty() && wanted > int(node->facts->gpus.size()))
                    say("too_many_processes", named(i),
                        named(i) + " starts " + std::to_string(wanted) + " processes, but " + node->node.name +
                            " has " + std::to_string(node->facts->gpus.size()) + " GPUs",
                        "--nproc-per-node=" + std::to_string(node->facts->gpus.size()), Severity::Warning);
            }
    }

    void masterIsHere(std::size_t i, const NodeSnapshot &node) {
        const std::string master = m_lines[i].master();
        if (node.facts->host == master || node.node.name == master || node.node.host == master ||
            interfaceOf(*node.facts, master))
            return;
        for (const NodeSnapshot &other : m_snapshot->nodes)
            if (other.usable() && &other != &node &&
                (other.facts->host == master || other.node.name == master || interfaceOf(*other.facts, master)))
                return say("master_elsewhere", named(i),
                           named(i) + " has node rank 0 and runs on " + node.node.name + ", but the master it names, " +
                               master + ", is " + other.node.name,
                           "name " + node.node.name + "'s own address, or give " + other.node.name + " --node-rank=0");
    }

    void interface(std::size_t i, const NodeSnapshot &node, const std::string &variable, const std::string &value) {
        if (value.starts_with('^')) // NCCL: all but these
            return;
        const bool exact = variable == "GLOO_SOCKET_IFNAME" || value.starts_with('=');
        std::string names = value.starts_with('=') ? value.substr(1) : value, known;
        for (std::size_t from = 0; from <= names.size();) {
            const auto comma = std::min(names.find(',', from), names.size());
            const std::string name = names.substr(from, comma - from);
            from = comma + 1;
            for (const NodeFacts::Interface &one : node.facts->interfaces)
                if (exact ? one.name == name : one.name.starts_with(name))
                    return;
        }
        for (const NodeFacts::Interface &one : node.facts->interfaces)
            if (!one.loopback && !one.addresses.empty())
                known += (known.empty() ? "" : ", ") + one.name;
        const std::string better =
            m_snapshot->choices.size() > i && !m_snapshot->choices[i].interface.empty() ? m_snapshot->choices[i].interface : known;
        say("wrong_interface", named(i),
            variable + "=" + value + " in " + named(i) + ", but " + node.node.name + " has no such interface (it has " +
                known + ")",
            variable + "=" + better + " on " + node.node.name);
    }

    const std::vector<TorchrunLine> &m_lines;
    const DoctorSnapshot *m_snapshot;
    std::vector<Finding> m_findings;
};

} // namespace

std::vector<std::string> shellWords(std::string_view text) {
    std::vector<std::string> words;
    std::string word;
    bool inWord = false;
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quote) {
            if (c == quote)
                quote = 0;
            else if (quote == '"' && c == '\\' && i + 1 < text.size() &&
                     (text[i + 1] == '"' || text[i + 1] == '\\' || text[i + 1] == '$'))
                word += text[++i];
            else
                word += c;
        } else if (c == '\'' || c == '"') {
            quote = c;
            inWord = true;
        } else if (c == '\\' && i + 1 < text.size()) {
            if (text[++i] != '\n') {
                word += text[i];
                inWord = true;
            }
        } else if (c == ' ' || c == '\t' || c == '\n' || c == ';') {
            if (inWord)
                words.push_back(std::move(word));
            word.clear();
            inWord = false;
            if (c == ';' || c == '\n')
                words.emplace_back(";");
        } else {
            word += c;
            inWord = true;
        }
    }
    if (inWord)
        words.push_back(std::move(word));
    return words;
}

Result<TorchrunLine> readTorchrun(std::string_view text) {
    TorchrunLine line;
    line.text = text;
    const std::vector<std::string> words = shellWords(text);
    std::size_t at = launcherAt(words);
    if (at == 0)
        return fail(Error::badArgument("there is no torchrun in \"" + std::string(text.substr(0, 80)) + "\"",
                                       "give the whole command, e.g. torchrun --nnodes=2 --node-rank=0 … train.py",
                                       "--command"));
    for (std::size_t i = 0; i < at; ++i)
        if (isAssignment(words[i])) {
            const auto equals = words[i].find('=');
            line.environment[words[i].substr(0, equals)] = words[i].substr(equals + 1);
        }
    for (; at < words.size() && words[at].starts_with('-') && words[at] != "--"; ++at) {
        std::string flag =
            words[at].substr(words[at].find_first_not_of('-') == std::string::npos ? words[at].size()
                                                                                   : words[at].find_first_not_of('-'));
        std::string value;
        if (const auto equals = flag.find('='); equals != std::string::npos) {
            value = flag.substr(equals + 1);
            flag.erase(equals);
        }
        std::replace(flag.begin(), flag.end(), '_', '-');
        if (words[at].find('=') == std::string::npos && !isSwitch(flag) && at + 1 < words.size())
            value = words[++at];
        if (auto taken = take(line, flag, value); !taken)
            return fail(taken.error());
    }
    if (at < words.size() && words[at] == "--")
        ++at;
    if (at < words.size() && !endsCommand(words[at]))
        line.script = words[at];
    return line;
}

std::vector<Finding> torchrunFindings(const std::vector<TorchrunLine> &lines, const DoctorSnapshot *snapshot) {
    return Check(lines, snapshot).run();
}

} // namespace lockstep::core
