// SPDX-License-Identifier: MIT
#include "experiment/study.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <numeric>

#include "experiment/recipe_reader.h"
#include "experiment/run_names.h"
#include "experiment/script_flags.h"
#include "ipc/thousands.h"

namespace lockstep::core {
namespace {

/// Flags that say how many loading workers a process has, written with "-" or "_".
bool isWorkers(std::string flag) {
    static constexpr std::array<std::string_view, 6> names = {
        "workers", "num_workers", "n_workers", "loader_workers", "dataloader_workers", "dataloader_num_workers"};
    std::ranges::replace(flag, '-', '_');
    return std::ranges::find(names, flag) != names.end();
}

/// The key of a run that a flag of this name is about, if there is one.
std::string keyOf(const std::string &flag) {
    std::string key = isWorkers(flag) ? "workers" : flag;
    std::ranges::replace(key, '-', '_');
    return key;
}

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> out;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t comma = std::min(text.find(',', from), text.size());
        out.emplace_back(text.substr(from, comma - from));
        from = comma + 1;
    }
    return out;
}

std::optional<int> wholeFrom(const std::string &text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

constexpr std::int64_t largestBatch = 1'000'000'000; ///< of a run's batch_size

/// A batch that any of the numbers of processes can share; more than largestBatch if none up to there can.
std::int64_t sharedBatch(const Study &study) {
    std::int64_t batch = RunConfig().batchSize;
    for (const int count : study.processes)
        if (batch <= largestBatch)
            batch = std::lcm(batch, std::int64_t(count));
    return batch;
}

using Values = std::vector<std::pair<std::string, std::string>>; ///< a value for each varied flag

RunSpec runOf(const Study &study, int processes, const Values &values, const std::vector<std::string> &limit,
              bool givesRank) {
    RunSpec spec;
    spec.config.method = processes > 1 || givesRank ? Method::Ddp : Method::Baseline;
    spec.devices = {DeviceRequest::Kind::Count, processes};
    spec.config.devices.clear();
    for (int i = 0; i < processes; ++i)
        spec.config.devices.push_back(std::to_string(i));
    spec.autoDevice = study.device == "auto";
    if (!spec.autoDevice)
        spec.config.device = study.device;
    spec.config.coresPerDevice = study.coresPerDevice;
    // It means nothing here, and must be one that any of the numbers of processes can share.
    spec.config.batchSize = sharedBatch(study);
    spec.name = runTitle(spec.config);
    spec.claims.known = placeKeys();
    spec.command = {study.python.empty() ? "{python}" : literalWord(study.python), "-m", "lockstep"};
    spec.command.insert(spec.command.end(), limit.begin(), limit.end());
    spec.command.push_back(literalWord(study.script));
    for (const std::string &argument : study.arguments)
        spec.command.push_back(literalWord(argument));
    for (const auto &[name, value] : values)
        if (const auto workers = isWorkers(name) ? wholeFrom(value) : std::nullopt) {
            spec.config.workers = *workers;
            spec.claims.known->emplace_back("workers");
            spec.command.push_back(flagWords(name, value).front());
            spec.command.emplace_back("{workers}");
        } else
            addFlag(spec, name, value);
    return spec;
}

/// Each combination; the first flag changes slowest.
std::vector<Values> combinations(const std::vector<VariedFlag> &varied) {
    std::vector<Values> out = {{}};
    for (const VariedFlag &flag : varied) {
        std::vector<Values> longer;
        for (const Values &before : out)
            for (const std::string &value : flag.values) {
                longer.push_back(before);
                longer.back().emplace_back(flag.name, value);
            }
        out = std::move(longer);
    }
    return out;
}

bool givesLoneRank(const StudyTrials &trials) {
    const auto lone = trials.find(1);
    return lone != trials.end() && lone->second.givesRank;
}

/// Samples of a step over all processes; 0: unknown.
std::int64_t samplesOf(int processes, const StudyTrials &trials) {
    const auto found = trials.find(processes);
    return found == trials.end() ? 0 : found->second.samples * processes;
}

} // namespace

const std::vector<std::string> &placeKeys() {
    static const std::vector<std::string> keys = {"method",  "devices", "device", "cores_per_device",
                                                  "threads", "backend", "nodes",  "interface"};
    return keys;
}

Result<VariedFlag> variedFlagFrom(std::string_view text) {
    const std::size_t equals = text.find('=');
    VariedFlag out;
    out.name = text.substr(0, equals);
    out.name.erase(0, std::min(out.name.find_first_not_of('-'), out.name.size()));
    if (equals != std::string_view::npos)
        out.values = split(text.substr(equals + 1));
    const auto wrong = [&](const std::string &what) {
        return fail(Error::badArgument(what + " in \"" + std::string(text.substr(0, 80)) + "\"",
                                       "write NAME=VALUE,VALUE, e.g. workers=0,2 or amp=off,on", "--vary"));
    };
    if (out.name.empty())
        return wrong("no flag is named");
    if (out.values.empty() || std::ranges::find(out.values, std::string()) != out.values.end())
        return wrong("a value is missing");
    for (auto value = out.values.begin(); value != out.values.end(); ++value)
        if (std::find(out.values.begin(), value, *value) != value)
            return wrong("the value " + *value + " is there twice");
    return out;
}

Result<void> addVaried(Study &study, std::string_view text) {
    auto flag = variedFlagFrom(text);
    if (!flag)
        return fail(flag.error());
    if (std::ranges::find(study.varied, flag->name, &VariedFlag::name) != study.varied.end())
        return fail(Error::badArgument(flag->name + " is varied twice", "give all its values at once", "--vary"));
    study.varied.push_back(std::move(*flag));
    return {};
}

Result<void> checkStudy(const Study &study) {
    std::size_t runs = study.processes.size();
    for (const VariedFlag &flag : study.varied)
        runs = std::min(runs * flag.values.size(), mostRecipeRuns + 1);
    if (runs > mostRecipeRuns)
        return fail(Error::badArgument("the study spans more than the " + std::to_string(mostRecipeRuns) +
                                           " runs that a recipe can have",
                                       "vary fewer flags, give fewer values, or make several studies", "--vary"));
    if (sharedBatch(study) > largestBatch)
        return fail(Error::badArgument("no batch of up to " + thousands(largestBatch) +
                                           " samples can be shared evenly by each of these numbers of processes",
                                       "give fewer of them, or numbers with common factors, e.g. 1,2,4", "--nproc"));
    return {};
}

Result<std::vector<int>> processCountsFrom(std::string_view text) {
    std::vector<int> out;
    for (const std::string &word : split(text)) {
        const auto count = wholeFrom(word);
        if (!count || *count < 1 || *count > 4096 || std::ranges::find(out, *count) != out.end())
            return fail(Error::badArgument("\"" + std::string(text.substr(0, 80)) + "\" are not numbers of processes",
                                           "write different whole numbers from 1, e.g. 1,2,4", "--nproc"));
        out.push_back(*count);
    }
    return out;
}

std::vector<RunSpec> trialsOf(const Study &study, bool givesRank) {
    const std::vector<std::string> oneStep = {"--max-steps", "1"};
    Values first;
    for (const VariedFlag &flag : study.varied)
        first.emplace_back(flag.name, flag.values.front());
    std::vector<RunSpec> out;
    for (const int processes : study.processes)
        out.push_back(runOf(study, processes, first, oneStep, givesRank));
    for (std::size_t flag = 0; flag < study.varied.size(); ++flag)
        for (std::size_t i = 1; i < study.varied[flag].values.size(); ++i) {
            Values values = first;
            values[flag].second = study.varied[flag].values[i];
            out.push_back(runOf(study, study.processes.front(), values, oneStep, givesRank));
        }
    for (RunSpec &spec : out)
        for (const auto &[name, value] : spec.claims.flags)
            spec.name += ", " + flagText(spec.claims.flags, name);
    return out;
}

Recipe recipeOf(const Study &study, const StudyTrials &trials) {
    Recipe recipe;
    const std::filesystem::path script = study.script;
    recipe.name = script.stem();
    recipe.title = script.filename();
    recipe.summary = "A study of " + study.script;
    recipe.question = "Is data parallelism worth it for " + recipe.title + ", and where does the time go?";
    recipe.repeats = study.repeats;
    std::vector<std::string> limit;
    const std::int64_t samples = samplesOf(study.processes.front(), trials);
    if (study.maxSteps && samples > 0) {
        limit = {"--max-samples", std::to_string(*study.maxSteps * samples)};
        recipe.notes.push_back("Each run ends after " + thousands(*study.maxSteps * samples) + " samples, " +
                               thousands(*study.maxSteps) + " steps of the first one.");
    } else if (study.maxSteps) {
        limit = {"--max-steps", std::to_string(*study.maxSteps)};
        recipe.notes.push_back("Each run ends after " + thousands(*study.maxSteps) +
                               " steps. How many samples a step has is unknown, so runs may do different work.");
    }
    for (std::string &note : scalingNotes(study, trials))
        recipe.notes.push_back(std::move(note));
    for (const int processes : study.processes)
        for (const Values &values : combinations(study.varied))
            recipe.runs.push_back(runOf(study, processes, values, limit, givesLoneRank(trials)));
    for (const VariedFlag &flag : study.varied)
        if (const std::string key = keyOf(flag.name); flag.values.size() > 1 && findField(key))
            recipe.varies.push_back(key);
    return recipe;
}

std::vector<std::string> scalingNotes(const Study &study, const StudyTrials &trials) {
    std::vector<std::string> out;
    const int first = study.processes.front();
    const std::int64_t of = samplesOf(first, trials);
    for (const int processes : study.processes) {
        const std::int64_t other = samplesOf(processes, trials);
        if (processes == first || of == 0 || other == 0)
            continue;
        const std::string each = thousands(other / processes), all = thousands(other);
        const bool one = processes == 1;
        const std::string some = std::to_string(processes) + " processes";
        if (other == of)
            out.push_back("Strong scaling: " + (one ? "one process takes" : some + " share") + " a step's " + all +
                          " samples.");
        else if (other / processes == of / first)
            out.push_back("Weak scaling: " + (one ? "one process" : "each of " + some) + " takes " + each +
                          " samples a step, as in the first run, so a step has " + all + " instead of " +
                          thousands(of) +
                          (study.maxSteps ? ". Times of equal samples are compared; what is learnt after them differs."
                                          : ". What is learnt after equal samples differs."));
        else
            out.push_back((one ? "One process takes " : some + " take ") + all + " samples a step, the first run " +
                          thousands(of) + ".");
    }
    return out;
}

} // namespace lockstep::core
