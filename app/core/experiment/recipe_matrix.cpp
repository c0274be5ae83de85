// SPDX-License-Identifier: MIT
// A recipe's "matrix": a list of values per key, expanded into every combination when the recipe is read.
#include <algorithm>
#include <array>
#include <set>

#include "experiment/plan.h"
#include "experiment/recipe_reader.h"
#include "experiment/run_names.h"
#include "experiment/script_flags.h"

namespace lockstep::core {
namespace {

/// A script's own flag, "--amp"; empty: a key of a run.
std::string flagOf(const std::string &key) {
    return key.starts_with("--") ? key.substr(2) : std::string();
}

/// Whether this holds for any kind of device that the run may get.
bool mayApply(const FieldSpec &field, const RunSpec &spec) {
    if (!spec.autoDevice)
        return appliesTo(field, spec.config);
    return std::ranges::any_of(std::array{"cpu", "cuda"}, [&](const char *kind) {
        RunConfig config = spec.config;
        config.device = kind;
        return appliesTo(field, config);
    });
}

/// Resets settings without effect in a combination, so that duplicates are recognized: a baseline has one device, adam
/// has no momentum.
void leaveOut(RunSpec &spec, const RunSpec &base, const JsonNode &matrix) {
    RunConfig &config = spec.config;
    if (!specOf(config.method).severalDevices && matrix.member("devices")) {
        if (spec.devices.kind == DeviceRequest::Kind::List)
            config.devices.resize(1);
        else {
            spec.devices = {DeviceRequest::Kind::Count, 1};
            config.devices = {"0"};
        }
    }
    for (const FieldSpec &field : runConfigFields())
        if (matrix.member(field.key) && !mayApply(field, spec))
            (void)field.set(config, field.get(base.config)); // it came from a config, so it is valid
    if (config.workers == 0 && matrix.member("workers")) {
        config.workerCores.clear();
        spec.autoWorkerCores = false;
    }
}

} // namespace

/// Checks each value alone, so that a mistake is reported once and not per combination.
bool RecipeReader::checkAxes(const JsonNode &matrix, const RunSpec &base) {
    const std::size_t before = errorCount();
    std::vector<std::string> keys;
    for (const FieldSpec &field : runConfigFields())
        if (!field.perProcess)
            keys.emplace_back(field.key);
    for (const auto &[key, values] : matrix.members)
        if (!flagOf(key).empty()) {
            keys.push_back(key);
            if (base.command.empty())
                complain(values.line, key, "is a script's own flag, and there is no command",
                         "add \"command\" to \"base\", or name a key of a run");
        }
    refuseUnknown(matrix, keys);
    std::size_t runs = 1;
    RunSpec scratch = base; // once: a base can be large
    for (const auto &[key, values] : matrix.members) {
        if (values.kind != JsonNode::Kind::List || values.items.empty()) {
            complain(values.line, key, "must be a list with at least one value", "write [0, 4]");
            continue;
        }
        runs = std::min(runs * values.items.size(), mostRecipeRuns + 1);
        for (const JsonNode &value : values.items) {
            if (flagOf(key).empty())
                setKey(scratch, key, value);
            else if (value.kind != JsonNode::Kind::Text && !value.number())
                complain(value.line, key, "must be a text or a number, not " + quotedNode(value),
                         "write [\"off\", \"on\"] or [128, 256]");
        }
    }
    if (matrix.members.empty())
        complain(matrix.line, "matrix", "it has no key", "add at least one with a list of values");
    if (runs > mostRecipeRuns)
        complain(matrix.line, "matrix", "it spans more than " + std::to_string(mostRecipeRuns) + " runs",
                 "remove values");
    return errorCount() == before;
}

void RecipeReader::addMatrixRun(Recipe &recipe, const JsonNode &matrix, const RunSpec &base, const JsonNode *baseNode,
                                const std::vector<const JsonNode *> &values) {
    RunSpec spec = base;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (const std::string flag = flagOf(matrix.members[i].key); !flag.empty())
            addFlag(spec, flag, values[i]->text);
        else
            setKey(spec, matrix.members[i].key, *values[i]);
    leaveOut(spec, base, matrix);
    if (!m_matrixRuns.add(spec.config, spec.command, spec.claims,
                          [&](std::size_t earlier) { return recipe.runs[earlier] == spec; }))
        return;
    if (!hasRoom(spec, matrix.line))
        return;
    const std::size_t before = errorCount();
    checkRun(spec, matrix, baseNode);
    qualifyErrors(before, " (" + runTitle(spec.config) + ")");
    recipe.runs.push_back(std::move(spec));
}

void RecipeReader::readMatrix(Recipe &recipe, const JsonNode &matrix, const RunSpec &base, const JsonNode *baseNode) {
    if (!isObject(matrix, "matrix") || !checkAxes(matrix, base))
        return;
    for (const auto &[key, values] : matrix.members)
        if (flagOf(key).empty() && !isMeant(key) && values.items.size() > 1 &&
            std::find(recipe.varies.begin(), recipe.varies.end(), key) == recipe.varies.end())
            recipe.varies.push_back(key);
    std::vector<std::size_t> at(matrix.members.size(), 0); // the first key changes slowest
    for (;;) {
        std::vector<const JsonNode *> values;
        for (std::size_t i = 0; i < at.size(); ++i)
            values.push_back(&matrix.members[i].value.items[at[i]]);
        addMatrixRun(recipe, matrix, base, baseNode, values);
        std::size_t i = at.size();
        while (i > 0 && ++at[i - 1] == matrix.members[i - 1].value.items.size())
            at[--i] = 0;
        if (i == 0 || m_full)
            return;
    }
}

} // namespace lockstep::core
