// SPDX-License-Identifier: MIT
#include "trainer/engine/arguments.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>

#include "ipc/nearest_word.h"

namespace lockstep::trainer {

namespace {

const char *headingOf(const FieldSpec &field) {
    switch (field.group) {
    case FieldGroup::Main:
        return "Main";
    case FieldGroup::Devices:
        return "Devices";
    case FieldGroup::Training:
        return "Training";
    case FieldGroup::Data:
        return "Data";
    case FieldGroup::Advanced:
        return "Advanced";
    case FieldGroup::Files:
        return "Files and frames";
    }
    return "Main";
}

std::string helpOf(const FieldSpec &field) {
    std::string help(field.help);
    if (!field.choices.empty()) {
        help += " One of:";
        for (const auto choice : field.choices)
            help += " " + std::string(choice);
        help += ".";
    }
    const std::string value = field.get(RunConfig());
    if (field.type == FieldType::Switch)
        help += value == "true" ? " [on; " + flagOf(field) + "=false turns it off]" : "";
    else if (!value.empty())
        help += " [" + value + "]";
    return help;
}

/// CLI11 takes "--flag=" for a flag without value; an empty value given as a separate argument is unambiguous.
std::vector<std::string> splitEmptyValues(const std::vector<std::string> &arguments) {
    std::vector<std::string> split;
    for (const auto &argument : arguments) {
        if (argument.starts_with("--") && argument.ends_with('=')) {
            split.push_back(argument.substr(0, argument.size() - 1));
            split.emplace_back();
        } else {
            split.push_back(argument);
        }
    }
    return split;
}

Error unknownArgument(const std::string &argument) {
    const std::string flag = argument.substr(0, argument.find('='));
    if (!flag.starts_with("--"))
        return Error::badArgument("\"" + flag + "\" is no flag of lockstep-trainer", "see --help");
    const FieldSpec *near = findField(nearestKey(flag.substr(2)));
    return Error::badArgument(flag + " is no flag of lockstep-trainer",
                              meantWord(near ? flagOf(*near) : std::string(), "", "see --help"));
}

} // namespace

tl::expected<Arguments, std::vector<Error>> readArguments(const std::vector<std::string> &arguments) {
    CLI::App app("Trains one rank: alone, or as one of the processes that lockstep-agent run, torchrun or srun starts.",
                 "lockstep-trainer");
    app.set_version_flag("--version", "lockstep-trainer " LOCKSTEP_VERSION);
    bool facts = false;
    app.add_flag("--facts", facts, "Print versions and libraries as JSON and exit");
    std::vector<std::int64_t> modelCosts;
    app.add_option(
           "--model-costs", modelCosts,
           "Print how many samples the data have, the bytes of the model's gradients and buffers, and what its layers "
           "take for so many samples, as JSON, and exit")
        ->delimiter(',')
        ->check(CLI::PositiveNumber)
        ->type_name("N,N");
    app.allow_extras();
    app.get_formatter()->column_width(36);
    std::map<const FieldSpec *, std::string> given;
    std::map<const FieldSpec *, CLI::Option *> options;
    for (const FieldSpec &field : runConfigFields()) {
        auto *option = app.add_option(flagOf(field), given[&field], helpOf(field))->group(headingOf(field));
        option->multi_option_policy(CLI::MultiOptionPolicy::Throw);
        if (field.type == FieldType::Switch)
            option->expected(0, 1);
        option->type_name(field.type == FieldType::Switch    ? ""
                          : field.type == FieldType::Integer ? "N"
                          : field.type == FieldType::Real    ? "F"
                                                             : "VALUE");
        options[&field] = option;
    }
    Arguments result;
    std::vector<std::string> reversed = splitEmptyValues(arguments);
    std::reverse(reversed.begin(), reversed.end()); // CLI11 takes them from the back
    try {
        app.parse(reversed);
    } catch (const CLI::CallForHelp &) {
        result.text = app.help();
        return result;
    } catch (const CLI::CallForVersion &) {
        result.text = "lockstep-trainer " LOCKSTEP_VERSION "\n";
        return result;
    } catch (const CLI::ParseError &error) {
        return tl::unexpected(std::vector{Error::badArgument(error.what(), "see --help")});
    }
    std::vector<Error> mistakes;
    for (const auto &extra : app.remaining())
        mistakes.push_back(unknownArgument(extra));
    for (const FieldSpec &field : runConfigFields()) {
        if (options[&field]->count() == 0)
            continue;
        result.given.push_back(&field);
        const std::string &value = given[&field];
        const bool bare = field.type == FieldType::Switch && value.empty();
        if (auto set = field.set(result.config, bare ? "true" : value); !set) {
            set.error().where = flagOf(field);
            mistakes.push_back(set.error());
        }
    }
    if (!mistakes.empty())
        return tl::unexpected(mistakes);
    result.facts = facts;
    result.modelCosts = modelCosts;
    return result;
}

} // namespace lockstep::trainer
