// SPDX-License-Identifier: MIT
#include "experiment/recipe.h"

#include <algorithm>

#include <nlohmann/json.hpp>
#include <QDir>
#include <QFile>

#include "experiment/claims_json_detail.h"
#include "experiment/plan.h"
#include "experiment/recipe_reader.h"
#include "experiment/recipe_shelf.h"
#include "experiment/script_flags.h"
#include "ipc/model_facts.h"
#include "ipc/nearest_word.h"

// A static library's resources must be initialised explicitly, by a macro outside any namespace.
static void takeRecipeResources() {
    Q_INIT_RESOURCE(recipes);
}

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

Json devicesToJson(const RunSpec &spec) {
    switch (spec.devices.kind) {
    case DeviceRequest::Kind::All:
        return "all";
    case DeviceRequest::Kind::Count:
        return spec.devices.count;
    case DeviceRequest::Kind::List:
        break;
    }
    return spec.config.devices;
}

Json runToJson(const RunSpec &spec) {
    Json json = Json::object();
    if (!spec.name.empty())
        json["name"] = spec.name;
    if (!spec.note.empty())
        json["note"] = spec.note;
    const Json whole = Json::parse(toJson(spec.config));
    const RunConfig defaults;
    for (const FieldSpec &field : runConfigFields()) {
        const std::string key(field.key);
        if (field.perProcess || key == "devices")
            continue;
        if (key == "method" || field.get(spec.config) != field.get(defaults))
            json[key] = whole.at(key);
    }
    if (spec.autoDevice)
        json["device"] = "auto";
    if (spec.autoWorkerCores)
        json["worker_cores"] = "auto";
    if (spec.firstNode)
        json["first_node"] = true;
    json["devices"] = devicesToJson(spec);
    if (!spec.command.empty())
        json["command"] = spec.command;
    putClaims(spec.claims, json);
    return json;
}

Json publishedRunToJson(const PublishedRun &run) {
    Json json = {{"name", run.name}, {"method", run.method}, {"devices", run.devices}};
    if (!run.backend.empty())
        json["backend"] = run.backend;
    if (run.workers)
        json["workers"] = *run.workers;
    if (run.timeS)
        json["time_s"] = *run.timeS;
    if (!run.timeKind.empty())
        json["time_kind"] = run.timeKind;
    if (run.printedSpeedUp)
        json["printed_speed_up"] = *run.printedSpeedUp;
    if (run.testAccuracy)
        json["test_accuracy"] = *run.testAccuracy;
    Json losses = Json::array(), durations = Json::array();
    for (const PublishedEpoch &epoch : run.epochs) {
        if (epoch.loss)
            losses.push_back(*epoch.loss);
        if (epoch.durationS)
            durations.push_back(*epoch.durationS);
    }
    if (!losses.empty())
        json["epoch_loss"] = losses;
    if (!durations.empty())
        json["epoch_duration_s"] = durations;
    if (!run.perClassAccuracy.empty())
        json["per_class_accuracy"] = run.perClassAccuracy;
    if (!run.utilisation.empty())
        json["utilisation"] = run.utilisation;
    if (!run.note.empty())
        json["note"] = run.note;
    return json;
}

Json publishedToJson(const Published &published) {
    Json json = {{"machine", published.machine}};
    if (!published.dataset.empty())
        json["dataset"] = published.dataset;
    if (!published.setting.empty())
        json["setting"] = published.setting;
    if (!published.reference.empty())
        json["reference"] = published.reference;
    json["runs"] = Json::array();
    for (const PublishedRun &run : published.runs)
        json["runs"].push_back(publishedRunToJson(run));
    json["contradictions"] = published.contradictions;
    return json;
}

constexpr auto resourceFolder = ":/recipes/";
constexpr qint64 largestRecipe = 4 << 20;

/// What a recipe in a file names, it names as seen from that file's folder.
Result<void> fillFolder(Recipe &recipe, const std::string &folder) {
    constexpr std::string_view placeholder = "{recipe_folder}";
    const std::string value = literalWord(folder); // a brace in a folder's name must not become a placeholder
    std::size_t bytes = 0;
    for (RunSpec &run : recipe.runs) {
        run.config.model = modelFrom(folder, run.config.model);
        for (std::string &word : run.command) {
            std::string filled;
            std::size_t from = 0;
            for (auto at = word.find(placeholder); at != std::string::npos; at = word.find(placeholder, from)) {
                filled.append(word, from, at - from).append(value);
                from = at + placeholder.size();
            }
            word = filled.append(word, from);
            if ((bytes += word.size()) > mostRecipeBytes)
                return fail(Error::badArgument("its commands take more than the " + std::to_string(mostRecipeBytes) +
                                                   " bytes that a recipe can have",
                                               "put it into a folder with a shorter path"));
        }
    }
    return {};
}

tl::expected<Recipe, std::vector<Error>> readFile(const QString &path, std::string_view shown) {
    QFile file(path);
    if (QFileInfo::exists(path) && !QFileInfo(path).isFile())
        return tl::unexpected(
            std::vector{Error::badArgument("is not a file", "give a recipe file", std::string(shown))});
    if (!file.open(QIODevice::ReadOnly))
        return tl::unexpected(
            std::vector{Error::badArgument("can't be read: " + file.errorString().toStdString(),
                                           "check the path and its permissions", std::string(shown))});
    if (file.size() > largestRecipe)
        return tl::unexpected(std::vector{
            Error::badArgument("is larger than a recipe can be (4 MiB)", "give a recipe file", std::string(shown))});
    const QByteArray bytes = file.readAll();
    auto recipe = recipeFromJson(std::string_view(bytes.data(), std::size_t(bytes.size())), shown);
    if (recipe && !path.startsWith(u':'))
        if (auto filled = fillFolder(*recipe, QFileInfo(path).absolutePath().toStdString()); !filled) {
            filled.error().where = shown;
            return tl::unexpected(std::vector{filled.error()});
        }
    return recipe;
}

} // namespace

tl::expected<Recipe, std::vector<Error>> recipeFromJson(std::string_view text, std::string_view file) {
    const Result<JsonNode> root = parseJsonLines(text);
    if (!root) {
        Error error = root.error();
        error.where = file.empty() ? "line " + error.where : std::string(file) + ":" + error.where;
        return tl::unexpected(std::vector{error});
    }
    RecipeReader reader(file);
    Recipe recipe = reader.read(*root);
    if (reader.errorCount() > 0)
        return tl::unexpected(reader.errors());
    return recipe;
}

std::string toJson(const Recipe &recipe) {
    Json json = {{"name", recipe.name}, {"title", recipe.title}};
    if (!recipe.summary.empty())
        json["summary"] = recipe.summary;
    if (!recipe.question.empty())
        json["question"] = recipe.question;
    json["runs"] = Json::array();
    for (const RunSpec &spec : recipe.runs)
        json["runs"].push_back(runToJson(spec));
    if (!recipe.reference.empty())
        json["reference"] = recipe.reference;
    json["repeats"] = recipe.repeats;
    if (recipe.orderSeed)
        json["order_seed"] = *recipe.orderSeed;
    if (recipe.untilWidth) {
        json["until_width"] = QString::number(recipe.untilWidth->width * 100, 'g', 12).toStdString() + "%";
        json["at_most"] = recipe.untilWidth->mostRounds;
    }
    if (!recipe.varies.empty())
        json["varies"] = recipe.varies;
    if (recipe.quick) {
        json["quick"] = {{"train_samples", recipe.quick->trainSamples},
                         {"epochs", recipe.quick->epochs},
                         {"repeats", recipe.quick->repeats}};
        if (recipe.quick->testSamples > 0)
            json["quick"]["test_samples"] = recipe.quick->testSamples;
    }
    if (recipe.published)
        json["published"] = publishedToJson(*recipe.published);
    json["notes"] = recipe.notes;
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<std::string> builtInRecipes() {
    takeRecipeResources();
    std::vector<std::string> names = {"lenet-dp-vs-ddp"}; // the main recipe comes first
    for (const QString &file : QDir(QString::fromLatin1(resourceFolder)).entryList({QStringLiteral("*.json")}))
        if (const std::string name = file.chopped(5).toStdString(); name != names.front())
            names.push_back(name);
    return names;
}

tl::expected<Recipe, std::vector<Error>> loadRecipe(std::string_view nameOrFile) {
    const std::string name(nameOrFile);
    const std::vector<std::string> known = builtInRecipes();
    if (std::find(known.begin(), known.end(), name) != known.end())
        return readFile(QString::fromLatin1(resourceFolder) + QString::fromStdString(name) + QStringLiteral(".json"),
                        name + ".json");
    const std::vector<std::string> saved = savedRecipes();
    if (std::find(saved.begin(), saved.end(), name) != saved.end())
        return readFile(QString::fromStdString(savedRecipePath(name)), name + ".json");
    const QString path = QString::fromStdString(name);
    if (QFile::exists(path) && !QFileInfo(path).isDir())
        return readFile(path, nameOrFile);
    const std::string near = nearestWord(name, known);
    std::string all;
    for (const std::string &one : known)
        all += (all.empty() ? "" : ", ") + one;
    return tl::unexpected(std::vector{
        Error::badArgument("there is no recipe and no file \"" + name.substr(0, 200) + "\"",
                           (near.empty() ? "" : "did you mean " + near + "? ") + ("the recipes are " + all))});
}

Recipe recipeFromConfigs(std::string title, const std::vector<RunConfig> &configs, int repeats) {
    Recipe recipe;
    recipe.name = "free-choice";
    recipe.title = title.empty() ? "Free choice" : std::move(title);
    recipe.repeats = repeats;
    recipe.quick = QuickVariant{};
    for (const RunConfig &config : configs)
        recipe.runs.push_back({{}, config, {}, false});
    return recipe;
}

std::string joinErrors(const std::vector<Error> &errors) {
    std::string text;
    for (const Error &error : errors)
        text += (text.empty() ? "" : "\n") + error.message();
    return text;
}

} // namespace lockstep::core
