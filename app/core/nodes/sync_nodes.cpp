// SPDX-License-Identifier: MIT
// A sync of several nodes: all are surveyed before anything is copied, since they must agree on a line of PyTorch.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <sys/utsname.h>

#include "ipc/file_lock.h"
#include "ipc/run_folder.h"
#include "ipc/unix_socket.h"
#include "nodes/sync.h"
#include "nodes/sync_scripts.h"

namespace lockstep::core {
namespace {

/// A surveyed node. Its connection stays open, so ssh asks a person only once.
struct Met {
    NodeEntry entry;
    std::optional<FileLock> lock; ///< two syncs at once would write to one folder
    std::unique_ptr<NodeShell> shell;
    SyncSurvey survey;
};

bool isHere(const NodeEntry &entry) {
    return entry.how == "local";
}

Result<Met> meet(const NodeEntry &entry, const SshAnswers &answers, const std::stop_token &stop) {
    Met met;
    met.entry = entry;
    auto lock = takeLock(dataHome() + "/sync-" + entry.name + ".lock",
                         Error::failed("another sync of " + entry.name + " is running", "wait for it"));
    if (!lock)
        return fail(lock.error());
    met.lock = std::move(*lock);
    auto shell = NodeShell::open(entry, answers, stop);
    if (!shell)
        return fail(shell.error().error);
    met.shell = std::move(*shell);
    auto said = survey(*met.shell);
    if (!said)
        return fail(said.error());
    met.survey = std::move(*said);
    return met;
}

LineFacts factsOf(const Met &met, bool ownTorch) {
    LineFacts facts;
    facts.node = met.entry.name;
    facts.driver = met.survey.driver;
    facts.gpus = met.survey.cards;
    if (facts.gpus.empty() && met.survey.gpus)
        facts.gpus.resize(1); // some GPU: its driver may be known, its capability is not
    facts.here = isHere(met.entry);
    if (ownTorch)
        facts.ownTorch = met.survey.torchVersion;
    return facts;
}

class Sync {
public:
    Sync(const SyncOptions &options, const SyncEvents &events)
        : m_options(options), m_events(events), m_lines(localLines()) {}

    Result<LineChoice> choose(const std::vector<Met> &met) {
        std::vector<LineFacts> facts;
        for (const Met &one : met)
            facts.push_back(factsOf(one, m_options.ownTorch));
        if (!m_options.line.empty())
            return wished(facts);
        if (m_lines.size() == 1 && !lineOf(m_lines.front().version)) // a custom build against another version
            return LineChoice{{m_lines.front().version, {}, 0, {}},
                              "PyTorch " + m_lines.front().version + ": the only one the trainer here is built for"};
        return chooseLine(facts, versionsOf(m_lines));
    }

    Result<std::vector<SyncReport>> bring(Met &met, const LineChoice &choice) {
        const auto line = localLine(m_lines, choice.line.version);
        if (!line)
            return fail(line.error());
        if (isHere(met.entry))
            return settleHere(met.entry, *line, choice);
        const auto &trainer = trainerFor(*line, met.survey.gpus);
        if (!trainer)
            return fail(trainer.error());
        const auto programs = programBundle(*trainer);
        if (!programs)
            return fail(programs.error());
        utsname own{};
        ::uname(&own);
        if (auto fit = fits(met.survey, own.machine, neededGlibc(*programs), met.entry.name); !fit)
            return fail(fit.error());
        const TorchLine *theirs = lineOf(met.survey.torchVersion);
        const bool ownDoes = m_options.ownTorch && theirs && theirs == lineOf(trainer->torchVersion);
        auto bundles = bundlesFor(*trainer, met, ownDoes);
        if (!bundles)
            return fail(bundles.error());
        bundles->push_back(*programs); // last, so that a new agent never meets an old torch
        std::vector<SyncReport> reports;
        for (const SyncBundle &bundle : *bundles) {
            auto report = syncBundle(*met.shell, met.survey, bundle, m_events.progressed, m_options.way);
            if (!report)
                return fail(report.error());
            reports.push_back(std::move(*report));
        }
        (void)met.shell->script(scripts::preferTorch, {met.survey.home, bundleOfLine("torch", trainer->torchVersion),
                                                       ownDoes ? "no" : "yes"});
        const std::string torch =
            ownDoes ? met.survey.torchVersion + " in " + met.survey.torchFolder : trainer->torchVersion + " by sync";
        if (auto kept = keep(met.entry.name, reports.back().folder + "/bin/lockstep-agent", torch, choice); !kept)
            return fail(kept.error());
        return reports;
    }

private:
    /// Cached for all nodes of a kind: with CUDA's libraries the answer takes seconds.
    const Result<LocalTrainer> &trainerFor(const LocalLine &line, bool cuda) {
        const auto key = std::pair(line.trainer, cuda);
        auto found = m_trainers.find(key);
        if (found == m_trainers.end())
            found = m_trainers.emplace(key, localTrainer(line, cuda)).first;
        return found->second;
    }

    Result<LineChoice> wished(const std::vector<LineFacts> &facts) const {
        const TorchLine *line = lineOf(m_options.line);
        if (!line)
            return fail(Error::badArgument(
                "there is no line of PyTorch " + m_options.line,
                "choose " + torchLines().front().version + " or " + torchLines().back().version, "--line"));
        for (const LineFacts &node : facts)
            if (const std::string why = whyNot(*line, node); !why.empty())
                return fail(Error::badArgument(titleOf(*line) + " does not run on " + node.node + ", " + why,
                                               "omit --line to have one chosen", "--line"));
        return LineChoice{*line, titleOf(*line) + ": chosen by --line"};
    }

    Result<std::vector<SyncBundle>> bundlesFor(const LocalTrainer &trainer, const Met &met, bool ownDoes) const {
        std::vector<SyncBundle> bundles;
        if (!ownDoes) {
            auto torch = torchBundle(trainer, met.survey.gpus);
            if (!torch)
                return fail(torch.error());
            bundles.push_back(std::move(*torch));
        }
        for (const std::string &dataset : m_options.datasets) {
            auto data = dataBundle(dataset);
            if (!data)
                return fail(data.error());
            bundles.push_back(std::move(*data));
        }
        return bundles;
    }

    /// Copies nothing: records the agent next to the right trainer.
    static Result<std::vector<SyncReport>> settleHere(const NodeEntry &entry, const LocalLine &line,
                                                      const LineChoice &choice) {
        if (!line.torchHere)
            return fail(
                Error::badArgument("PyTorch " + line.version + " is not on this machine, which is one of the nodes",
                                   setUpCommand(line.version)));
        if (auto kept = keep(entry.name, line.agent, line.version + " here", choice); !kept)
            return fail(kept.error());
        return std::vector<SyncReport>();
    }

    static Result<void> keep(const std::string &name, const std::string &agent, const std::string &torch,
                             const LineChoice &choice) {
        return changeNodes([&](std::vector<NodeEntry> &nodes) -> Result<void> {
            for (NodeEntry &one : nodes)
                if (one.name == name) {
                    one.agent = agent;
                    one.torch = torch;
                    one.lineReason = choice.reason;
                }
            return {};
        });
    }

    const SyncOptions &m_options;
    const SyncEvents &m_events;
    std::vector<LocalLine> m_lines;
    std::map<std::pair<std::string, bool>, Result<LocalTrainer>> m_trainers; ///< by program, and whether with GPUs
};

} // namespace

void syncNodes(const std::vector<NodeEntry> &nodes, const SyncOptions &options, const SshAnswers &answers,
               const SyncEvents &events, std::stop_token stop) {
    const auto done = [&](const std::string &node, const Result<std::vector<SyncReport>> &result) {
        if (events.done)
            events.done(node, result);
    };
    if (std::all_of(nodes.begin(), nodes.end(), isHere)) {
        for (const NodeEntry &node : nodes)
            done(node.name, fail(Error::badArgument(node.name + " is this machine: nothing has to be copied",
                                                    "choose another node")));
        return;
    }
    std::vector<Met> met;
    for (const NodeEntry &node : nodes) {
        if (stop.stop_requested())
            return;
        auto one = meet(node, answers, stop);
        if (one)
            met.push_back(std::move(*one));
        else
            done(node.name, fail(one.error()));
    }
    if (met.empty())
        return;
    Sync sync(options, events);
    const auto choice = sync.choose(met);
    if (choice && events.chosen)
        events.chosen(*choice);
    for (Met &one : met) {
        if (stop.stop_requested())
            return;
        done(one.entry.name, choice ? sync.bring(one, *choice) : Result<std::vector<SyncReport>>(fail(choice.error())));
        one.shell.reset();
    }
}

} // namespace lockstep::core
