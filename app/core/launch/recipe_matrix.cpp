// A recipe's "matrix": a list of values a key, expanded into every combination when the recipe is read.
#include <algorithm>
#include <set>

#include "launch/plan.h"
#include "launch/recipe_reader.h"

namespace lockstep::core {
namespace {

constexpr std::size_t mostCells = 1000;

/// What a combination's method leaves without meaning is taken back, so that it is no other run: a baseline has one
/// device, only what sums up between processes has a backend and buckets, and only a baseline on a GPU a CUDA graph.
void leaveOut(RunSpec &spec, const RunSpec &base, const JsonNode &matrix) {
    RunConfig &config = spec.config;
    if (config.method == Method::Baseline && matrix.member("devices")) {
        if (spec.devices.kind == DeviceRequest::Kind::List)
            config.devices.resize(1);
        else {
            spec.devices = {DeviceRequest::Kind::Count, 1};
            config.devices = {"0"};
        }
    }
    const auto back = [&](const char *key, bool meansNothing) {
        if (const FieldSpec *field = findField(key); meansNothing && matrix.member(key))
            (void)field->set(config, field->get(base.config)); // it came from a config, so it is allowed
    };
    back("backend", !isDistributed(config.method));
    back("bucket_mb", !isDistributed(config.method));
    back("interface", !isDistributed(config.method));
    back("dp_replicas", config.method != Method::Dp);
    back("momentum", config.optimizer != "sgd");
    back("cores_per_device", config.device != "cpu" && !spec.autoDevice);
    back("pin_memory", config.device == "cpu" && !spec.autoDevice);
    back("non_blocking", config.device == "cpu" && !spec.autoDevice);
    back("cuda_graph", config.method != Method::Baseline || (config.device == "cpu" && !spec.autoDevice));
    if (config.workers == 0 && matrix.member("workers")) {
        config.workerCores.clear();
        spec.autoWorkerCores = false;
    }
}

} // namespace

/// Each value on its own, so that a mistake is told once and not once a combination.
bool RecipeReader::checkAxes(const JsonNode &matrix, const RunSpec &base) {
    const std::size_t before = m_errors.size();
    std::vector<std::string> keys;
    for (const FieldSpec &field : runConfigFields())
        if (!field.perProcess)
            keys.emplace_back(field.key);
    refuseUnknown(matrix, keys);
    std::size_t cells = 1;
    for (const auto &[key, values] : matrix.members) {
        if (values.kind != JsonNode::Kind::List || values.items.empty()) {
            complain(values.line, key, "must be a list with at least one value", "write [0, 4]");
            continue;
        }
        cells = std::min(cells * values.items.size(), mostCells + 1);
        for (const JsonNode &value : values.items) {
            RunSpec scratch = base;
            setKey(scratch, key, value);
        }
    }
    if (matrix.members.empty())
        complain(matrix.line, "matrix", "there is no key in it", "name at least one, with a list of values");
    if (cells > mostCells)
        complain(matrix.line, "matrix", "it spans more than " + std::to_string(mostCells) + " runs",
                 "leave out values");
    return m_errors.size() == before;
}

void RecipeReader::addCell(Recipe &recipe, const JsonNode &matrix, const RunSpec &base, const JsonNode *baseNode,
                           const std::vector<const JsonNode *> &values) {
    RunSpec spec = base;
    for (std::size_t i = 0; i < values.size(); ++i)
        setKey(spec, matrix.members[i].key, *values[i]);
    leaveOut(spec, base, matrix);
    if (std::find(recipe.runs.begin(), recipe.runs.end(), spec) != recipe.runs.end())
        return;
    const std::size_t before = m_errors.size();
    checkRun(spec, matrix, baseNode);
    for (std::size_t i = before; i < m_errors.size(); ++i) // which of the combinations it is
        m_errors[i].what += " (" + runTitle(spec.config) + ")";
    const auto isKnown = [&](const Error &error) {
        return std::any_of(m_errors.begin(), m_errors.begin() + std::ptrdiff_t(before),
                           [&](const Error &earlier) { return earlier.message() == error.message(); });
    };
    m_errors.erase(std::remove_if(m_errors.begin() + std::ptrdiff_t(before), m_errors.end(), isKnown), m_errors.end());
    recipe.runs.push_back(std::move(spec));
}

void RecipeReader::readMatrix(Recipe &recipe, const JsonNode &matrix, const RunSpec &base, const JsonNode *baseNode) {
    if (!isObject(matrix, "matrix") || !checkAxes(matrix, base))
        return;
    for (const auto &[key, values] : matrix.members)
        if (!isMeant(key) && values.items.size() > 1 &&
            std::find(recipe.varies.begin(), recipe.varies.end(), key) == recipe.varies.end())
            recipe.varies.push_back(key);
    std::vector<std::size_t> at(matrix.members.size(), 0); // the first key changes slowest
    for (;;) {
        std::vector<const JsonNode *> values;
        for (std::size_t i = 0; i < at.size(); ++i)
            values.push_back(&matrix.members[i].value.items[at[i]]);
        addCell(recipe, matrix, base, baseNode, values);
        std::size_t i = at.size();
        while (i > 0 && ++at[i - 1] == matrix.members[i - 1].value.items.size())
            at[--i] = 0;
        if (i == 0)
            return;
    }
}

} // namespace lockstep::core
