// SPDX-License-Identifier: MIT
#pragma once
// What a test asks of a loaded trainer, one packet each: start a process with these arguments and this environment.
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::trainer::test {

/// The loaded trainer's end of the socket: a number in its environment.
inline constexpr const char *requestSocketVariable = "LOADED_TRAINER_SOCKET";

struct StartRequest {
    std::string out, err; ///< files that stdout and stderr go to, overwritten
    std::vector<std::string> arguments, environment;

    /// The texts one after another, each ended by a zero byte: the two files, the number of arguments, these, the environment.
    [[nodiscard]] std::string packet() const {
        std::string bytes;
        const auto add = [&bytes](const std::string &text) { bytes.append(text.c_str(), text.size() + 1); };
        add(out);
        add(err);
        add(std::to_string(arguments.size()));
        for (const std::string &argument : arguments)
            add(argument);
        for (const std::string &setting : environment)
            add(setting);
        return bytes;
    }

    [[nodiscard]] static StartRequest read(std::string_view packet) {
        std::vector<std::string> texts;
        for (std::size_t end = 0; (end = packet.find('\0')) != packet.npos; packet.remove_prefix(end + 1))
            texts.emplace_back(packet.substr(0, end));
        const auto arguments = texts.begin() + 3;
        const auto environment = arguments + std::stol(texts.at(2));
        return {texts.at(0), texts.at(1), {arguments, environment}, {environment, texts.end()}};
    }
};

/// As execve() and posix_spawn() take them: they point into the texts.
inline std::vector<char *> pointersTo(std::vector<std::string> &texts) {
    std::vector<char *> list;
    for (auto &text : texts)
        list.push_back(text.data());
    list.push_back(nullptr);
    return list;
}

} // namespace lockstep::trainer::test
