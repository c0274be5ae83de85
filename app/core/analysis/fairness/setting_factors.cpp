// SPDX-License-Identifier: MIT
#include "analysis/fairness/setting_factors.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "experiment/plan.h"
#include "experiment/run_names.h"

namespace lockstep::core {
namespace {

struct SettingGroup {
    const char *key;
    std::vector<std::string> keys;
};

/// A baseline has one device, so method and devices can't be changed one by one.
const std::vector<SettingGroup> &settingGroups() {
    static const std::vector<SettingGroup> all = {
        {"method", {"method", "devices", "device", "cores_per_device", "backend", "dp_replicas", "interface", "nodes"}},
        {"workers", {"workers", "worker_cores"}},
        {"batch_size", {"batch_size", "batch_per_device"}},
        {"optimizer", {"optimizer", "lr", "lr_rule", "momentum", "weight_decay", "decay_biases"}}};
    return all;
}

/// What does not move the time of an epoch: another seed, other files, epochs that an earlier run has done.
bool isTimeless(const FieldSpec &field) {
    using enum FieldEffect;
    return field.effect == None || field.effect == Chance || field.effect == Start;
}

bool contains(const std::vector<std::string> &keys, std::string_view key) {
    return std::ranges::find(keys, key) != keys.end();
}

std::string valueOf(const RunConfig &config, std::string_view key) {
    return findField(key)->get(config);
}

std::string spaced(std::string_view key) {
    std::string out(key);
    std::ranges::replace(out, '_', ' ');
    return out;
}

std::string valueOrUnset(const RunConfig &config, std::string_view key) {
    const std::string value = valueOf(config, key);
    return value.empty() ? "unset" : value;
}

/// Which cores loading workers have is a plan's choice; whether they have some is a setting.
bool differIn(const RunConfig &a, const RunConfig &b, const std::string &key) {
    const bool chosen = key == "worker_cores" && !a.workerCores.empty() && !b.workerCores.empty();
    return !chosen && valueOf(a, key) != valueOf(b, key);
}

/// "4 workers", "batch loader", "fp64"
std::string shortText(const RunConfig &config, std::string_view key) {
    if (key == "method")
        return runTitle(config) + (config.device == "cpu" ? "" : ", " + config.device);
    return settingText(config, key); // which cores loading workers have is no name's matter
}

std::string labelOf(const RunConfig &reference, const RunConfig &run, const SettingFactor &factor) {
    if (factor.key == "workers" && reference.workers != run.workers)
        return std::to_string(run.workers) + (run.workers == 1 ? " loading worker" : " loading workers") +
               " instead of " + std::to_string(reference.workers);
    if (factor.key == "optimizer") {
        std::string changed;
        for (const std::string &key : factor.keys)
            if (valueOf(reference, key) != valueOf(run, key))
                changed += (changed.empty() ? "" : ", ") + spaced(key) + " " + valueOf(run, key) + " instead of " +
                           valueOf(reference, key);
        return changed;
    }
    return factor.ofRun + " instead of " + factor.ofReference;
}

SettingFactor factorOf(const char *key, std::vector<std::string> keys, const RunConfig &reference,
                       const RunConfig &run) {
    SettingFactor out{key, std::move(keys), {}, shortText(run, key), shortText(reference, key)};
    if (out.ofRun == out.ofReference) // e.g. DDP on 2 devices on other devices, or over another backend
        for (const std::string &one : out.keys)
            if (valueOf(reference, one) != valueOf(run, one)) {
                out.ofRun += ", " + spaced(one) + " " + valueOrUnset(run, one);
                out.ofReference += ", " + spaced(one) + " " + valueOrUnset(reference, one);
            }
    out.label = labelOf(reference, run, out);
    return out;
}

/// A script changes with a key only where its command asks for it.
bool asksFor(const std::vector<std::string> &command, const std::vector<std::string> &keys, const RunConfig &from,
             const RunConfig &to) {
    return std::ranges::all_of(keys, [&](const std::string &key) {
        if (valueOf(from, key) == valueOf(to, key) || key == "worker_cores")
            return true; // cores are the agent's to bind
        return std::ranges::any_of(
            command, [&](const std::string &word) { return word.find("{" + key + "}") != std::string::npos; });
    });
}

/// Calls one of the three for each factor in which two differ whose configs are known, in the order of factorsBetween().
template <class Program, class Setting, class Flag>
void eachFactor(const RepeatGroup &reference, const RepeatGroup &run, Program program, Setting setting, Flag flag) {
    if (reference.runs.empty() || run.runs.empty() || !reference.runs.front().config || !run.runs.front().config)
        return;
    const RunConfig &a = *reference.runs.front().config, &b = *run.runs.front().config;
    if (isScript(reference) != isScript(run))
        program();
    const ScriptClaims &ofA = reference.runs.front().claims, &ofB = run.runs.front().claims;
    const auto differs = [&](const std::string &key) {
        return ofA.knows(key) && ofB.knows(key) && differIn(a, b, key);
    };
    for (const SettingGroup &one : settingGroups())
        if (std::ranges::any_of(one.keys, differs))
            setting(one.key, one.keys);
    for (const FieldSpec &field : runConfigFields()) {
        const std::string key(field.key);
        const bool grouped =
            std::ranges::any_of(settingGroups(), [&](const SettingGroup &one) { return contains(one.keys, key); });
        if (!grouped && !isTimeless(field) && differs(key))
            setting(key.c_str(), std::vector<std::string>{key});
    }
    eachFlagApart(ofA.flags, ofB.flags, flag);
}

bool bitOf(const std::vector<SettingFactor> &factors, std::uint32_t mask, std::string_view key) {
    for (std::size_t i = 0; i < factors.size(); ++i)
        if (factors[i].key == key)
            return (mask >> i & 1) != 0;
    return false;
}

} // namespace

bool isScript(const RepeatGroup &group) {
    return !group.command.empty() ||
           (!group.runs.empty() && (group.runs.front().script || !group.runs.front().about.empty()));
}

bool hasSetting(const RepeatGroup &group, const GroupSetting &setting) {
    return !group.runs.empty() && group.runs.front().config && isScript(group) == setting.script &&
           isSameSetting(*group.runs.front().config, setting.config) &&
           flagsApart(group.runs.front().claims.flags, setting.flags).empty();
}

bool isSameSetting(const RunConfig &a, const RunConfig &b) {
    if (a == b)
        return true;
    const auto differs = [&](const FieldSpec &field) {
        return !isTimeless(field) && effectiveValue(field, a) != effectiveValue(field, b);
    };
    // What is written differently mostly is in effect, too. Asked first, since what is in effect takes longer to find out.
    const auto differsAsWritten = [&](const FieldSpec &field) {
        return !isTimeless(field) && field.get(a) != field.get(b) && differs(field);
    };
    return std::ranges::none_of(runConfigFields(), differsAsWritten) &&
           std::ranges::none_of(runConfigFields(), differs);
}

std::string settingKey(const RunConfig &config) {
    std::string out;
    for (const FieldSpec &field : runConfigFields())
        if (!isTimeless(field))
            (out += effectiveValue(field, config)) += '\0';
    return out;
}

std::vector<SettingFactor> factorsBetween(const RepeatGroup &reference, const RepeatGroup &run) {
    std::vector<SettingFactor> out;
    const auto program = [&] {
        const auto word = [](const RepeatGroup &group) { return isScript(group) ? "the script" : "lockstep-trainer"; };
        out.push_back(
            {"program", {}, std::string(word(run)) + " instead of " + word(reference), word(run), word(reference)});
    };
    const auto setting = [&](const char *key, const std::vector<std::string> &keys) {
        out.push_back(factorOf(key, keys, *reference.runs.front().config, *run.runs.front().config));
    };
    const auto flag = [&](const std::string &name) {
        const std::string mine = flagText(reference.runs.front().claims.flags, name),
                          other = flagText(run.runs.front().claims.flags, name);
        out.push_back({"--" + name, {}, other + " instead of " + mine, other, mine, name});
    };
    eachFactor(reference, run, program, setting, flag);
    return out;
}

std::size_t countOfFactors(const RepeatGroup &reference, const RepeatGroup &run) {
    std::size_t count = 0;
    const auto one = [&](const auto &...) { ++count; };
    eachFactor(reference, run, one, one, one);
    return count;
}

GroupSetting settingBetween(const RepeatGroup &reference, const RepeatGroup &run,
                            const std::vector<SettingFactor> &factors, std::uint32_t mask) {
    const Flags &flags = run.runs.front().claims.flags;
    GroupSetting out{*reference.runs.front().config,
                     bitOf(factors, mask, "program") ? isScript(run) : isScript(reference),
                     reference.runs.front().claims.flags};
    for (std::size_t i = 0; i < factors.size(); ++i) {
        if (!(mask >> i & 1))
            continue;
        for (const std::string &key : factors[i].keys)
            (void)findField(key)->set(out.config,
                                      valueOf(*run.runs.front().config, key)); // it came from a valid config
        const std::string &flag = factors[i].flag;
        if (const auto value = flags.find(flag); value != flags.end())
            out.flags[flag] = value->second;
        else
            out.flags.erase(flag);
    }
    return out;
}

std::optional<SuggestedRun> controlBetween(const RepeatGroup &reference, const RepeatGroup &run,
                                           const std::vector<SettingFactor> &factors, std::uint32_t mask) {
    SuggestedRun out;
    GroupSetting setting = settingBetween(reference, run, factors, mask);
    out.config = std::move(setting.config);
    const bool bound = !out.config.workerCores.empty() && coresBesideDevices(reference, out.config);
    if (bound &&
        !fitWorkerCores(reference, out.config)) // cores that were free for loading in one may train in the control
        return std::nullopt;
    if (!validate(out.config, Descriptions::Leave).empty())
        return std::nullopt;
    for (const RepeatGroup *group : {&reference, &run})
        if (hasSetting(*group, {out.config, setting.script, setting.flags}))
            return std::nullopt; // what is changed means nothing beside what is left: micro-batches without a pipeline
    if (setting.script) {
        // A script gets its method by its command's words: take them from the group that has this method.
        const RepeatGroup &model = bitOf(factors, mask, "method") ? run : reference;
        if (!isScript(model) || model.command.empty())
            return std::nullopt;
        const RunConfig &from = *model.runs.front().config;
        for (const SettingFactor &factor : factors)
            if (factor.key != "method" && !asksFor(model.command, factor.keys, from, out.config))
                return std::nullopt;
        auto command = withFlags(model.command, model.runs.front().claims.flags, setting.flags);
        if (!command)
            return std::nullopt;
        out.command = std::move(*command);
        out.claims = {std::move(setting.flags), model.runs.front().claims.known};
    }
    out.name = runTitle(out.config) + (out.command.empty() ? "" : " (script)");
    for (std::size_t i = 0; i < factors.size(); ++i)
        if (factors[i].key != "method" && factors[i].key != "program")
            out.name += ", " + (mask >> i & 1 ? factors[i].ofRun : factors[i].ofReference);
    std::string changed, left;
    int changes = 0;
    for (std::size_t i = 0; i < factors.size(); ++i) {
        const bool made = mask >> i & 1;
        std::string &text = made ? changed : left;
        text += (text.empty() ? "" : " and ") + (made ? factors[i].ofRun : factors[i].ofReference);
        changes += int(made);
    }
    out.why = "Shows " + changed + (changes > 1 ? " together" : " alone") + ", with " + left + ".";
    return out;
}

bool takesChange(const RepeatGroup &group, const std::vector<std::string> &changedKeys, const RunConfig &config) {
    return !isScript(group) ||
           (!group.command.empty() && asksFor(group.command, changedKeys, *group.runs.front().config, config));
}

std::optional<SuggestedRun> withChange(const RepeatGroup &group, const std::vector<std::string> &changedKeys,
                                       const RunConfig &config, const RepeatGroup *reference) {
    if (isSameSetting(*group.runs.front().config, config) || !validate(config, Descriptions::Leave).empty() ||
        !takesChange(group, changedKeys, config))
        return std::nullopt;
    SuggestedRun out{runTitle(config), {}, config, group.command, group.runs.front().claims};
    for (const std::string &key : changedKeys)
        if (key != "method" && key != "devices")
            out.name += ", " + shortText(config, key);
    if (reference) {
        RepeatGroup made{{}, {RunOutcome()}, false, group.command};
        made.runs.front().config = config;
        made.runs.front().claims = group.runs.front().claims;
        for (const SettingFactor &factor : factorsBetween(*reference, made))
            if (factor.key != "method" && factor.key != "program" &&
                std::ranges::none_of(factor.keys, [&](const auto &key) { return contains(changedKeys, key); }))
                out.name += ", " + factor.ofRun;
    }
    out.name += isScript(group) ? " (script)" : "";
    return out;
}

std::optional<CoreList> coresBesideDevices(const RepeatGroup &group, const RunConfig &config) {
    if (!config.nodes.empty() || group.runs.empty() || group.runs.front().conditions.machines.size() != 1)
        return std::nullopt;
    const std::string &allowed = group.runs.front().conditions.machines.front().allowedCores;
    auto cores = parseCores(allowed);
    if (allowed.empty() || !cores)
        return std::nullopt;
    return coresBesideDevices(config, *cores);
}

bool fitWorkerCores(const RepeatGroup &group, RunConfig &config) {
    config.workerCores.clear();
    auto left = coresBesideDevices(group, config);
    if (config.workers == 0 || !left)
        return true;
    const std::size_t wanted = std::size_t(config.workers) * std::size_t(processCount(config));
    if (left->size() < wanted)
        return false;
    left->resize(wanted);
    config.workerCores = formatCores(*left);
    return true;
}

} // namespace lockstep::core
