// SPDX-License-Identifier: MIT
#include "trainer/models/script_model.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include <ATen/Context.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/torch.h>

#include "ipc/printable.h"
#include "trainer/report/torch_sentence.h"

namespace lockstep::trainer {
namespace {

using Script = torch::jit::Module;

Error scriptError(const std::string &what, const std::string &wayOut) {
    return Error::badArgument(what, wayOut, "model");
}

std::string toScriptIt(const ModelFacts &facts) {
    return "save it in Python with torch.jit.script(model).save(\"" + facts.title + "\")";
}

/// Calls it with TorchScript's optimizer off, which is a setting of the thread.
torch::Tensor callScript(Script &module, torch::Tensor input) {
    const torch::jit::GraphOptimizerEnabledGuard asInEagerMode(false);
    const c10::IValue output = module.forward({std::move(input)});
    if (!output.isTensor())
        throw std::runtime_error("it puts out a " + output.tagKind() + " and not a tensor");
    return output.toTensor();
}

/// "features.0" of a module; nothing if it has no such submodule.
std::optional<Script> submoduleOf(Script module, const std::string &path) {
    std::istringstream words(path);
    for (std::string word; std::getline(words, word, '.');) {
        if (!module.hasattr(word) || !module.attr(word).isModule())
            return {};
        module = module.attr(word).toModule();
    }
    return module;
}

/// Registers the same tensors under the same names. TorchScript and `to` see each other's changes, since both hold the same tensors.
void mirrorScript(const Script &from, torch::nn::Module &to) {
    for (const auto &parameter : from.named_parameters(/*recurse=*/false))
        to.register_parameter(parameter.name, parameter.value);
    for (const auto &buffer : from.named_buffers(/*recurse=*/false))
        to.register_buffer(buffer.name, buffer.value);
    for (const auto &child : from.named_children())
        mirrorScript(child.value, *to.register_module(child.name, std::make_shared<torch::nn::Module>(child.name)));
}

class ScriptModel final : public Model {
public:
    ScriptModel(Script module, const std::vector<std::string> &layers) : m_module(std::move(module)) {
        mirrorScript(m_module, *this);
        for (const std::string &name : layers)
            addLayerAt(name, [layer = *submoduleOf(m_module, name)](torch::Tensor input) mutable {
                return callScript(layer, std::move(input));
            });
        if (layers.empty())
            addLayerAt("", [this](torch::Tensor input) { return callScript(m_module, std::move(input)); });
    }
    void train(bool on) override {
        Model::train(on);
        m_module.train(on);
    }
    /// What the module itself makes of the input, however its layers are called.
    torch::Tensor whole(torch::Tensor input) { return callScript(m_module, std::move(input)); }

private:
    Script m_module;
};

using LoadedScript = Result<std::shared_ptr<ScriptModel>>;

/// "dropout" or "BatchNorm" if the operation, of that module, has it in one mode only: a trace keeps the mode of its moment as a
/// constant, where a script asks `training`. Dropout that always draws is drawFault()'s.
std::string_view traceOfOneMode(const torch::jit::Node &node, const Script &module) {
    constexpr std::array<std::string_view, 4> dropouts{"dropout", "feature_dropout", "alpha_dropout",
                                                       "feature_alpha_dropout"};
    if (!node.kind().is_aten())
        return {};
    const std::string_view kind = node.kind().toUnqualString();
    const auto constant = [&node](const char *input) { return torch::jit::toIValue(node.namedInput(input)); };
    if (kind == "batch_norm") {
        const auto means = constant("running_mean"), trains = constant("training");
        if (!trains || (means && means->isNone())) // without running means both modes are one
            return {};
        // A frozen one, which has no such count, is meant to evaluate always.
        const bool counts = module.hasattr("num_batches_tracked") && module.attr("num_batches_tracked").isTensor();
        return trains->toBool() || counts ? "BatchNorm" : std::string_view();
    }
    if (std::ranges::find(dropouts, kind) == dropouts.end())
        return {};
    const auto rate = constant("p"), trains = constant("train");
    const bool neverDrops = trains && !trains->toBool() && rate && rate->isDouble() && rate->toDouble() > 0;
    return neverDrops ? "dropout" : std::string_view();
}

std::optional<Error> modeFault(const Script &module, const ModelFacts &facts) {
    for (const auto &part : module.named_modules()) {
        const auto forward = part.value.find_method("forward");
        if (!forward)
            continue;
        const auto graph = forward->graph();
        for (const torch::jit::Node *node : graph->nodes()) // not in branches, which a trace has none of
            if (const std::string_view what = traceOfOneMode(*node, part.value); !what.empty())
                return scriptError("the " + std::string(what) + (part.name.empty() ? "" : " " + part.name) + " of " +
                                       facts.title +
                                       " does the same in training and in evaluation, as torch.jit.trace keeps it",
                                   toScriptIt(facts));
    }
    return {};
}

/// Why a module can't be trained, as far as it can be seen without calling it.
std::optional<Error> faultOf(const Script &module, const ModelFacts &facts) {
    std::map<const void *, std::string> seen;
    for (const auto &parameter : module.named_parameters()) {
        if (!parameter.value.requires_grad())
            return scriptError(facts.title + " has a parameter that is not trained, " + parameter.name,
                               "set its requires_grad in Python, or make it a buffer");
        const auto [first, isNew] = seen.try_emplace(parameter.value.unsafeGetTensorImpl(), parameter.name);
        if (!isNew)
            return scriptError(facts.title + " has one tensor for two parameters, " + first->second + " and " +
                                   parameter.name + ", which is not supported",
                               "give each its own");
    }
    if (seen.empty())
        return scriptError(facts.title + " has no parameters to train", "save it without torch.jit.freeze");
    for (const std::string &name : facts.layerNames)
        if (!submoduleOf(module, name))
            return scriptError(facts.title + " has no submodule " + cutText(name, 200) +
                                   ", which its description names as a layer",
                               "correct \"layers\" there");
    return modeFault(module, facts);
}

LoadedScript loadScript(const std::string &file) {
    if (const auto there = checkModelFile(file); !there)
        return fail(there.error());
    const auto described = modelFacts(file);
    if (!described)
        return fail(described.error());
    const ModelFacts &facts = **described;
    const std::string wayOut = toScriptIt(facts);
    try {
        const Script module = torch::jit::load(file, c10::Device(c10::DeviceType::CPU));
        if (auto fault = faultOf(module, facts))
            return fail(std::move(*fault));
        return std::make_shared<ScriptModel>(module, facts.layerNames);
    } catch (const c10::Error &error) {
        return fail(
            scriptError(file + " is no TorchScript module: " + torchSentence(error.what_without_backtrace()), wayOut));
    } catch (const std::exception &error) {
        return fail(scriptError(file + " is no TorchScript module: " + torchSentence(error.what()), wayOut));
    }
}

torch::Tensor trialInput(const SampleSpec &sample, std::int64_t padding, c10::Device device, torch::Dtype dtype) {
    constexpr int samples = 2, tokens = 8;
    const int word = padding == 1 ? 0 : 1; // any but the padding
    if (sample.values == Values::Text)
        return torch::full({samples, tokens}, word, torch::TensorOptions(torch::kInt64).device(device));
    std::vector<std::int64_t> sizes{samples};
    sizes.insert(sizes.end(), sample.sizes.begin(), sample.sizes.begin() + sample.dimensions());
    return torch::randn(sizes, torch::TensorOptions(dtype)).to(device);
}

/// "1,234 parameters" of both, if the description's number is wrong.
std::optional<Error> countFault(const ScriptModel &model, const ModelFacts &facts) {
    std::int64_t count = 0;
    for (const torch::Tensor &parameter : model.parameters())
        count += parameter.numel();
    if (!facts.parameters || *facts.parameters == count)
        return {};
    return scriptError(facts.title + " has " + std::to_string(count) + " parameters, and its description says " +
                           std::to_string(*facts.parameters),
                       "correct \"parameters\" there, or leave it out");
}

std::optional<Error> layerFault(const ScriptModel &model, const ModelFacts &facts, const torch::Tensor &whole,
                                const torch::Tensor &byLayers) {
    for (const auto &item : model.named_parameters())
        if (model.layerOf(item.key()) >= model.layerCount())
            return scriptError("the layers in the description of " + facts.title + " leave out the parameter " +
                                   item.key(),
                               "name all submodules that are called, in their order, or leave \"layers\" out");
    if (whole.sizes() == byLayers.sizes() && torch::allclose(whole, byLayers, 1e-5, 1e-6, /*equal_nan=*/true))
        return {};
    return scriptError("the layers in the description of " + facts.title +
                           ", called one after another, don't compute what it computes",
                       "name all submodules that are called, in their order, or leave \"layers\" out");
}

/// By more than rounding, which computing twice may change.
bool differClearly(const torch::Tensor &one, const torch::Tensor &other) {
    constexpr double share = 1e-3;
    return (one - other).abs().max().item<double>() > share * one.abs().max().item<double>();
}

/// Dropout that was traced in training draws in evaluation, too. What is drawn without effect, such as whether to skip a layer in
/// training, is no fault.
std::optional<Error> drawFault(ScriptModel &model, const ModelFacts &facts, const torch::Tensor &input) {
    const torch::NoGradGuard withoutGradients;
    model.eval();
    const at::Generator &generator = at::globalContext().defaultGenerator(input.device());
    constexpr std::uint64_t seed = 1;
    torch::manual_seed(seed);
    const torch::Tensor before = generator.get_state(), first = model.whole(input);
    if (torch::equal(before, generator.get_state()))
        return {};
    torch::manual_seed(seed);
    const torch::Tensor again = model.whole(input);
    torch::manual_seed(seed + 1);
    const torch::Tensor other = model.whole(input);
    if (differClearly(first, again) || !differClearly(first, other)) // then it isn't the draws that change it
        return {};
    return scriptError(facts.title + " draws random numbers in evaluation, too, as dropout does that was saved by "
                                     "torch.jit.trace in training",
                       toScriptIt(facts));
}

std::string layerSentence(const std::exception &error) {
    const auto *torchs = dynamic_cast<const c10::Error *>(&error);
    return torchSentence(torchs ? torchs->what_without_backtrace() : error.what());
}

Result<ScriptTrial> tryScript(ScriptModel &model, const ModelFacts &facts, int classes, const torch::Tensor &input) {
    constexpr std::uint64_t seed = 1; // dropout must draw the same for both
    const at::Generator &generator = at::globalContext().defaultGenerator(input.device());
    torch::manual_seed(seed);
    const torch::Tensor before = generator.get_state();
    const torch::Tensor whole = model.whole(input);
    const ScriptTrial trial{.drawsNumbers = !torch::equal(before, generator.get_state())};
    if (!whole.is_floating_point() || whole.sizes() != torch::IntArrayRef{input.size(0), classes}) {
        std::ostringstream what;
        what << facts.title << " puts out " << whole.scalar_type() << " of shape " << whole.sizes() << " for "
             << input.size(0) << " samples of " << classes << " classes";
        return fail(scriptError(what.str(), "let it put out one number for each sample and class"));
    }
    torch::manual_seed(seed);
    torch::Tensor logits;
    try {
        logits = model.forward(input);
    } catch (const std::exception &error) {
        if (facts.layerNames.empty())
            throw;
        return fail(scriptError("the layers in the description of " + facts.title +
                                    ", called one after another, can't be called: " + layerSentence(error),
                                "name all submodules that are called, in their order, or leave \"layers\" out"));
    }
    if (auto fault = layerFault(model, facts, whole, logits))
        return fail(std::move(*fault));
    torch::cross_entropy_loss(logits, torch::zeros({input.size(0)}, logits.options().dtype(torch::kInt64))).backward();
    for (const auto &item : model.named_parameters())
        if (!item.value().grad().defined())
            return fail(scriptError("the parameter " + item.key() + " of " + facts.title + " gets no gradient",
                                    "remove it, or use it for what the module puts out"));
    if (auto fault = drawFault(model, facts, input))
        return fail(std::move(*fault));
    return trial;
}

} // namespace

Result<std::shared_ptr<Model>> loadScriptModel(const std::string &file) {
    auto loaded = loadScript(file);
    if (!loaded)
        return fail(loaded.error());
    return std::shared_ptr<Model>(std::move(*loaded));
}

Result<ScriptTrial> tryScriptModel(const std::string &file, int classes, std::int64_t padding, c10::Device device,
                                   torch::Dtype dtype) {
    auto loaded = loadScript(file);
    if (!loaded)
        return fail(loaded.error());
    const auto described = modelFacts(file);
    if (!described || !*described) // it was there a moment ago
        return fail(scriptError("can't read " + descriptionOf(file), "start again"));
    const ModelFacts &facts = **described;
    if (facts.sample.classes != classes) // of texts, known only now
        return fail(scriptError("the description of " + facts.title + " says " + std::to_string(facts.sample.classes) +
                                    " classes, and the data have " + std::to_string(classes),
                                "use other data, or another model"));
    ScriptModel &model = **loaded;
    if (auto fault = countFault(model, facts))
        return fail(std::move(*fault));
    const auto refusal = [&](const std::string &text) {
        return fail(
            scriptError(facts.title + " can't be trained on two " + inWords(facts.sample) + ": " + torchSentence(text),
                        "correct its forward(), or \"input\" in its description"));
    };
    try {
        model.to(device, dtype);
        model.train(true);
        return tryScript(model, facts, classes, trialInput(facts.sample, padding, device, dtype));
    } catch (const c10::Error &error) {
        return refusal(error.what_without_backtrace());
    } catch (const std::exception &error) {
        return refusal(error.what());
    }
}

} // namespace lockstep::trainer
