// SPDX-License-Identifier: MIT
#include "experiment/recipe_reader.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "experiment/place_limit.h"
#include "experiment/plan.h"
#include "experiment/published_reader.h"
#include "ipc/backend_rule.h"
#include "ipc/command_template.h"
#include "ipc/model_facts.h"
#include "ipc/nearest_word.h"
#include "ipc/printable.h"
#include "ipc/run_title.h"
#include "ipc/thousands.h"

namespace lockstep::core {
namespace {

std::vector<std::string> runKeys() {
    std::vector<std::string> keys = {"name", "note", "command", "flags", "known", "first_node"};
    for (const FieldSpec &field : runConfigFields())
        if (!field.perProcess)
            keys.emplace_back(field.key);
    return keys;
}

/// What the field's JSON value must look like.
bool fits(FieldType type, const JsonNode &value) {
    switch (type) {
    case FieldType::Integer:
        return value.kind == JsonNode::Kind::Integer;
    case FieldType::Real:
        return value.number();
    case FieldType::Switch:
        return value.kind == JsonNode::Kind::Switch;
    case FieldType::Text:
    case FieldType::Choice:
        return value.kind == JsonNode::Kind::Text;
    case FieldType::List:
        return value.kind == JsonNode::Kind::List;
    }
    return false;
}

std::string_view wanted(FieldType type) {
    switch (type) {
    case FieldType::Integer:
        return "a whole number";
    case FieldType::Real:
        return "a number";
    case FieldType::Switch:
        return "true or false";
    case FieldType::List:
        return "a list";
    default:
        return "a text";
    }
}

} // namespace

void RecipeReader::setDevices(RunSpec &spec, const JsonNode &value) {
    const auto wrong = [&](const std::string &what, const std::string &wayOut) {
        complain(value.line, "devices", what, wayOut);
    };
    if (value.kind == JsonNode::Kind::Text && value.text == "all") {
        spec.devices = {DeviceRequest::Kind::All, 1};
        return;
    }
    if (value.kind == JsonNode::Kind::Integer) {
        int count = 0;
        std::from_chars(value.text.data(), value.text.data() + value.text.size(), count);
        if (count < 1 || count > 4096)
            return wrong(value.text + " devices can't train anything", "use 1 or more, or \"all\"");
        spec.devices = {DeviceRequest::Kind::Count, count};
        spec.config.devices.clear();
        for (int i = 0; i < count; ++i)
            spec.config.devices.push_back(std::to_string(i));
        return;
    }
    if (value.kind != JsonNode::Kind::List)
        return wrong("must be a number of devices, a list of them or \"all\", not " + quotedNode(value),
                     "write 2, [0, 1] or \"all\"");
    if (value.items.empty())
        return wrong("0 devices can't train anything", "name at least one, or write \"all\"");
    std::string joined;
    for (const JsonNode &item : value.items) {
        if (item.kind != JsonNode::Kind::Text && item.kind != JsonNode::Kind::Integer)
            return wrong("a device must be a number or a GPU's UUID, not " + quotedNode(item), "write [0, 1]");
        joined += (joined.empty() ? "" : ",") + item.text;
    }
    if (const Result<void> set = findField("devices")->set(spec.config, joined); !set)
        return wrong(set.error().what, set.error().wayOut);
    spec.devices = {DeviceRequest::Kind::List, 1};
}

void RecipeReader::setKey(RunSpec &spec, const std::string &key, const JsonNode &value) {
    if (key == "first_node") {
        spec.firstNode = value.kind == JsonNode::Kind::Switch && value.text == "true";
        if (value.kind != JsonNode::Kind::Switch)
            complain(value.line, key, "must be true or false, not " + quotedNode(value), "for example true");
        return;
    }
    const FieldSpec *field = findField(key);
    if (!field || field->perProcess)
        return; // refuseUnknown() has reported it
    if (key == "devices")
        return setDevices(spec, value);
    if (key == "device") {
        spec.autoDevice = value.kind == JsonNode::Kind::Text && value.text == "auto";
        if (spec.autoDevice)
            return;
    }
    if (key == "worker_cores") {
        spec.autoWorkerCores = value.kind == JsonNode::Kind::Text && value.text == "auto";
        if (spec.autoWorkerCores)
            return;
    }
    if (value.kind == JsonNode::Kind::Null && field->get(RunConfig()).empty())
        return (void)field->set(spec.config, "");
    if (!fits(field->type, value))
        return complain(value.line, key, "must be " + std::string(wanted(field->type)) + ", not " + quotedNode(value),
                        field->type == FieldType::Choice
                            ? "use one of its values"
                            : "for example " +
                                  (field->get(RunConfig()).empty() ? std::string("\"\"") : field->get(RunConfig())));
    if (const Result<void> set = field->set(spec.config, value.text); !set) {
        const std::vector<std::string> choices(field->choices.begin(), field->choices.end());
        const std::string near = nearestWord(value.text, choices);
        complain(value.line, key, set.error().what,
                 near.empty() ? set.error().wayOut : "did you mean \"" + near + "\"? " + set.error().wayOut);
    }
}

void RecipeReader::setKeys(RunSpec &spec, const JsonNode &object) {
    for (const auto &[key, value] : object.members)
        if (key != "name" && key != "note" && key != "command" && key != "flags" && key != "known")
            setKey(spec, key, value);
}

void RecipeReader::readCommand(RunSpec &spec, const JsonNode &run) {
    const JsonNode *node = run.member("command");
    if (!node)
        return;
    spec.command = texts(run, "command");
    if (node->kind != JsonNode::Kind::List)
        return; // texts() has reported it
    if (spec.command.empty())
        complain(node->line, "command", "is empty", "write [\"{python}\", \"train.py\"], or remove it");
    constexpr std::size_t mostNamed = 20; // wrong words, of which there can be hundreds of thousands
    const std::size_t before = errorCount();
    for (std::size_t i = 0; i < spec.command.size() && i < node->items.size() && errorCount() < before + mostNamed; ++i)
        if (const Result<void> known = checkPlaceholders({spec.command[i]}); !known)
            complain(node->items[i].line, "command", known.error().what, known.error().wayOut);
}

/// What a recipe says of a script: its own flags, and the keys of the run that mean something to it.
void RecipeReader::readClaims(RunSpec &spec, const JsonNode &run) {
    if (const JsonNode *flags = run.member("flags"); flags && isObject(*flags, "flags")) {
        if (flags->members.size() > mostFlags)
            complain(flags->line, "flags",
                     "has " + thousands(std::int64_t(flags->members.size())) + " flags, and a run's at most " +
                         thousands(std::int64_t(mostFlags)),
                     "name those in which the runs differ");
        else
            for (const auto &[name, value] : flags->members)
                spec.claims.flags[name] = text(*flags, name);
    }
    if (const JsonNode *known = run.member("known")) {
        std::vector<std::string> &keys = spec.claims.known.emplace();
        for (const std::string &key : texts(run, "known"))
            if (!findField(key))
                complain(known->line, "known", "\"" + key + "\" is not a key of a run", keyInstead(key, "\""));
            else if (std::ranges::find(keys, key) == keys.end())
                keys.push_back(key);
    }
    if (!spec.claims.empty() && spec.command.empty())
        complain(run.line, run.member("flags") ? "flags" : "known", "is said of a script, and there is no command",
                 "add \"command\", or remove it");
}

void RecipeReader::readVaries(Recipe &recipe, const JsonNode &root) {
    recipe.varies = texts(root, "varies");
    for (const std::string &key : recipe.varies)
        if (!findField(key))
            complain(root.member("varies")->line, "varies", "\"" + key + "\" is not a key of a run",
                     keyInstead(key, "\""));
}

bool RecipeReader::hasRoom(const RunSpec &spec, int line) {
    if (m_full)
        return false;
    const Result<std::size_t> bytes = bytesOf(spec, spec.config);
    if (!bytes && errorCount() == 0) // else readCommand() may have reported it
        complain(line, "command", bytes.error().what, bytes.error().wayOut);
    else if (bytes && (m_bytes += *bytes) > mostRecipeBytes)
        complain(line, "",
                 "the commands and texts of its runs take more than the " + std::to_string(mostRecipeBytes) +
                     " bytes that a recipe can have",
                 "shorten them, or split it into several recipes");
    m_places += placeCount(spec.config);
    const Result<void> places = roomForPlaces(m_places, "the first " + std::to_string(++m_counted) + " runs");
    if (!places)
        complain(line, "", places.error().what, places.error().wayOut);
    m_full = !bytes || !places || m_bytes > mostRecipeBytes;
    return !m_full;
}

void RecipeReader::checkRun(const RunSpec &spec, const JsonNode &run, const JsonNode *base) {
    if (spec.devices.kind == DeviceRequest::Kind::All)
        return; // known only on the machine: expand() checks it
    RunConfig config = spec.config;
    if (spec.autoDevice)
        config.device = whyNotOnGpus(config).empty() ? "cuda" : "cpu";
    config.model = modelFrom("/dev/null", config.model); // where a relative path leads, expand() knows
    for (const Error &error : validate(config)) {
        const JsonNode *node = run.member(error.where);
        if (!node && base)
            node = base->member(error.where);
        complain(node ? node->line : run.line, error.where, error.what, error.wayOut);
    }
}

void RecipeReader::readRuns(Recipe &recipe, const JsonNode &root) {
    const JsonNode *base = root.member("base");
    RunSpec first;
    if (base && isObject(*base, "base")) {
        refuseUnknown(*base, runKeys());
        setKeys(first, *base);
        readCommand(first, *base);
        readClaims(first, *base);
    }
    const JsonNode *runs = root.member("runs"), *matrix = root.member("matrix");
    if (matrix)
        readMatrix(recipe, *matrix, first, base);
    if (matrix && !runs)
        return;
    if (!runs || runs->kind != JsonNode::Kind::List || runs->items.empty())
        return complain(runs ? runs->line : root.line, "runs", "there is no run", "list at least one");
    if (runs->items.size() > mostRecipeRuns)
        return complain(runs->line, "runs",
                        std::to_string(runs->items.size()) + " runs are more than the " +
                            std::to_string(mostRecipeRuns) + " that a recipe can have",
                        "split it into several recipes");
    for (const JsonNode &run : runs->items) {
        if (!isObject(run, "runs"))
            continue;
        refuseUnknown(run, runKeys());
        RunSpec spec = first;
        const std::size_t before = errorCount();
        spec.name = presentTitle(text(run, "name"));
        spec.note = text(run, "note");
        setKeys(spec, run);
        readCommand(spec, run);
        readClaims(spec, run);
        if (!hasRoom(spec, run.line))
            return;
        if (errorCount() == before)
            checkRun(spec, run, base);
        recipe.runs.push_back(std::move(spec));
    }
}

void RecipeReader::readQuick(Recipe &recipe, const JsonNode &quick) {
    if (!isObject(quick, "quick"))
        return;
    refuseUnknown(quick, {"train_samples", "test_samples", "epochs", "repeats"});
    QuickVariant variant;
    variant.trainSamples = whole(quick, "train_samples", 1, 1'000'000'000).value_or(variant.trainSamples);
    variant.testSamples = whole(quick, "test_samples", 1, 1'000'000'000).value_or(variant.testSamples);
    variant.epochs = int(whole(quick, "epochs", 1, 1'000'000).value_or(variant.epochs));
    variant.repeats = int(whole(quick, "repeats", 1, 1000).value_or(variant.repeats));
    recipe.quick = variant;
}

void RecipeReader::readGoal(Recipe &recipe, const JsonNode &root) {
    const JsonNode *width = root.member("until_width"), *most = root.member("at_most");
    if (most && !width)
        return complain(most->line, "at_most", "limits the rounds that until_width adds, and there is no until_width",
                        "add \"until_width\": \"5%\", or remove it");
    if (!width)
        return;
    const std::string asked = text(root, "until_width");
    if (asked.empty())
        return;
    const Result<double> share = widthFrom(asked);
    if (!share)
        return complain(width->line, "until_width", share.error().what, share.error().wayOut);
    WidthGoal &goal = recipe.untilWidth.emplace();
    goal.width = *share;
    goal.mostRounds = int(whole(root, "at_most", leastRoundsOfGoal, mostRoundsOfGoal).value_or(goal.mostRounds));
}

Recipe RecipeReader::read(const JsonNode &root) {
    Recipe recipe;
    if (!isObject(root, ""))
        return recipe;
    refuseUnknown(root, {"name", "title", "summary", "question", "base", "runs", "matrix", "reference", "repeats",
                         "until_width", "at_most", "order_seed", "varies", "quick", "published", "notes"});
    recipe.name = text(root, "name", true);
    recipe.title = cutText(text(root, "title"));
    if (recipe.title.empty())
        recipe.title = recipe.name;
    recipe.summary = text(root, "summary");
    recipe.question = text(root, "question");
    recipe.reference = presentTitle(text(root, "reference"));
    recipe.repeats = int(whole(root, "repeats", 1, 1000).value_or(1));
    if (const auto seed = whole(root, "order_seed", 0, std::numeric_limits<std::int64_t>::max()))
        recipe.orderSeed = std::uint64_t(*seed);
    readGoal(recipe, root);
    for (std::string &note : remarks(root, "notes"))
        recipe.notes.push_back(cutText(std::move(note)));
    readVaries(recipe, root);
    readRuns(recipe, root);
    if (const JsonNode *quick = root.member("quick"))
        readQuick(recipe, *quick);
    if (const JsonNode *published = root.member("published"))
        recipe.published = readPublished(*this, *published);
    return recipe;
}

} // namespace lockstep::core
