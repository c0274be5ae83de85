// SPDX-License-Identifier: MIT
#include "ipc/command_template.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "ipc/thousands.h"

namespace lockstep {

namespace {

constexpr std::array<std::string_view, 3> ownNames = {"python", "scripts", "recipe_folder"};

bool isModuleName(std::string_view name) {
    return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    });
}

bool isOption(std::string_view word) {
    return word.starts_with("--") && word.size() > 2;
}

Error unpaired(std::string_view word) {
    return Error::badArgument("\"" + std::string(word.substr(0, 80)) + "\" has a brace without its partner",
                              "write {{ or }} for a brace");
}

Error wordTooLong() {
    return Error::badArgument("a word of the command is longer than the " + std::to_string(mostWordBytes) +
                                  " bytes that a program can be given",
                              "put it into a file that the script reads");
}

} // namespace

Result<std::string> fillPlaceholders(std::string_view word, const PlaceholderValue &value) {
    std::string out;
    for (std::size_t i = 0; i < word.size(); ++i) {
        const char c = word[i];
        const bool doubled = i + 1 < word.size() && word[i + 1] == c;
        if ((c == '{' || c == '}') && doubled) {
            out += c;
            ++i;
        } else if (c == '{') {
            const std::size_t end = word.find_first_of("{}", i + 1);
            if (end == std::string_view::npos || word[end] == '{')
                return fail(unpaired(word));
            auto filled = value(word.substr(i + 1, end - i - 1));
            if (!filled)
                return filled;
            if (out.size() + filled->size() > mostWordBytes)
                return fail(wordTooLong());
            out += *filled;
            i = end;
        } else if (c == '}') {
            return fail(unpaired(word));
        } else {
            out += c;
        }
    }
    if (out.size() > mostWordBytes)
        return fail(wordTooLong());
    return out;
}

std::optional<std::vector<std::string>> pythonModules(std::string_view name) {
    if (name == "python")
        return std::vector<std::string>{"torch"};
    if (!name.starts_with("python:"))
        return std::nullopt;
    name.remove_prefix(7);
    std::vector<std::string> modules;
    for (std::size_t from = 0; from <= name.size();) {
        const std::size_t comma = std::min(name.find(',', from), name.size());
        modules.emplace_back(name.substr(from, comma - from));
        if (!isModuleName(modules.back()))
            return std::nullopt;
        from = comma + 1;
    }
    return modules;
}

Result<std::string> configPlaceholder(const RunConfig &config, std::string_view name) {
    const FieldSpec *field = findField(name);
    if (field && !field->perProcess)
        return field->get(config);
    const std::string near = nearestKey(name);
    return fail(
        Error::badArgument("there is no placeholder {" + std::string(name.substr(0, 60)) + "}",
                           (near.empty() ? "" : "did you mean {" + near + "}? ") +
                               "a field's key, python, python:MODULE, scripts or recipe_folder may be used there"));
}

Result<void> checkPlaceholders(const std::vector<std::string> &command) {
    const RunConfig any;
    for (const std::string &word : command) {
        const auto filled = fillPlaceholders(word, [&](std::string_view name) -> Result<std::string> {
            const bool own = std::find(ownNames.begin(), ownNames.end(), name) != ownNames.end();
            return own || pythonModules(name) ? Result<std::string>(std::string()) : configPlaceholder(any, name);
        });
        if (!filled)
            return fail(filled.error());
    }
    return {};
}

Error commandTooLong() {
    return Error::badArgument("the command is longer than the " + std::to_string(mostCommandBytes) +
                                  " bytes that a program can be started with",
                              "put what is long into a file that the script reads");
}

Result<void> checkWordCount(const std::vector<std::string> &command) {
    if (command.size() <= mostCommandWords)
        return {};
    return fail(Error::badArgument("the command has " + thousands(std::int64_t(command.size())) +
                                       " words; a run's has " + thousands(std::int64_t(mostCommandWords)) + " at most",
                                   "put what is long into a file that the script reads"));
}

Result<std::size_t> filledBytes(const std::vector<std::string> &command, const RunConfig &config) {
    if (const auto words = checkWordCount(command); !words)
        return fail(words.error());
    std::size_t bytes = 0;
    for (const std::string &word : command) {
        std::size_t size = word.size();
        if (word.find('{') != std::string::npos)
            (void)fillPlaceholders(word, [&](std::string_view name) {
                Result<std::string> value =
                    findField(name) ? configPlaceholder(config, name) : Result<std::string>(std::string());
                size = size - name.size() - 2 + (value ? value->size() : 0);
                return value;
            });
        if (size > mostWordBytes)
            return fail(wordTooLong());
        bytes += size + 1;
        if (bytes > mostCommandBytes)
            return fail(commandTooLong());
    }
    return bytes;
}

std::vector<std::string> shownCommand(const std::vector<std::string> &command, const RunConfig &config,
                                      std::string_view scripts) {
    const auto value = [&](std::string_view name) -> Result<std::string> {
        if (pythonModules(name))
            return std::string("python3");
        if (findField(name))
            return configPlaceholder(config, name);
        return name == "scripts" ? std::string(scripts) : "{" + std::string(name) + "}";
    };
    std::vector<std::string> out;
    std::size_t bytes = 0;
    for (const std::string &word : command) {
        std::string filled = bytes > mostCommandBytes ? word : fillPlaceholders(word, value).value_or(word);
        bytes += filled.size();
        const bool placed = filled != word && word.ends_with('}');
        if (placed && filled.empty() && !out.empty() && isOption(out.back()))
            out.pop_back(); // --data-dir {data_dir}
        else if (!placed || !(filled.empty() || (isOption(filled) && filled.ends_with('='))))
            out.push_back(std::move(filled));
    }
    return out;
}

std::optional<std::size_t> pythonScript(const std::vector<std::string> &command) {
    if (command.empty())
        return std::nullopt;
    const std::string program = std::filesystem::path(command.front()).filename();
    if (!program.starts_with("python") && !command.front().starts_with("{python"))
        return std::nullopt;
    std::size_t follower = 0;
    for (std::size_t i = 1; i < command.size(); ++i) {
        const std::string &word = command[i];
        if (word == "-m" && i + 1 < command.size() && command[i + 1] == "lockstep")
            follower = ++i; // python -m lockstep --max-steps 9 train.py
        else if (word == "-m" || word == "-c" || word == "-")
            return std::nullopt;
        else if (word == "-W" || word == "-X" || (follower && word.starts_with("--max-")))
            ++i; // skip the option's value
        else if (!word.starts_with('-'))
            return i;
    }
    return std::nullopt;
}

std::string commandName(const std::vector<std::string> &command) {
    if (command.empty())
        return {};
    return std::filesystem::path(command[pythonScript(command).value_or(0)]).filename();
}

} // namespace lockstep
