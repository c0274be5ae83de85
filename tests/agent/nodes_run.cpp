// SPDX-License-Identifier: MIT
#include "tests/agent/nodes_run.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "ipc/log.h"

using namespace lockstep;

std::string valueOf(const std::string &json, const std::string &key) {
    const auto at = json.find("\"" + key + "\":");
    if (at == std::string::npos)
        return {};
    std::string text = json.substr(at + key.size() + 3);
    if (text.starts_with('"'))
        return text.substr(1, text.find('"', 1) - 1);
    return text.substr(0, text.find_first_of(",}"));
}

std::vector<Frame> framesIn(const std::string &log) {
    std::vector<Frame> frames;
    Decoder decoder;
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);)
        if (auto frame = decoder.decode(line))
            frames.push_back(std::move(*frame));
    return frames;
}

LineCount countLines(const std::string &text) {
    LineCount count;
    std::map<int, LineChecker> checkers;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const auto place = placeOfSealedLine(line);
        if (!place) {
            ++count.damaged;
            continue;
        }
        LineChecker &checker = checkers[place->node];
        if (checker.check(line) == LineChecker::Verdict::Good)
            ++count.good[place->node];
        else
            ++count.doubled;
    }
    for (const auto &[node, checker] : checkers)
        count.missing += checker.gaps().frames();
    return count;
}

NodesRun::NodesRun(const TestHome &home, Options options) : m_home(home), m_options(std::move(options)) {}

NodesRun::~NodesRun() {
    for (const auto &[node, pid] : m_agents)
        if (FileLock::isHeld(folder(node).lock(node)))
            ::kill(pid, SIGKILL);
    for (std::size_t node = 0; node < m_options.devices.size(); ++node) {
        ::setenv("LOCKSTEP_HOME", homeOf(static_cast<int>(node)).c_str(), 1);
        std::error_code ignored;
        if (const auto sockets = socketFolder())
            std::filesystem::remove_all(*sockets, ignored);
    }
    ::setenv("LOCKSTEP_HOME", m_home.path().c_str(), 1);
}

std::string NodesRun::homeOf(int node) const {
    return m_home.path() + "/" + (m_options.shared ? "all" : "node" + std::to_string(node));
}

RunFolder NodesRun::folder(int node) const {
    return {homeOf(node) + "/runs/" + m_runId};
}

std::string NodesRun::request(int node, const std::string &join, const std::string &token) const {
    LaunchRequest request;
    request.record.run = m_runId;
    request.node = node;
    request.join = join;
    request.token = token;
    request.joinLimitS = m_options.joinLimitS;
    request.leaseS = m_options.leaseS;
    RunConfig config;
    config.method = Method::Ddp;
    config.oversubscribe = true;
    config.hangAfter = m_options.hangAfterS;
    config.maxRestarts = m_options.maxRestarts;
    for (const int devices : m_options.devices) {
        NodePlace place;
        for (int i = 0; i < devices; ++i)
            place.devices.push_back(std::to_string(i));
        config.nodes.push_back(place);
    }
    config.batchSize = 32 * deviceCount(config);
    request.record.config = config;
    return toJson(request);
}

std::string NodesRun::ask(int node, const std::string &request) {
    Child::Environment environment = m_options.environment;
    for (const auto &[name, value] : m_options.own[node])
        environment[name] = value;
    environment["LOCKSTEP_HOME"] = homeOf(node);
    Child agent({agentBinary(), "serve"}, environment);
    agent.write(request + "\n");
    agent.closeInput();
    std::string answer = agent.readLine(std::chrono::seconds(60)).value_or("");
    agent.wait();
    if (const std::string pid = valueOf(answer, "pid"); !pid.empty())
        m_agents[node] = std::stoi(pid);
    return answer;
}

std::string NodesRun::startFirst() {
    std::string answer = ask(0, request(0, {}, {}));
    m_runId = valueOf(answer, "run");
    m_join = valueOf(answer, "join");
    m_token = valueOf(answer, "token");
    m_socket = valueOf(answer, "socket");
    return answer;
}

std::string NodesRun::startOther(int node, const std::string &via) {
    return ask(node, request(node, via.empty() ? m_join : via, m_token));
}

void NodesRun::startAll() {
    const std::string first = startFirst();
    REQUIRE_MESSAGE(valueOf(first, "type") == "ready", first);
    for (std::size_t node = 1; node < m_options.devices.size(); ++node) {
        const std::string answer = startOther(static_cast<int>(node));
        REQUIRE_MESSAGE(valueOf(answer, "type") == "ready", answer);
    }
}

int NodesRun::rankCount() const {
    int count = 0;
    for (const int devices : m_options.devices)
        count += devices;
    return count;
}

std::map<int, pid_t> NodesRun::pids() const {
    std::map<int, pid_t> pids;
    const bool all = eventually([&] {
        for (std::size_t node = 0; node < m_options.devices.size(); ++node)
            for (const Frame &frame : framesIn(log(static_cast<int>(node))))
                if (const auto *state = std::get_if<StateFrame>(&frame.body); state && state->pid && frame.rank)
                    pids[*frame.rank] = static_cast<pid_t>(*state->pid);
        return static_cast<int>(pids.size()) == rankCount();
    });
    REQUIRE_MESSAGE(all, pids.size());
    return pids;
}

std::vector<std::string> NodesRun::socketFiles() const {
    std::vector<std::string> left;
    for (std::size_t node = 0; node < m_options.devices.size(); ++node) {
        ::setenv("LOCKSTEP_HOME", homeOf(static_cast<int>(node)).c_str(), 1);
        std::error_code ignored;
        if (const auto sockets = socketFolder())
            for (const auto &entry : std::filesystem::directory_iterator(*sockets, ignored))
                left.push_back(entry.path());
    }
    ::setenv("LOCKSTEP_HOME", m_home.path().c_str(), 1);
    return left;
}

bool NodesRun::allGone() const {
    for (const auto &[node, pid] : m_agents)
        if (isAlive(pid))
            return false;
    return true;
}

std::vector<std::string> linksOf(const NodesRun &run) {
    std::vector<std::string> links;
    for (const LinkFrame &link : bodiesOf<LinkFrame>(framesIn(run.log(0))))
        if (links.empty() || links.back() != link.link)
            links.push_back(link.link);
    return links;
}

bool hasAlert(const std::string &log, const std::string &kind, const std::string &words) {
    const auto alerts = bodiesOf<AlertFrame>(framesIn(log));
    return std::any_of(alerts.begin(), alerts.end(), [&](const AlertFrame &alert) {
        return alert.kind == kind && alert.message.find(words) != std::string::npos;
    });
}
