// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ipc/run_folder.h"
#include "tests/agent/agent_process.h"

/// Several agents of one run on this machine, each with a LOCKSTEP_HOME of its own, as if each were another host.
class NodesRun {
public:
    struct Options {
        std::vector<int> devices = {2, 3}; ///< of each node
        Child::Environment environment;    ///< of all agents
        std::map<int, Child::Environment> own;
        double joinLimitS = 20, leaseS = 60;
        bool shared = false; ///< one home for all
        double hangAfterS = 0;
        int maxRestarts = 0;
    };
    explicit NodesRun(const TestHome &home, Options options);
    NodesRun(const NodesRun &) = delete;
    ~NodesRun(); ///< kills the agents that still live

    /// Asks agent 0, then the others with its answer (through `via` if given, a relay's address). The answer of the last asked.
    std::string startFirst();
    std::string startOther(int node, const std::string &via = {});
    void startAll();

    [[nodiscard]] const std::string &runId() const { return m_runId; }
    [[nodiscard]] const std::string &join() const { return m_join; }
    [[nodiscard]] const std::string &token() const { return m_token; }
    [[nodiscard]] std::string homeOf(int node) const;
    [[nodiscard]] lockstep::RunFolder folder(int node) const;
    [[nodiscard]] const std::string &socket() const { return m_socket; } ///< agent 0's
    [[nodiscard]] pid_t agent(int node) const { return m_agents.at(node); }
    [[nodiscard]] std::string request(int node, const std::string &join, const std::string &token) const;
    [[nodiscard]] std::string ask(int node, const std::string &request);
    [[nodiscard]] std::string log(int node) const {
        return contentsOf(folder(node).log(node));
    } ///< as its agent wrote it
    [[nodiscard]] std::string copy(int node) const { return contentsOf(folder(0).log(node)); } ///< as agent 0 has it
    /// pid of each rank by all nodes' `init` frames; waits until all have come.
    [[nodiscard]] std::map<int, pid_t> pids() const;
    [[nodiscard]] int rankCount() const;
    [[nodiscard]] std::vector<std::string> socketFiles() const; ///< of all nodes, that are left
    [[nodiscard]] bool allGone() const;                         ///< neither an agent nor a rank lives

private:
    const TestHome &m_home;
    Options m_options;
    std::string m_runId, m_join, m_token, m_socket;
    std::map<int, pid_t> m_agents;
};

/// A key's value in one line of JSON, without quotes; empty when absent.
[[nodiscard]] std::string valueOf(const std::string &json, const std::string &key);
/// The frames of a log's text.
[[nodiscard]] std::vector<lockstep::Frame> framesIn(const std::string &log);
/// The states of agent 0's links, one after another.
[[nodiscard]] std::vector<std::string> linksOf(const NodesRun &run);
[[nodiscard]] bool hasAlert(const std::string &log, const std::string &kind, const std::string &words = {});
/// How many lines are missing and how many came twice in lines of several nodes, each with its own seq.
struct LineCount {
    std::map<int, std::uint64_t> good;
    std::uint64_t missing = 0, doubled = 0, damaged = 0;
};
[[nodiscard]] LineCount countLines(const std::string &lines);
