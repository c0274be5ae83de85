// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <nlohmann/json.hpp>

#include "trainer/agent/commands/agent_commands.h"
#include "trainer/agent/nodes/gathered_node_facts.h"

namespace lockstep::agent {

namespace {

using SteadyClock = std::chrono::steady_clock;

bool say(const std::string &line) {
    return std::fputs((line + "\n").c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
}

/// Answers `ping N` at once with this machine's clock; the caller derives the offset from the round trip.
bool answer(const std::string &line) {
    if (!line.starts_with("ping "))
        return true;
    const nlohmann::ordered_json pong = {{"type", "pong"}, {"ping", line.substr(5, 40)}, {"wall_us", nodeClockUs()}};
    return say(pong.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

/// Reads what stdin has. False at its end: the caller is gone, and nobody else would end this process.
bool takeInput(std::string &buffer) {
    char bytes[512];
    const ssize_t size = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (size <= 0)
        return false;
    buffer.append(bytes, static_cast<std::size_t>(size));
    for (auto end = buffer.find('\n'); end != std::string::npos; end = buffer.find('\n')) {
        if (!answer(buffer.substr(0, end)))
            return false;
        buffer.erase(0, end + 1);
    }
    return buffer.size() < 4096;
}

} // namespace

int nodeCommand(int coresPerDevice, std::optional<std::chrono::milliseconds> every) {
    NodeFacts facts(coresPerDevice);
    if (!say(facts.line()))
        return 1;
    std::string buffer;
    auto next = SteadyClock::now() + every.value_or(std::chrono::milliseconds(0));
    while (every) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - SteadyClock::now());
        pollfd input{STDIN_FILENO, POLLIN, 0};
        const int ready = ::poll(&input, 1, std::max(0, static_cast<int>(left.count()) + 1));
        if (ready > 0 && !takeInput(buffer))
            return 0;
        if (SteadyClock::now() < next)
            continue;
        if (!say(facts.line()))
            return 0;
        next = std::max(next + *every, SteadyClock::now()); // after a suspend, missed lines are skipped
    }
    return 0;
}

} // namespace lockstep::agent
