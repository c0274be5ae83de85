// SPDX-License-Identifier: MIT
#include <sys/random.h>

#include <cstdio>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "ipc/printable.h"
#include "trainer/agent/commands/agent_commands.h"
#include "trainer/agent/listen/listen_session.h"

namespace lockstep::agent {

namespace {

Result<std::string> tokenFrom(const std::string &file) {
    constexpr std::size_t longest = 4096;
    const auto text = realFileSystem().readAll(file);
    if (!text)
        return fail(Error::badArgument("the token can't be read: " + text.error().message(),
                                       "give a file that you can read", "--token-file"));
    const auto end = text->find_first_of("\r\n");
    const std::string token = text->substr(0, end);
    if (token.size() < 16 || token.size() > longest)
        return fail(Error::badArgument("the token in " + file + " has " + std::to_string(token.size()) + " characters",
                                       "write one of at least 16 on its first line", "--token-file"));
    return token;
}

std::string newToken() {
    unsigned char bytes[16];
    if (::getrandom(bytes, sizeof bytes, 0) != ssize_t(sizeof bytes))
        std::abort(); // cannot happen on Linux for so few bytes
    std::string token;
    for (const unsigned char byte : bytes) {
        constexpr char digits[] = "0123456789abcdef";
        token += digits[byte >> 4];
        token += digits[byte & 15];
    }
    return token;
}

void say(const nlohmann::ordered_json &line) {
    std::printf("%s\n", line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
    std::fflush(stdout);
}

} // namespace

int listenCommand(const ListenPlan &asked, const std::string &tokenFile) {
    ListenPlan plan = asked;
    const auto refuse = [](const Error &error) {
        std::fprintf(stderr, "%s\n", printable(error.message()).c_str());
        return exitCodeOf(error);
    };
    const bool tcp = plan.files.empty() && plan.socket.empty();
    if (tcp) {
        const auto token = tokenFile.empty() ? Result<std::string>(newToken()) : tokenFrom(tokenFile);
        if (!token)
            return refuse(token.error());
        plan.token = *token;
    }
    const std::string shown = tokenFile.empty() ? plan.token : std::string(); // a token from a file is not printed
    auto session = ListenSession::start(
        std::move(plan),
        {[&](const std::string &address) {
             nlohmann::ordered_json line = {{"type", "listening"}, {"address", address}};
             if (!shown.empty())
                 line["token"] = shown;
             say(line);
         },
         [](const std::string &run) {
             say({{"type", "ready"}, {"run", run}});
         },
         [](const std::string &sentence) { std::fprintf(stderr, "%s\n", printable(sentence).c_str()); }});
    if (!session)
        return refuse(session.error());
    const ListenEnding ending = (*session)->run();
    if (!ending.reason.empty())
        std::fprintf(stderr, "%s\n", printable(ending.reason).c_str());
    return ending.exitCode;
}

} // namespace lockstep::agent
