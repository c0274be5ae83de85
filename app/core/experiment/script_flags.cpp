// SPDX-License-Identifier: MIT
#include "experiment/script_flags.h"

#include <algorithm>

namespace lockstep::core {
namespace {

std::vector<std::string> literalWords(const std::string &name, const std::string &value) {
    std::vector<std::string> words = flagWords(name, value);
    std::ranges::transform(words, words.begin(), literalWord);
    return words;
}

} // namespace

std::vector<std::string> flagWords(const std::string &name, const std::string &value) {
    const std::string word = (name.size() == 1 ? "-" : "--") + name;
    if (value == "off")
        return {};
    if (value == "on")
        return {word};
    return {word, value};
}

void addFlag(RunSpec &spec, const std::string &name, const std::string &value) {
    for (std::string &word : literalWords(name, value))
        spec.command.push_back(std::move(word));
    spec.claims.flags[name] = value;
}

std::optional<std::vector<std::string>> withFlags(std::vector<std::string> command, const Flags &from,
                                                  const Flags &to) {
    const std::vector<std::string> apart = flagsApart(from, to);
    for (const std::string &name : apart) {
        const auto had = from.find(name);
        const auto words = had == from.end() ? std::vector<std::string>() : literalWords(name, had->second);
        if (words.empty())
            continue;
        const auto found = std::find_end(command.begin(), command.end(), words.begin(), words.end());
        if (found == command.end())
            return std::nullopt;
        command.erase(found, found + std::ssize(words));
    }
    for (const std::string &name : apart)
        if (const auto wanted = to.find(name); wanted != to.end())
            for (std::string &word : literalWords(name, wanted->second))
                command.push_back(std::move(word));
    return command;
}

void eachFlagApart(const Flags &a, const Flags &b, const std::function<void(const std::string &name)> &use) {
    auto one = a.begin(), other = b.begin();
    while (one != a.end() || other != b.end()) {
        const int order = one == a.end() ? 1 : other == b.end() ? -1 : one->first.compare(other->first);
        if (order != 0 || one->second != other->second)
            use(order > 0 ? other->first : one->first);
        if (order <= 0)
            ++one;
        if (order >= 0)
            ++other;
    }
}

std::vector<std::string> flagsApart(const Flags &a, const Flags &b) {
    std::vector<std::string> out;
    eachFlagApart(a, b, [&](const std::string &name) { out.push_back(name); });
    return out;
}

std::string flagValue(const Flags &flags, const std::string &name) {
    const auto found = flags.find(name);
    return found == flags.end() ? "not given" : found->second;
}

std::string flagText(const Flags &flags, const std::string &name) {
    const auto found = flags.find(name);
    return found == flags.end() ? "no " + name : name + " " + found->second;
}

std::string literalWord(const std::string &word) {
    std::string out;
    for (const char c : word)
        out += c == '{' || c == '}' ? std::string(2, c) : std::string(1, c);
    return out;
}

} // namespace lockstep::core
