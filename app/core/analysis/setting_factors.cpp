#include "analysis/setting_factors.h"

#include <algorithm>
#include <array>

#include "launch/plan.h"

namespace lockstep::core {
namespace {

struct SettingGroup {
    const char *key;
    std::vector<std::string> keys;
};

/// A baseline has one device, so method and devices can't be changed one by one.
const std::vector<SettingGroup> &groups() {
    static const std::vector<SettingGroup> all = {
        {"method", {"method", "devices", "device", "cores_per_device", "backend", "dp_replicas", "interface", "nodes"}},
        {"workers", {"workers", "worker_cores"}},
        {"batch_size", {"batch_size", "batch_per_device"}},
        {"optimizer", {"optimizer", "lr", "lr_rule", "momentum", "weight_decay"}}};
    return all;
}

/// What tells nothing of a time: another seed, other files.
constexpr std::array<std::string_view, 5> timeless = {"seed", "init", "save_final", "data_dir", "resume"};

bool contains(const std::vector<std::string> &keys, std::string_view key) {
    return std::ranges::find(keys, key) != keys.end();
}

std::string valueOf(const RunConfig &config, std::string_view key) {
    return findField(key)->get(config);
}

std::string plural(std::int64_t count, const std::string &what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string spaced(std::string_view key) {
    std::string out(key);
    std::ranges::replace(out, '_', ' ');
    return out;
}

/// "4 workers", "batch loader", "fp64"
std::string shortText(const RunConfig &config, std::string_view key) {
    if (key == "method")
        return runTitle(config) + (config.device == "cpu" ? "" : " on " + config.device);
    if (key == "workers")
        return plural(config.workers, "worker") +
               (config.workerCores.empty() ? std::string() : " on cores " + config.workerCores);
    if (key == "batch_size")
        return config.batchPerDevice > 0 ? "batch " + std::to_string(config.batchPerDevice) + " a device"
                                         : "batch " + std::to_string(config.batchSize);
    if (key == "loader")
        return config.loader + " loader";
    if (key == "augment")
        return config.augment == "none" ? "no augmentation" : config.augment;
    if (key == "precision")
        return config.precision;
    if (key == "cuda_graph")
        return config.cudaGraph ? "CUDA graph" : "no CUDA graph";
    if (key == "epochs")
        return plural(config.epochs, "epoch");
    const std::string value = valueOf(config, key);
    return spaced(key) + " " + (value.empty() ? "unset" : value);
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
    if (out.ofRun == out.ofReference) // e.g. DDP ×2 on other devices, or over another backend
        for (const std::string &one : out.keys)
            if (valueOf(reference, one) != valueOf(run, one)) {
                out.ofRun += ", " + spaced(one) + " " + valueOf(run, one);
                out.ofReference += ", " + spaced(one) + " " + valueOf(reference, one);
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

bool bitOf(const std::vector<SettingFactor> &factors, std::uint32_t mask, std::string_view key) {
    for (std::size_t i = 0; i < factors.size(); ++i)
        if (factors[i].key == key)
            return (mask >> i & 1) != 0;
    return false;
}

} // namespace

bool isScript(const Cell &cell) {
    return !cell.command.empty() ||
           (!cell.runs.empty() && (cell.runs.front().script || !cell.runs.front().about.empty()));
}

bool isSameSetting(const RunConfig &a, const RunConfig &b) {
    if (a == b)
        return true;
    RunConfig other = b;
    other.seed = a.seed;
    other.init = a.init;
    other.saveFinal = a.saveFinal;
    other.dataDir = a.dataDir;
    other.resume = a.resume;
    other.frames = a.frames;
    other.summary = a.summary;
    other.initMethod = a.initMethod;
    return a == other;
}

std::vector<SettingFactor> factorsBetween(const Cell &reference, const Cell &run) {
    std::vector<SettingFactor> out;
    if (reference.runs.empty() || run.runs.empty() || !reference.runs.front().config || !run.runs.front().config)
        return out;
    const RunConfig &a = *reference.runs.front().config, &b = *run.runs.front().config;
    if (isScript(reference) != isScript(run)) {
        const auto word = [](const Cell &cell) { return isScript(cell) ? "the script" : "lockstep-trainer"; };
        out.push_back(
            {"program", {}, std::string(word(run)) + " instead of " + word(reference), word(run), word(reference)});
    }
    const auto differs = [&](const std::string &key) { return valueOf(a, key) != valueOf(b, key); };
    for (const SettingGroup &group : groups())
        if (std::ranges::any_of(group.keys, differs))
            out.push_back(factorOf(group.key, group.keys, a, b));
    for (const FieldSpec &field : runConfigFields()) {
        const std::string key(field.key);
        const bool grouped =
            std::ranges::any_of(groups(), [&](const SettingGroup &group) { return contains(group.keys, key); });
        if (!field.perProcess && !grouped && std::ranges::find(timeless, field.key) == timeless.end() && differs(key))
            out.push_back(factorOf(key.c_str(), {key}, a, b));
    }
    return out;
}

RunConfig configBetween(const Cell &reference, const Cell &run, const std::vector<SettingFactor> &factors,
                        std::uint32_t mask) {
    RunConfig out = *reference.runs.front().config;
    for (std::size_t i = 0; i < factors.size(); ++i)
        if (mask >> i & 1)
            for (const std::string &key : factors[i].keys)
                (void)findField(key)->set(out, valueOf(*run.runs.front().config, key)); // it came from a valid config
    return out;
}

bool scriptBetween(const Cell &reference, const Cell &run, const std::vector<SettingFactor> &factors,
                   std::uint32_t mask) {
    return bitOf(factors, mask, "program") ? isScript(run) : isScript(reference);
}

std::optional<SuggestedRun> controlBetween(const Cell &reference, const Cell &run,
                                           const std::vector<SettingFactor> &factors, std::uint32_t mask) {
    SuggestedRun out;
    out.config = configBetween(reference, run, factors, mask);
    if (!validate(out.config).empty())
        return std::nullopt;
    if (scriptBetween(reference, run, factors, mask)) {
        // How a script is told its method stands in the words of its command: take it from the cell whose method it is.
        const Cell &model = bitOf(factors, mask, "method") ? run : reference;
        if (!isScript(model) || model.command.empty())
            return std::nullopt;
        const RunConfig &from = *model.runs.front().config;
        for (const SettingFactor &factor : factors)
            if (factor.key != "method" && !asksFor(model.command, factor.keys, from, out.config))
                return std::nullopt;
        out.command = model.command;
    }
    out.name = runTitle(out.config) + (out.command.empty() ? "" : " (script)");
    for (std::size_t i = 0; i < factors.size(); ++i)
        if (factors[i].key != "method" && factors[i].key != "program")
            out.name += ", " + (mask >> i & 1 ? factors[i].ofRun : factors[i].ofReference);
    std::string changed, left;
    for (std::size_t i = 0; i < factors.size(); ++i) {
        std::string &text = mask >> i & 1 ? changed : left;
        text += (text.empty() ? "" : " and ") + factors[i].label;
    }
    out.why = "Shows what " + changed + " does by itself, without " + left + ".";
    return out;
}

std::string nameOf(const RunConfig &config, const std::vector<std::string> &tellingKeys) {
    std::string name = runTitle(config);
    for (const std::string &key : tellingKeys)
        if (key != "method" && key != "devices")
            name += ", " + shortText(config, key);
    return name;
}

std::optional<SuggestedRun> withChange(const Cell &cell, const std::vector<std::string> &changedKeys,
                                       const RunConfig &config) {
    const RunConfig &from = *cell.runs.front().config;
    if (isSameSetting(from, config) || !validate(config).empty())
        return std::nullopt;
    if (isScript(cell) && (cell.command.empty() || !asksFor(cell.command, changedKeys, from, config)))
        return std::nullopt;
    SuggestedRun out;
    out.name = nameOf(config, changedKeys) + (isScript(cell) ? " (script)" : "");
    out.config = config;
    out.command = cell.command;
    return out;
}

} // namespace lockstep::core
