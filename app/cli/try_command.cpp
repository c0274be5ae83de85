// SPDX-License-Identifier: MIT
// try: short runs with several values of one setting, and whether it matters.
#include <QTemporaryDir>

#include "commands.h"
#include "experiment/setting_trial.h"
#include "output.h"
#include "subject.h"

namespace lockstep::cli {

int tryCommand(TryOptions options) {
    const auto subject = subjectOf(options.what, options.run.set);
    if (!subject)
        return complain(subject.error());
    auto trial = core::settingTrialFrom(options.vary);
    if (!trial)
        return complain(trial.error());
    trial->steps = options.steps;
    const auto recipe = core::recipeOf(*trial, subject->config, subject->title);
    if (!recipe)
        return complain(recipe.error());
    const QTemporaryDir folder;
    options.run.recipe = folder.filePath(QStringLiteral("trial.json")).toStdString();
    if (const auto written = writeFile(options.run.recipe, core::toJson(*recipe)); !written)
        return complain(written.error());
    options.run.set.clear(); // they are in the recipe
    options.run.tried = trial->key;
    return runCommand(options.run);
}

} // namespace lockstep::cli
