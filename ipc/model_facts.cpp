// SPDX-License-Identifier: MIT
#include "ipc/model_facts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <mutex>
#include <set>

#include "ipc/documents.h"
#include "ipc/file_system.h"
#include "ipc/json_text.h"
#include "ipc/list_in_words.h"
#include "ipc/nearest_word.h"
#include "ipc/printable.h"
#include "ipc/run_config.h"

namespace lockstep {
namespace {

using documents::Json;

constexpr std::string_view pixels = "pixels", texts = "text";
constexpr std::string_view exampleDescription =
    R"({"input": {"values": "pixels", "shape": [1, 28, 28]}, "classes": 10})";
constexpr int mostOfASize = 1'000'000;

/// Reads a description and keeps the first mistake.
class DescriptionReader {
public:
    DescriptionReader(std::string_view text, std::string shown)
        : m_places(findPlaces(text)), m_shown(std::move(shown)) {}

    ModelFacts read(const Json &json, std::string title) {
        refuseUnknown(json, "", {"input", "classes", "layers", "parameters"});
        if (!m_places.doubled.empty())
            mistake(m_places.doubled.front(), "stands there twice", "remove one of the two");
        ModelFacts facts{.title = std::move(title), .sample = {}, .parameters = {}, .layerNames = {}};
        readInput(json, facts.sample);
        facts.sample.classes = int(number(json, "classes", 2, mostOfASize).value_or(0));
        if (json.contains("parameters"))
            facts.parameters = number(json, "parameters", 1, INT64_MAX);
        readLayers(json, facts);
        return facts;
    }
    [[nodiscard]] const std::optional<Error> &error() const { return m_error; }

private:
    void mistake(const std::string &path, const std::string &what, const std::string &wayOut) {
        if (m_error)
            return;
        const int line = m_places.lineOf(path);
        const std::string key = printableName(path.substr(path.rfind('/') + 1));
        m_error = Error::badArgument(m_shown + (line > 0 ? ", line " + std::to_string(line) : std::string()) + ": " +
                                         key + " " + what,
                                     wayOut, "model");
    }
    void refuseUnknown(const Json &object, const std::string &path, const std::vector<std::string> &known) {
        for (const auto &[key, value] : object.items())
            if (std::ranges::find(known, key) == known.end()) {
                const std::string near = nearestWord(key, known);
                mistake(path + "/" + key, "is no key of a model's description",
                        near.empty() ? "the keys there are " + listInWords(known) : "did you mean \"" + near + "\"?");
            }
    }
    std::optional<std::int64_t> number(const Json &object, const char *key, std::int64_t least, std::int64_t most) {
        const auto value = documents::optionalIn<std::int64_t>(object, key);
        if (value && *value >= least && *value <= most)
            return value;
        const std::string wanted = "give a whole number from " + std::to_string(least) + " on";
        if (!object.contains(key))
            mistake(std::string("/") + key, "is missing", wanted);
        else
            mistake(std::string("/") + key, "is " + object.at(key).dump(-1, ' ', false, replaced).substr(0, 60),
                    wanted);
        return {};
    }
    void readInput(const Json &json, SampleSpec &sample) {
        const std::string example = R"(give {"values": "pixels", "shape": [1, 28, 28]}, or {"values": "text"})";
        const auto input = json.find("input");
        if (input == json.end() || !input->is_object())
            return mistake("/input", input == json.end() ? "is missing" : "is no object", example);
        refuseUnknown(*input, "/input", {"values", "shape"});
        const auto values = documents::optionalIn<std::string>(*input, "values");
        if (!values || (*values != pixels && *values != texts))
            return mistake("/input/values",
                           !input->contains("values")
                               ? "is missing"
                               : "is " + input->at("values").dump(-1, ' ', false, replaced).substr(0, 60),
                           R"(give "pixels" or "text")");
        const auto shape = input->find("shape");
        if (*values == texts) {
            sample.values = Values::Text;
            if (shape != input->end())
                mistake("/input/shape", "is given, and a text has as many tokens as it needs", "leave it out");
            return;
        }
        if (shape == input->end() || !shape->is_array() || shape->size() != sample.sizes.size())
            return mistake("/input/shape", shape == input->end() ? "is missing" : "is no list of three numbers",
                           "give channels, rows and columns, like [1, 28, 28]");
        for (std::size_t i = 0; i < sample.sizes.size(); ++i) {
            const Json &size = (*shape)[i];
            if (!size.is_number_unsigned() || size.get<std::uint64_t>() < 1 || size.get<std::uint64_t>() > mostOfASize)
                return mistake("/input/shape", "has " + size.dump(-1, ' ', false, replaced).substr(0, 60) + " in it",
                               "give three whole numbers from 1 on");
            sample.sizes.at(i) = int(size.get<std::uint64_t>());
        }
    }
    void readLayers(const Json &json, ModelFacts &facts) {
        if (!json.contains("layers"))
            return;
        const auto names = documents::optionalIn<std::vector<std::string>>(json, "layers");
        if (!names || names->empty() || std::ranges::find(*names, std::string()) != names->end())
            return mistake("/layers", "is no list of submodules",
                           R"(give their names in the order in which they are called, like ["features", "head"])");
        std::set<std::string_view> seen;
        for (const std::string &name : *names)
            if (!seen.insert(name).second)
                return mistake("/layers", "has " + quotedWords(name) + " twice", "name each submodule once");
        facts.layerNames = *names;
        facts.layers = int(names->size());
    }

    static constexpr auto replaced = Json::error_handler_t::replace;
    JsonPlaces m_places;
    std::string m_shown;
    std::optional<Error> m_error;
};

/// What the last descriptions say, right or wrong: each of a thousand runs may have the same model. Thread safe.
class KnownDescriptions {
public:
    /// Nothing: it was not read, or was written since then.
    [[nodiscard]] std::optional<Result<ModelFacts>> find(const std::string &path, const std::string &stamp) {
        const std::lock_guard lock(m_mutex);
        const auto found = std::ranges::find(m_known, path, &Known::path);
        return found != m_known.end() && found->stamp == stamp ? std::optional(found->facts) : std::nullopt;
    }
    void keep(const std::string &path, const std::string &stamp, const Result<ModelFacts> &facts) {
        const std::lock_guard lock(m_mutex);
        std::erase_if(m_known, [&](const Known &known) { return known.path == path; });
        if (m_known.size() == most)
            m_known.pop_front();
        m_known.push_back({path, stamp, facts});
    }

private:
    struct Known {
        std::string path, stamp;
        Result<ModelFacts> facts;
    };
    static constexpr std::size_t most = 64;
    std::mutex m_mutex;
    std::deque<Known> m_known; ///< the one that was read last is the last
};

std::string samplesInWords(const SampleSpec &sample) {
    return inWords(sample) + (sample.classes > 0 ? " in " + std::to_string(sample.classes) + " classes" : "");
}

bool takes(const SampleSpec &model, const SampleSpec &sample) {
    if (model.values != Values::Text || sample.values != Values::Text)
        return model == sample;
    return model.classes == 0 || sample.classes == 0 ||
           model.classes == sample.classes; // 0: not known before it is read
}

std::optional<Error> whyUnreadable(const std::string &path, const std::string &wayOut) {
    struct stat there {};
    const bool found = ::stat(path.c_str(), &there) == 0;
    if (found && S_ISREG(there.st_mode) && ::access(path.c_str(), R_OK) == 0)
        return {};
    const std::string why = found && !S_ISREG(there.st_mode) ? "it is no file" : std::strerror(errno);
    return Error::badArgument("can't read " + path + ": " + why, wayOut, "model");
}

} // namespace

bool isModelFile(std::string_view model) {
    return model.size() > modelFileEnding.size() && model.ends_with(modelFileEnding);
}

std::string modelTitle(std::string_view model) {
    return std::string(isModelFile(model) ? model.substr(model.rfind('/') + 1) : model);
}

std::string descriptionOf(std::string_view file) {
    return std::string(file.substr(0, file.size() - modelFileEnding.size())) + ".json";
}

std::string modelFrom(const std::string &folder, const std::string &model) {
    return isModelFile(model) ? (std::filesystem::path(folder) / model).lexically_normal().string() : model;
}

ModelFacts factsOf(const ModelSpec &model) {
    return {.title = std::string(model.name),
            .sample = model.sample,
            .parameters = model.parameters,
            .layers = model.layers,
            .layerNames = {}};
}

bool hasSizesOfFolder(const RunConfig &config) {
    return !config.bertDir.empty() && knowsKey(config.model, "bert_dir") && !isModelFile(config.model);
}

Result<std::optional<ModelFacts>> modelFacts(std::string_view model) {
    if (const ModelSpec *row = findModel(model))
        return factsOf(*row);
    if (!isModelFile(model))
        return std::nullopt;
    static KnownDescriptions known;
    const std::string description = descriptionOf(model);
    const std::string stamp = fileStamp(description); // before it is read: what is written meanwhile has another
    if (stamp.empty())
        return std::nullopt;
    std::optional<Result<ModelFacts>> facts = known.find(description, stamp);
    if (!facts) {
        const auto text = realFileSystem().readAll(description, largestDescription);
        if (!text)
            return fail(Error::badArgument(text.error().what, "give a file that can be read", "model"));
        facts = modelFactsFromJson(*text, modelTitle(model), description);
        known.keep(description, stamp, *facts);
    }
    return std::move(*facts).map([](ModelFacts &&found) { return std::optional(std::move(found)); });
}

Result<ModelFacts> modelFactsFromJson(std::string_view text, std::string title, const std::string &shown) {
    const auto json = documents::parseObject(text, shown);
    if (!json)
        return fail(Error::badArgument(
            json.error().what,
            json.error().wayOut.empty() ? "write " + std::string(exampleDescription) : json.error().wayOut, "model"));
    DescriptionReader reader(text, shown);
    ModelFacts facts = reader.read(*json, std::move(title));
    if (reader.error())
        return fail(*reader.error());
    return facts;
}

bool savesFolder(std::string_view model) {
    const ModelSpec *row = findModel(model);
    return row && row->sample.values == Values::Text;
}

Result<void> checkModelFile(std::string_view model) {
    if (!isModelFile(model))
        return {};
    const std::string file(model);
    if (auto error = whyUnreadable(file, "give the path of a TorchScript module as this machine has it"))
        return fail(std::move(*error));
    if (auto error = whyUnreadable(descriptionOf(file),
                                   "describe there what the model takes, like " + std::string(exampleDescription)))
        return fail(std::move(*error));
    return {};
}

std::optional<Error> mismatch(const ModelFacts &model, const DataSetSpec &dataSet) {
    if (takes(model.sample, dataSet.sample))
        return {};
    std::string fitting;
    for (const ModelSpec &other : modelTable)
        if (takes(other.sample, dataSet.sample))
            fitting += (fitting.empty() ? "" : " or ") + std::string(other.name);
    return Error::badArgument(model.title + " takes " + samplesInWords(model.sample) + ", and " +
                                  std::string(dataSet.name) + " holds " + samplesInWords(dataSet.sample),
                              fitting.empty() ? "use another data set" : "use " + fitting + ", or another data set",
                              "model");
}

} // namespace lockstep
