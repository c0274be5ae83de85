// SPDX-License-Identifier: MIT
#include <cstdio>
#include <iostream>
#include <iterator>
#include <sstream>

#include <nlohmann/json.hpp>

#include "trainer/agent/commands/agent_commands.h"

namespace lockstep::agent {

namespace {

std::vector<Error> one(Error error) {
    error.kind = ErrorKind::BadArgument;
    return {std::move(error)};
}

tl::expected<LaunchPlan, std::vector<Error>> planOf(const std::string &line, const Nvml *nvml) {
    auto request = launchRequestFromJson(line);
    if (!request)
        return tl::unexpected(one(request.error()));
    if (!request->record.config)
        return tl::unexpected(one(Error::badArgument("the launch request has no config")));
    return planFromConfig(std::move(request->record), nvml, request->node);
}

} // namespace

int checkCommand() {
    const auto nvml = Nvml::load();
    std::istringstream lines(std::string(std::istreambuf_iterator<char>(std::cin), {}));
    int code = 0;
    for (std::string line; std::getline(lines, line);) {
        const auto plan = planOf(line, nvml.get());
        nlohmann::ordered_json answer;
        answer["type"] = plan ? "fit" : "error";
        if (plan) {
            answer["command"] = plan->ranks.front().command;
            answer["python"] = plan->python;
        } else {
            std::string joined;
            for (const Error &error : plan.error()) {
                code = std::max(code, exitCodeOf(error));
                joined += (joined.empty() ? "" : "; ") + error.message();
            }
            std::fprintf(stderr, "%s\n", joined.c_str());
            answer["message"] = joined;
        }
        std::printf("%s\n", answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    }
    return code;
}

} // namespace lockstep::agent
