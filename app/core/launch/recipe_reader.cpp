#include "launch/recipe_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "ipc/command_template.h"

namespace lockstep::core {
namespace {

constexpr double noLimit = 1e300;

std::vector<std::string> runKeys() {
    std::vector<std::string> keys = {"name", "note", "command", "first_node"};
    for (const FieldSpec &field : runConfigFields())
        if (!field.perProcess)
            keys.emplace_back(field.key);
    return keys;
}

std::string quoted(const JsonNode &value) {
    switch (value.kind) {
    case JsonNode::Kind::Text:
        return "\"" + value.text.substr(0, 60) + "\"";
    case JsonNode::Kind::List:
    case JsonNode::Kind::Object:
        return std::string(toString(value.kind));
    default:
        return value.text;
    }
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

void RecipeReader::complain(int line, std::string_view key, std::string what, std::string wayOut) {
    std::string where = m_file.empty() ? "line " + std::to_string(line) : m_file + ":" + std::to_string(line);
    if (!key.empty())
        where += ": " + std::string(key);
    m_errors.push_back(Error::badArgument(std::move(what), std::move(wayOut), std::move(where)));
}

void RecipeReader::refuseUnknown(const JsonNode &object, const std::vector<std::string> &known) {
    std::vector<std::string> seen;
    for (const auto &[key, value] : object.members) {
        if (std::find(seen.begin(), seen.end(), key) != seen.end())
            complain(value.line, key, "the key stands there twice", "leave one of them out");
        seen.push_back(key);
        if (std::find(known.begin(), known.end(), key) != known.end())
            continue;
        const std::string near = nearestWord(key, known);
        complain(value.line, key, "unknown key", near.empty() ? "remove it" : "did you mean \"" + near + "\"?");
    }
}

bool RecipeReader::isObject(const JsonNode &node, std::string_view key) {
    if (node.kind == JsonNode::Kind::Object)
        return true;
    complain(node.line, key, "must be an object, not " + quoted(node), "write {…}");
    return false;
}

std::string RecipeReader::text(const JsonNode &object, std::string_view key, bool required) {
    const JsonNode *node = object.member(key);
    if (!node) {
        if (required)
            complain(object.line, key, "is missing", "add it");
        return {};
    }
    if (node->kind != JsonNode::Kind::Text) {
        complain(node->line, key, "must be a text, not " + quoted(*node), "put it in quotes");
        return {};
    }
    if (required && node->text.empty())
        complain(node->line, key, "is empty", "fill it in");
    return node->text;
}

std::optional<double> RecipeReader::number(const JsonNode &object, std::string_view key, double low, double high) {
    const JsonNode *node = object.member(key);
    if (!node || node->kind == JsonNode::Kind::Null)
        return std::nullopt;
    double value = NAN;
    if (node->number())
        std::from_chars(node->text.data(), node->text.data() + node->text.size(), value);
    if (!(value >= low && value <= high)) {
        complain(node->line, key,
                 "must be a number" + std::string(high == 1 ? " from 0 to 1" : " of at least 0") + ", not " +
                     quoted(*node),
                 "correct it");
        return std::nullopt;
    }
    return value;
}

std::optional<std::int64_t> RecipeReader::whole(const JsonNode &object, std::string_view key, std::int64_t low,
                                                std::int64_t high) {
    const JsonNode *node = object.member(key);
    if (!node || node->kind == JsonNode::Kind::Null)
        return std::nullopt;
    std::int64_t value = low - 1;
    if (node->kind == JsonNode::Kind::Integer)
        std::from_chars(node->text.data(), node->text.data() + node->text.size(), value);
    if (value < low || value > high) {
        complain(node->line, key,
                 "must be a whole number from " + std::to_string(low) + " to " + std::to_string(high) + ", not " +
                     quoted(*node),
                 "use " + std::to_string(low) + " or more");
        return std::nullopt;
    }
    return value;
}

std::vector<std::string> RecipeReader::texts(const JsonNode &object, std::string_view key) {
    std::vector<std::string> out;
    const JsonNode *node = object.member(key);
    if (!node)
        return out;
    if (node->kind != JsonNode::Kind::List)
        complain(node->line, key, "must be a list of texts, not " + quoted(*node), "write [\"…\"]");
    for (const JsonNode &item : node->items)
        if (item.kind == JsonNode::Kind::Text)
            out.push_back(item.text);
        else
            complain(item.line, key, "must hold texts only, not " + quoted(item), "put it in quotes");
    return out;
}

std::vector<double> RecipeReader::numbers(const JsonNode &object, std::string_view key, double low, double high) {
    std::vector<double> out;
    const JsonNode *node = object.member(key);
    if (!node)
        return out;
    if (node->kind != JsonNode::Kind::List)
        complain(node->line, key, "must be a list of numbers, not " + quoted(*node), "write [1, 2]");
    for (const JsonNode &item : node->items) {
        JsonNode holder;
        holder.kind = JsonNode::Kind::Object;
        holder.members.push_back({std::string(key), item});
        if (const auto value = number(holder, key, low, high))
            out.push_back(*value);
    }
    return out;
}

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
        return wrong("must be a number of devices, a list of them or \"all\", not " + quoted(value),
                     "write 2, [0, 1] or \"all\"");
    if (value.items.empty())
        return wrong("0 devices can't train anything", "name at least one, or write \"all\"");
    std::string joined;
    for (const JsonNode &item : value.items) {
        if (item.kind != JsonNode::Kind::Text && item.kind != JsonNode::Kind::Integer)
            return wrong("a device must be a number or a GPU's UUID, not " + quoted(item), "write [0, 1]");
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
            complain(value.line, key, "must be true or false, not " + quoted(value), "for example true");
        return;
    }
    const FieldSpec *field = findField(key);
    if (!field || field->perProcess)
        return; // refuseUnknown has said so
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
        return complain(value.line, key, "must be " + std::string(wanted(field->type)) + ", not " + quoted(value),
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
        if (key != "name" && key != "note" && key != "command")
            setKey(spec, key, value);
}

void RecipeReader::readCommand(RunSpec &spec, const JsonNode &run) {
    const JsonNode *node = run.member("command");
    if (!node)
        return;
    spec.command = texts(run, "command");
    if (node->kind != JsonNode::Kind::List)
        return; // texts() has said so
    if (spec.command.empty())
        complain(node->line, "command", "there is no word in it",
                 "write [\"{python}\", \"train.py\"], or leave it out");
    for (std::size_t i = 0; i < spec.command.size() && i < node->items.size(); ++i)
        if (const Result<void> known = checkPlaceholders({spec.command[i]}); !known)
            complain(node->items[i].line, "command", known.error().what, known.error().wayOut);
}

void RecipeReader::readVaries(Recipe &recipe, const JsonNode &root) {
    recipe.varies = texts(root, "varies");
    for (const std::string &key : recipe.varies)
        if (!findField(key))
            complain(root.member("varies")->line, "varies", "\"" + key + "\" is no key of a run",
                     "did you mean \"" + std::string(nearestKey(key)) + "\"?");
}

void RecipeReader::checkRun(const RunSpec &spec, const JsonNode &run, const JsonNode *base) {
    if (spec.devices.kind == DeviceRequest::Kind::All)
        return; // known only on the machine: expand() checks
    RunConfig config = spec.config;
    if (spec.autoDevice)
        config.device = config.method == Method::PsSync ? "cpu" : "cuda";
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
    }
    const JsonNode *runs = root.member("runs"), *matrix = root.member("matrix");
    if (matrix)
        readMatrix(recipe, *matrix, first, base);
    if (matrix && !runs)
        return;
    if (!runs || runs->kind != JsonNode::Kind::List || runs->items.empty())
        return complain(runs ? runs->line : root.line, "runs", "there is no run", "list at least one");
    for (const JsonNode &run : runs->items) {
        if (!isObject(run, "runs"))
            continue;
        refuseUnknown(run, runKeys());
        RunSpec spec = first;
        const std::size_t before = m_errors.size();
        spec.name = text(run, "name");
        spec.note = text(run, "note");
        setKeys(spec, run);
        readCommand(spec, run);
        if (m_errors.size() == before)
            checkRun(spec, run, base);
        recipe.runs.push_back(std::move(spec));
    }
}

void RecipeReader::readQuick(Recipe &recipe, const JsonNode &quick) {
    if (!isObject(quick, "quick"))
        return;
    refuseUnknown(quick, {"train_samples", "epochs", "repeats"});
    QuickVariant variant;
    variant.trainSamples = whole(quick, "train_samples", 1, 1'000'000'000).value_or(variant.trainSamples);
    variant.epochs = int(whole(quick, "epochs", 1, 1'000'000).value_or(variant.epochs));
    variant.repeats = int(whole(quick, "repeats", 1, 1000).value_or(variant.repeats));
    recipe.quick = variant;
}

PublishedRun RecipeReader::readPublishedRun(const JsonNode &run) {
    refuseUnknown(run,
                  {"name", "method", "devices", "backend", "workers", "time_s", "time_kind", "printed_speed_up",
                   "test_accuracy", "epoch_loss", "epoch_duration_s", "per_class_accuracy", "utilisation", "note"});
    PublishedRun out;
    out.name = text(run, "name", true);
    out.method = text(run, "method", true);
    out.devices = int(whole(run, "devices", 1, 1'000'000).value_or(1));
    out.backend = text(run, "backend");
    if (const auto workers = whole(run, "workers", 0, 100'000))
        out.workers = int(*workers);
    out.timeS = number(run, "time_s", 0, noLimit);
    out.timeKind = text(run, "time_kind", out.timeS.has_value());
    out.printedSpeedUp = number(run, "printed_speed_up", 0, noLimit);
    out.testAccuracy = number(run, "test_accuracy", 0, 1);
    const std::vector<double> losses = numbers(run, "epoch_loss", 0, noLimit);
    const std::vector<double> durations = numbers(run, "epoch_duration_s", 0, noLimit);
    for (std::size_t i = 0; i < std::max(losses.size(), durations.size()); ++i) {
        PublishedEpoch epoch{int(i) + 1, std::nullopt, std::nullopt};
        if (i < losses.size())
            epoch.loss = losses[i];
        if (i < durations.size())
            epoch.durationS = durations[i];
        out.epochs.push_back(epoch);
    }
    out.perClassAccuracy = numbers(run, "per_class_accuracy", 0, 1);
    out.utilisation = text(run, "utilisation");
    out.note = text(run, "note");
    return out;
}

void RecipeReader::readPublished(Recipe &recipe, const JsonNode &published) {
    if (!isObject(published, "published"))
        return;
    refuseUnknown(published, {"machine", "setting", "reference", "runs", "contradictions"});
    Published out;
    out.machine = text(published, "machine", true);
    out.setting = text(published, "setting");
    out.reference = text(published, "reference");
    out.contradictions = texts(published, "contradictions");
    const JsonNode *runs = published.member("runs");
    if (runs && runs->kind != JsonNode::Kind::List)
        complain(runs->line, "runs", "must be a list, not " + quoted(*runs), "write [{…}]");
    std::vector<std::string> names;
    if (runs)
        for (const JsonNode &run : runs->items)
            if (isObject(run, "runs")) {
                out.runs.push_back(readPublishedRun(run));
                names.push_back(out.runs.back().name);
            }
    if (!out.reference.empty() && std::find(names.begin(), names.end(), out.reference) == names.end()) {
        const std::string near = nearestWord(out.reference, names);
        complain(published.member("reference")->line, "reference",
                 "no published run is named \"" + out.reference + "\"",
                 near.empty() ? "name one of them" : "did you mean \"" + near + "\"?");
    }
    recipe.published = std::move(out);
}

Recipe RecipeReader::read(const JsonNode &root) {
    Recipe recipe;
    if (!isObject(root, ""))
        return recipe;
    refuseUnknown(root, {"name", "title", "summary", "question", "base", "runs", "matrix", "reference", "repeats",
                         "order_seed", "varies", "quick", "published", "notes"});
    recipe.name = text(root, "name", true);
    recipe.title = text(root, "title");
    if (recipe.title.empty())
        recipe.title = recipe.name;
    recipe.summary = text(root, "summary");
    recipe.question = text(root, "question");
    recipe.reference = text(root, "reference");
    recipe.repeats = int(whole(root, "repeats", 1, 1000).value_or(1));
    recipe.orderSeed = std::uint64_t(whole(root, "order_seed", 0, std::numeric_limits<std::int64_t>::max())
                                         .value_or(std::int64_t(recipe.orderSeed)));
    recipe.notes = texts(root, "notes");
    readVaries(recipe, root);
    readRuns(recipe, root);
    if (const JsonNode *quick = root.member("quick"))
        readQuick(recipe, *quick);
    if (const JsonNode *published = root.member("published"))
        readPublished(recipe, *published);
    return recipe;
}

} // namespace lockstep::core
