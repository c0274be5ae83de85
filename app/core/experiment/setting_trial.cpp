// SPDX-License-Identifier: MIT
#include "experiment/setting_trial.h"

#include <algorithm>
#include <array>

#include "experiment/study.h"

namespace lockstep::core {
namespace {

constexpr int epochsOfTrial = 3;
constexpr std::int64_t testSamplesOfTrial = 200; ///< evaluating is not what is tried

/// The same work for a few steps, with nothing written and hardly anything evaluated.
RunConfig shortened(const RunConfig &full, std::int64_t steps) {
    RunConfig config = withoutKeeping(full);
    const std::int64_t samples = steps * globalBatch(config);
    config.epochs = epochsOfTrial;
    config.trainSamples = config.trainSamples > 0 ? std::min(config.trainSamples, samples) : samples;
    if (const DataSetSpec *set = findDataSet(config.dataset); set && set->trainSamples > 0)
        config.trainSamples = std::min(config.trainSamples, set->trainSamples);
    if (config.testSamples == 0 || config.testSamples > testSamplesOfTrial)
        config.testSamples = testSamplesOfTrial;
    config.trace = 0;
    config.frames.clear();
    config.summary.clear();
    return config;
}

/// Then a time of one value and that of another are of different work.
bool changesTheWork(const FieldSpec &field) {
    const bool another = field.effect == FieldEffect::None || field.effect == FieldEffect::Length ||
                         field.effect == FieldEffect::Chance || field.effect == FieldEffect::Start ||
                         field.effect == FieldEffect::Beside;
    static constexpr std::array otherWork{"model",        "dataset",  "method",       "device",     "devices",
                                          "nodes",        "augment",  "dropout",      "max_tokens", "text_column",
                                          "label_column", "bert_dir", "oversubscribe"};
    return field.perProcess || another || std::ranges::find(otherWork, field.key) != otherWork.end();
}

} // namespace

Result<SettingTrial> settingTrialFrom(std::string_view text) {
    auto varied = variedFlagFrom(text);
    if (!varied)
        return fail(varied.error());
    SettingTrial trial;
    trial.key = std::move(varied->name);
    std::ranges::replace(trial.key, '-', '_');
    trial.values = std::move(varied->values);
    return trial;
}

std::vector<const FieldSpec *> triableSettings(const RunConfig &like) {
    std::vector<const FieldSpec *> out;
    for (const FieldSpec &field : runConfigFields())
        if (!changesTheWork(field) && appliesTo(field, like))
            out.push_back(&field);
    return out;
}

Result<Recipe> recipeOf(const SettingTrial &trial, const RunConfig &like, const std::string &title) {
    const FieldSpec *field = findField(trial.key);
    if (!field)
        return fail(
            Error::badArgument("there is no setting " + trial.key.substr(0, 60), keyInstead(trial.key), "--vary"));
    if (changesTheWork(*field))
        return fail(
            Error::badArgument(trial.key + " changes what a run does, so its time says nothing about the setting",
                               "try one that does the same work in another way, like bucket_mb or workers", "--vary"));
    const RunConfig base = shortened(like, trial.steps);
    if (!appliesTo(*field, base))
        return fail(Error::badArgument(
            trial.key + " changes nothing in a run by " + std::string(toString(like.method)) + " on " +
                std::to_string(deviceCount(like)) + (deviceCount(like) == 1 ? " device" : " devices"),
            "choose another setting, or another recipe", "--vary"));
    std::vector<RunConfig> configs{base};
    for (const std::string &value : trial.values) {
        RunConfig config = base;
        if (trial.key == "workers") // whose cores were chosen for another number of them
            config.workerCores.clear();
        if (auto set = field->set(config, value); !set)
            return fail(set.error());
        if (const auto mistakes = validate(config); !mistakes.empty())
            return fail(mistakes.front());
        if (config != base)
            configs.push_back(std::move(config));
    }
    if (configs.size() < 2)
        return fail(Error::badArgument("no other value of " + trial.key + " than " + field->get(like) + " is given",
                                       "give some, like --vary " + trial.key + "=VALUE,VALUE", "--vary"));
    Recipe recipe = recipeFromConfigs("Does " + trial.key + " matter: " + title, configs, trial.repeats);
    recipe.varies = {trial.key};
    return recipe;
}

} // namespace lockstep::core
