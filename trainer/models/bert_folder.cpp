// SPDX-License-Identifier: MIT
#include "trainer/models/bert_folder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "ipc/documents.h"
#include "ipc/file_system.h"
#include "ipc/models.h"
#include "ipc/printable.h"
#include "trainer/data/word_piece.h"

namespace lockstep::trainer {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char *tokenizerSettings = "tokenizer_config.json"; ///< older folders have none

constexpr const char *wayOut = "run lockstepctl get-data bert, or name a BERT folder of Hugging Face with --bert-dir";

/// Far above every BERT: a config of a few bytes can ask for any size. So many parameters are 34 GB.
constexpr std::int64_t mostLayers = 1024;
constexpr double mostParameters = 1LL << 33;

/// Those of real models have 0.2 to 5 MB.
constexpr std::uint64_t mostVocabularyBytes = std::uint64_t{16} << 20;

tl::unexpected<Error> refuse(const std::string &path, const std::string &what, const std::string &way = wayOut) {
    return fail(Error::badArgument(what, way, path));
}

Result<std::string> pathOf(const std::string &folder, const char *name) {
    std::string path = folder + "/" + name;
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored))
        return fail(Error::badArgument(std::string(name) + " of BERT is not in " + folder, wayOut, "bert_dir"));
    return path;
}

Result<std::string> readVocabularyText(const std::string &folder) {
    const auto path = pathOf(folder, "vocab.txt");
    auto text = path ? realFileSystem().readAll(*path, mostVocabularyBytes) : path;
    if (!text && text.error().wayOut.empty()) {
        text.error().kind = ErrorKind::BadArgument;
        text.error().wayOut = wayOut;
    }
    return text;
}

Result<Json> readJson(const std::string &folder, const char *name) {
    const auto path = pathOf(folder, name);
    const auto text = path ? realFileSystem().readAll(*path) : path;
    if (!text)
        return fail(text.error());
    auto json = documents::parseObject(*text, "it");
    if (!json)
        return refuse(*path, json.error().what);
    return json;
}

template <class T> struct ConfigNumber {
    const char *key; ///< in a config.json
    T BertConfig::*member;
};
constexpr std::array bertSizes{ConfigNumber<std::int64_t>{"vocab_size", &BertConfig::vocabulary},
                               ConfigNumber<std::int64_t>{"hidden_size", &BertConfig::hidden},
                               ConfigNumber<std::int64_t>{"num_hidden_layers", &BertConfig::layers},
                               ConfigNumber<std::int64_t>{"num_attention_heads", &BertConfig::heads},
                               ConfigNumber<std::int64_t>{"intermediate_size", &BertConfig::intermediate},
                               ConfigNumber<std::int64_t>{"max_position_embeddings", &BertConfig::positions},
                               ConfigNumber<std::int64_t>{"type_vocab_size", &BertConfig::tokenTypes},
                               ConfigNumber<std::int64_t>{"pad_token_id", &BertConfig::padding}};
constexpr std::array bertRates{ConfigNumber<double>{"layer_norm_eps", &BertConfig::layerNormEps},
                               ConfigNumber<double>{"hidden_dropout_prob", &BertConfig::hiddenDropout},
                               ConfigNumber<double>{"attention_probs_dropout_prob", &BertConfig::attentionDropout},
                               ConfigNumber<double>{"initializer_range", &BertConfig::initializerRange}};

/// Takes a number of the config, if it is there.
template <class T> void take(const Json &json, const char *key, T &into) {
    if (const auto found = json.find(key); found != json.end() && found->is_number())
        into = found->get<T>();
}

/// The numbers in the weights of such a BERT, without a classification head.
double parametersOf(const BertConfig &config) {
    const auto hidden = static_cast<double>(config.hidden), wide = static_cast<double>(config.intermediate);
    const auto rows = static_cast<double>(config.vocabulary) + static_cast<double>(config.positions) +
                      static_cast<double>(config.tokenTypes);
    const double linear = hidden * hidden + hidden, norm = 2 * hidden;
    const double layer = 4 * linear + 2 * hidden * wide + wide + hidden + 2 * norm;
    return rows * hidden + norm + static_cast<double>(config.layers) * layer + linear;
}

std::string wholeText(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0f", number);
    return text;
}

/// Why its dropouts, its range of random weights or its LayerNorm can't be computed with; empty: they can.
std::string unusableNumber(const BertConfig &config) {
    const auto is = [](const char *key, double value) {
        char text[32];
        std::snprintf(text, sizeof text, "%g", value);
        return "its " + std::string(key) + " is " + text;
    };
    for (const auto &[key, rate] : {std::pair("hidden_dropout_prob", config.hiddenDropout),
                                    std::pair("attention_probs_dropout_prob", config.attentionDropout),
                                    std::pair("classifier_dropout", config.classifierDropout.value_or(0))})
        if (!(rate >= 0 && rate < 1))
            return is(key, rate) + ", and a dropout is 0 (off) or more, below 1";
    for (const auto &[key, value] :
         {std::pair("layer_norm_eps", config.layerNormEps), std::pair("initializer_range", config.initializerRange)})
        if (!(value >= 0 && std::isfinite(value)))
            return is(key, value) + ", and only 0 or more is supported";
    return {};
}

/// Why a config is no BERT that is trained here; empty: it is one.
std::string unsupported(const Json &json, const BertConfig &config) {
    const auto text = [&](const char *key, const char *usual) {
        const auto found = json.find(key);
        return found != json.end() && found->is_string() ? found->get<std::string>() : std::string(usual);
    };
    if (const auto type = text("model_type", "bert"); type != "bert")
        return "its model_type is " + type + ", not bert";
    if (const auto act = text("hidden_act", "gelu"); act != "gelu")
        return "its hidden_act is " + act + ", and only gelu is supported";
    if (const auto kind = text("position_embedding_type", "absolute"); kind != "absolute")
        return "its position_embedding_type is " + kind + ", and only absolute is supported";
    for (const auto size : {config.vocabulary, config.hidden, config.layers, config.heads, config.intermediate,
                            config.positions, config.tokenTypes})
        if (size < 1 || size > (1 << 26))
            return "it has a size of " + std::to_string(size);
    if (std::cmp_greater(config.vocabulary, largestVocabulary))
        return "its vocab_size is " + std::to_string(config.vocabulary) + ", and at most " +
               std::to_string(largestVocabulary) + " are supported";
    if (config.layers > mostLayers)
        return "its num_hidden_layers is " + std::to_string(config.layers) + ", and at most " +
               std::to_string(mostLayers) + " are supported";
    if (const double parameters = parametersOf(config); parameters > mostParameters)
        return "its sizes give " + wholeText(parameters) + " parameters, and at most " + wholeText(mostParameters) +
               " are supported";
    if (config.hidden % config.heads != 0)
        return "its hidden_size " + std::to_string(config.hidden) + " can't be divided among " +
               std::to_string(config.heads) + " attention heads";
    if (documents::optionalIn<bool>(json, "is_decoder").value_or(false))
        return "its is_decoder is true, and only false is supported";
    if (config.padding < 0 || config.padding >= config.vocabulary)
        return "its pad_token_id " + std::to_string(config.padding) + " is no token";
    return unusableNumber(config);
}

/// The names in id2label by their numbers; empty: it doesn't name each number from 0 on.
std::vector<std::string> labelsIn(const Json &json) {
    const auto names = json.find("id2label");
    if (names == json.end() || !names->is_object())
        return {};
    std::vector<std::string> labels(names->size());
    std::size_t found = 0;
    for (const auto &[key, name] : names->items()) {
        std::size_t number = 0;
        const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
        if (error == std::errc() && end == key.data() + key.size() && number < labels.size() && name.is_string() &&
            labels[number].empty()) {
            labels[number] = name.get<std::string>();
            ++found;
        }
    }
    return found == labels.size() ? labels : std::vector<std::string>();
}

Result<BertConfig> readConfig(const std::string &folder) {
    const auto json = readJson(folder, "config.json");
    if (!json)
        return fail(json.error());
    BertConfig config;
    for (const auto &[key, member] : bertSizes)
        take(*json, key, config.*member);
    for (const auto &[key, member] : bertRates)
        take(*json, key, config.*member);
    if (const auto found = json->find("classifier_dropout"); found != json->end() && found->is_number())
        config.classifierDropout = found->get<double>();
    config.labels = labelsIn(*json);
    if (const auto why = unsupported(*json, config); !why.empty())
        return refuse(folder + "/config.json", why, "name another BERT folder with --bert-dir");
    return config;
}

/// A name in a file as the model has it: "bert.embeddings.LayerNorm.weight".
std::string ourName(std::string name) {
    for (const auto &[old, now] :
         {std::pair("LayerNorm.gamma", "LayerNorm.weight"), std::pair("LayerNorm.beta", "LayerNorm.bias")})
        if (name.ends_with(old))
            name = name.substr(0, name.size() - std::string_view(old).size()) + now;
    const bool inside = name.starts_with("embeddings.") || name.starts_with("encoder.") || name.starts_with("pooler.");
    return inside ? "bert." + name : name;
}

/// The head's row of each class, by the labels' names. A head without names of its own counts from 0, as transformers names it then.
/// Empty: its labels are others.
std::vector<std::int64_t> rowsOfClasses(const BertConfig &config, const std::vector<std::string> &classes) {
    if (!config.labels.empty() && config.labels.size() != classes.size())
        return {};
    std::map<std::string, std::int64_t> rowOf;
    for (std::size_t row = 0; row < classes.size(); ++row) {
        const std::string number = std::to_string(row), unnamed = "LABEL_" + number;
        const std::string &name = config.labels.empty() ? unnamed : config.labels[row];
        rowOf.emplace(name == unnamed ? number : name, static_cast<std::int64_t>(row));
    }
    std::vector<std::int64_t> rows;
    for (const std::string &label : classes) {
        const auto found = rowOf.find(label);
        if (found == rowOf.end())
            return {};
        rows.push_back(found->second);
    }
    return rows;
}

/// The first few of them.
std::string labelsText(const std::vector<std::string> &labels) {
    constexpr std::size_t mostShown = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(labels.size(), mostShown); ++i)
        text += (i == 0 ? "" : ", ") + quotedWords(labels[i]);
    return text + (labels.size() > mostShown ? ", …" : "");
}

bool isOfHead(const std::string &parameter) {
    return parameter.starts_with("classifier.");
}

std::string sizesText(at::IntArrayRef sizes) {
    std::string text;
    for (const auto size : sizes)
        text += (text.empty() ? "" : " x ") + std::to_string(size);
    return text;
}

} // namespace

Result<std::map<std::string, std::string>> bertConfigFacts(const std::string &folder) {
    const auto config = readConfig(folder);
    if (!config)
        return fail(config.error());
    const auto shortest = [](double rate) {
        char text[32];
        return std::string(text, std::to_chars(text, text + sizeof text, rate).ptr);
    };
    std::map<std::string, std::string> facts;
    for (const auto &[key, member] : bertSizes)
        facts[key] = std::to_string((*config).*member);
    for (const auto &[key, member] : bertRates)
        facts[key] = shortest((*config).*member);
    if (config->classifierDropout)
        facts["classifier_dropout"] = shortest(*config->classifierDropout);
    return facts;
}

Result<BertFolder> readBertFolder(const std::string &path) {
    BertFolder folder;
    folder.path = path;
    auto config = readConfig(path);
    if (!config)
        return fail(config.error());
    folder.config = *config;
    const auto file = pathOf(path, "model.safetensors");
    if (!file)
        return fail(file.error());
    auto weights = readTensors(*file);
    if (!weights)
        return fail(weights.error());
    folder.weights = std::move(*weights);
    // fillWithWeights() names the weight that is lacking or of another size. Where most are lacking, no large model is made for that.
    constexpr double soonMade = 1 << 28;
    double held = 0;
    for (const auto &[name, tensor] : folder.weights.tensors)
        held += static_cast<double>(tensor.numel());
    if (const double parameters = parametersOf(folder.config); parameters > soonMade + 2 * held)
        return refuse(*file,
                      "it holds " + wholeText(held) + " numbers, and the sizes in config.json need " +
                          wholeText(parameters),
                      "give the config.json that belongs to it");
    return folder;
}

std::string headNotice(const BertFolder &folder, const std::vector<std::string> &classes) {
    const bool hasHead =
        std::ranges::any_of(folder.weights.tensors, [](const auto &one) { return isOfHead(one.first); });
    if (!hasHead || classes.empty() || !rowsOfClasses(folder.config, classes).empty())
        return {};
    const auto &labels = folder.config.labels;
    return folder.path + "/config.json " +
           (labels.empty() ? "doesn't name the labels of its head" : "names its head's labels " + labelsText(labels)) +
           ", and the data's are " + labelsText(classes) + ": the head's rows are used for these in their order";
}

Result<void> fillWithWeights(Bert &model, const BertFolder &folder, const std::vector<std::string> &classes) {
    if (folder.path.empty())
        return {};
    std::map<std::string, const torch::Tensor *> found;
    for (const auto &[name, tensor] : folder.weights.tensors)
        found[ourName(name)] = &tensor;
    const auto rows = rowsOfClasses(folder.config, classes);
    const torch::NoGradGuard noGrad;
    for (const auto &item : model.named_parameters()) {
        const auto at = found.find(item.key());
        if (at == found.end()) {
            if (isOfHead(item.key()))
                continue;
            return refuse(folder.path + "/model.safetensors", "it lacks " + item.key(), "give BERT's own weights");
        }
        if (at->second->sizes() != item.value().sizes())
            return refuse(folder.path + "/model.safetensors",
                          item.key() + " is " + sizesText(at->second->sizes()) + ", expected " +
                              sizesText(item.value().sizes()),
                          isOfHead(item.key()) ? "train on data with as many classes, or give weights without a head"
                                               : "give the config.json that belongs to it");
        item.value().copy_(*at->second);
        if (isOfHead(item.key()) && !rows.empty())
            item.value().copy_(item.value().index_select(0, torch::tensor(rows)));
    }
    return {};
}

Result<void> writeBertFolder(const std::string &path, const std::string &source,
                             const std::vector<std::pair<std::string, torch::Tensor>> &state,
                             const std::vector<std::string> &classes) {
    FileSystem &disk = realFileSystem();
    if (auto made = disk.makeFolders(path); !made)
        return made;
    auto config = readJson(source, "config.json");
    if (!config)
        return fail(config.error());
    (*config)["architectures"] = {"BertForSequenceClassification"};
    (*config)["model_type"] = "bert";
    // What transformers would read in their place, and what makes a model that answers otherwise.
    for (const char *key : {"dtype", "num_labels", "_num_labels", "return_dict", "torchscript"})
        config->erase(key);
    (*config)["torch_dtype"] = "float32";
    (*config)["problem_type"] = "single_label_classification";
    Json names = Json::object(), numbers = Json::object();
    for (std::size_t i = 0; i < classes.size(); ++i) {
        names[std::to_string(i)] = classes[i];
        numbers[classes[i]] = i;
    }
    (*config)["id2label"] = names;
    (*config)["label2id"] = numbers;
    std::vector<std::pair<std::string, std::string>> texts; // all made before the weights of an earlier training go
    auto vocabulary = readVocabularyText(source);
    if (!vocabulary)
        return fail(vocabulary.error());
    texts.emplace_back("vocab.txt", std::move(*vocabulary));
    if (auto text = disk.readAll(source + "/" + tokenizerSettings))
        texts.emplace_back(tokenizerSettings, std::move(*text));
    texts.emplace_back("config.json", documents::page(*config)); // last: the folder is whole with it
    TensorFile weights;
    weights.metadata = {{"format", "pt"}};
    for (const auto &[name, tensor] : state)
        weights.tensors.emplace_back(name, tensor.detach().to(torch::kCPU, torch::kFloat32).contiguous());
    if (auto written = writeTensors(path + "/model.safetensors", weights); !written)
        return written;
    for (const auto &[name, text] : texts)
        if (auto written = disk.writeAtomically(path + "/" + name, text); !written)
            return written;
    return {};
}

Result<VocabularyFile> readVocabulary(const std::string &folder, std::int64_t maxTokens) {
    const auto config = readConfig(folder);
    if (!config)
        return fail(config.error());
    if (maxTokens > config->positions)
        return fail(Error::badArgument("texts of " + std::to_string(maxTokens) +
                                           " tokens are allowed, and this BERT has " +
                                           std::to_string(config->positions) + " positions",
                                       "use " + std::to_string(config->positions) + " or fewer", "max_tokens"));
    VocabularyFile file;
    auto text = readVocabularyText(folder);
    if (!text)
        return fail(text.error());
    file.path = folder + "/vocab.txt";
    file.text = std::move(*text);
    std::int64_t count = 0, padding = -1;
    for (std::string_view rest = file.text; !rest.empty(); ++count) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (line == "[PAD]" || line == "[PAD]\r")
            padding = count;
    }
    if (count > config->vocabulary)
        return refuse(file.path, "it has " + std::to_string(count) + " tokens, but config.json's vocab_size is " +
                                     std::to_string(config->vocabulary));
    if (padding >= 0 && padding != config->padding)
        return refuse(file.path, "its [PAD] is token " + std::to_string(padding) +
                                     ", but config.json's pad_token_id is " + std::to_string(config->padding));
    const std::string settings = folder + "/" + tokenizerSettings;
    std::error_code ignored;
    if (!std::filesystem::exists(settings, ignored))
        return file;
    const auto given = realFileSystem().readAll(settings);
    if (!given)
        return fail(given.error());
    const auto rules = tokenizerRulesFrom(*given, settings);
    if (!rules)
        return fail(rules.error());
    file.rules = *rules;
    return file;
}

} // namespace lockstep::trainer
