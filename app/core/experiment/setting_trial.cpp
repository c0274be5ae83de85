// SPDX-License-Identifier: MIT
#include "experiment/setting_trial.h"

#include <algorithm>

#include "experiment/study.h"

namespace lockstep::core {
namespace {

constexpr int epochsOfTrial = 3;

/// The same work for a few steps, with nothing written and hardly anything evaluated.
RunConfig shortened(RunConfig config, std::int64_t steps) {
    const std::int64_t samples = steps * globalBatch(config);
    config.epochs = epochsOfTrial;
    config.trainSamples = config.trainSamples > 0 ? std::min(config.trainSamples, samples) : samples;
    config.testSamples = 1;
    config.trace = 0;
    config.resume = false;
    config.onNonfinite = RunConfig().onNonfinite; // a rollback needs checkpoints
    config.checkpointDir.clear();
    config.saveFinal.clear();
    config.frames.clear();
    config.summary.clear();
    return config;
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

Result<Recipe> recipeOf(const SettingTrial &trial, const RunConfig &like, const std::string &title) {
    const FieldSpec *field = findField(trial.key);
    if (!field || field->perProcess)
        return fail(Error::badArgument("there is no setting " + trial.key.substr(0, 60),
                                       "did you mean " + std::string(nearestKey(trial.key)) + "?", "--vary"));
    const RunConfig base = shortened(like, trial.steps);
    if (!appliesTo(*field, base))
        return fail(Error::badArgument(trial.key + " changes nothing in a run by " + std::string(toString(like.method)),
                                       "choose another setting, or another method with --set method=…", "--vary"));
    std::vector<RunConfig> configs{base};
    for (const std::string &value : trial.values) {
        RunConfig config = base;
        if (auto set = field->set(config, value); !set)
            return fail(set.error());
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
