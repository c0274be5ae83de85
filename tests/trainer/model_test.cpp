// SPDX-License-Identifier: MIT
#include <map>

#include <doctest/doctest.h>
#include <torch/torch.h>

#include "ipc/models.h"
#include "trainer/data/safetensors.h"
#include "trainer/models/bert.h"
#include "trainer/models/model.h"
#include "trainer/models/relu_max_pool.h"

using namespace lockstep;
using namespace lockstep::trainer;

namespace {

std::map<std::string, torch::Tensor> golden(const std::string &name) {
    const auto file = readTensors(LOCKSTEP_GOLDEN_DIR "/" + name + ".safetensors");
    REQUIRE(file);
    return {file->tensors.begin(), file->tensors.end()};
}

double largestDifference(const torch::Tensor &a, const torch::Tensor &b) {
    return (a - b).abs().max().item<double>();
}

/// What make_golden.py keeps of a large tensor: its product with a fixed vector, and the sum of its magnitudes.
torch::Tensor probe(const torch::Tensor &tensor) {
    const auto flat = tensor.detach().to(torch::kFloat64).flatten();
    return torch::stack({flat.dot(torch::linspace(-1, 1, flat.numel(), torch::kFloat64)), flat.abs().sum()});
}

std::shared_ptr<Model> seeded(const std::string &name) {
    torch::manual_seed(7);
    auto model = makeModel(name, {.dropout = 0.0});
    REQUIRE(model);
    return *model;
}

} // namespace

TEST_SUITE("model") {
    TEST_CASE("parameters are named, ordered and shaped as PyTorch's state_dict has them") {
        using Shapes = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;
        const std::map<std::string, Shapes> expected{{"lenet",
                                                      {{"conv1.weight", {6, 1, 5, 5}},
                                                       {"conv1.bias", {6}},
                                                       {"conv2.weight", {16, 6, 5, 5}},
                                                       {"conv2.bias", {16}},
                                                       {"fc1.weight", {120, 400}},
                                                       {"fc1.bias", {120}},
                                                       {"fc2.weight", {84, 120}},
                                                       {"fc2.bias", {84}},
                                                       {"fc3.weight", {10, 84}},
                                                       {"fc3.bias", {10}}}},
                                                     {"convnet",
                                                      {{"conv1.weight", {32, 1, 3, 3}},
                                                       {"conv1.bias", {32}},
                                                       {"conv2.weight", {64, 32, 3, 3}},
                                                       {"conv2.bias", {64}},
                                                       {"fc1.weight", {128, 9216}},
                                                       {"fc1.bias", {128}},
                                                       {"fc2.weight", {10, 128}},
                                                       {"fc2.bias", {10}}}}};
        for (const auto &[name, shapes] : expected) {
            Shapes found;
            for (const auto &parameter : seeded(name)->named_parameters())
                found.emplace_back(parameter.key(), parameter.value().sizes().vec());
            CHECK(found == shapes);
        }
    }

    TEST_CASE("every model has the parameters in its row, and takes the row's samples to its classes") {
        for (const ModelSpec &row : modelTable) {
            CAPTURE(row.name);
            const auto model = *makeModel(row.name, {});
            std::int64_t parameters = 0;
            for (const auto &parameter : model->parameters())
                parameters += parameter.numel();
            CHECK(parameters == row.parameters);
            CHECK(model->layerCount() == static_cast<std::size_t>(row.layers));
            for (const auto &item : model->named_parameters())
                CHECK(model->layerOf(item.key()) < model->layerCount());
            std::vector<std::int64_t> sizes{2};
            sizes.insert(sizes.end(), row.sample.sizes.begin(), row.sample.sizes.begin() + row.sample.dimensions());
            if (row.sample.values == Values::Text)
                sizes.push_back(7); // tokens
            const auto dtype = row.sample.values == Values::Pixels ? torch::kFloat32 : torch::kInt64;
            const int classes = row.sample.classes > 0 ? row.sample.classes : Bert::usualClasses;
            for (const bool bf16 : {false, true}) {
                model->setAutocast(bf16);
                const auto logits = model->forward(torch::ones(sizes, dtype));
                CHECK(logits.sizes() == torch::IntArrayRef{2, classes});
                CHECK((logits.scalar_type() == torch::kFloat32));
            }
        }
    }

    TEST_CASE("fresh parameters are those that Python draws from the same seed, bit for bit") {
        for (const std::string name : {"lenet", "convnet"}) {
            const auto expected = golden(name);
            for (const auto &parameter : seeded(name)->named_parameters()) {
                CAPTURE(parameter.key());
                if (const auto whole = expected.find("param." + parameter.key()); whole != expected.end())
                    CHECK(torch::equal(parameter.value(), whole->second));
                else
                    CHECK(largestDifference(probe(parameter.value()), expected.at("param_probe." + parameter.key())) <
                          1e-9);
            }
        }
    }

    TEST_CASE("logits, loss and gradients are Python's to 1e-12 in fp64") {
        for (const std::string name : {"lenet", "convnet"}) {
            const auto expected = golden(name);
            const auto model = seeded(name);
            model->to(torch::kFloat64);
            const auto logits = model->forward(expected.at("images"));
            const auto loss = torch::cross_entropy_loss(logits, expected.at("labels"));
            loss.backward();
            CAPTURE(name);
            CHECK(largestDifference(logits, expected.at("logits")) < 1e-12);
            CHECK(largestDifference(loss, expected.at("loss")) < 1e-12);
            for (const auto &parameter : model->named_parameters()) {
                CAPTURE(parameter.key());
                const auto golden = expected.at("grad_probe." + parameter.key());
                CHECK(largestDifference(probe(parameter.value().grad()), golden) <
                      1e-12 * std::max(1.0, golden.abs().max().item<double>()));
            }
        }
    }

    TEST_CASE("pooling in one pass gives torch's bits, forward and backward, ties, NaN and odd sizes included") {
        torch::manual_seed(5);
        for (const auto dtype : {torch::kFloat32, torch::kFloat64}) {
            for (const auto side : {2, 10, 28, 7}) {
                CAPTURE(side);
                auto input = torch::randn({3, 4, side, side}, dtype);
                input.copy_(input.mul(2).round().div(2)); // many ties
                input[1][2][1][1] = NAN;
                auto ours = input.clone().requires_grad_(), theirs = input.clone().requires_grad_();
                const auto a = reluMaxPool2(ours), b = torch::max_pool2d(torch::relu(theirs), 2);
                CHECK(torch::allclose(a, b, 0, 0, true));
                const auto gradient = torch::randn_like(a);
                a.backward(gradient);
                b.backward(gradient);
                CHECK(torch::equal(ours.grad(), theirs.grad()));
            }
        }
        const auto strided = torch::randn({2, 6, 8, 3}).permute({0, 3, 1, 2});
        CHECK(torch::equal(reluMaxPool2(strided), torch::max_pool2d(torch::relu(strided), 2)));
    }

    TEST_CASE("channels last computes the same, and bf16 nearly so, with parameters and gradients still in fp32") {
        for (const char *name : {"lenet", "convnet"}) {
            CAPTURE(name);
            const auto gradients = [name](bool channelsLast, bool bf16, torch::Tensor &logits) {
                torch::manual_seed(3);
                const auto model = *makeModel(name, {.dropout = 0.0});
                if (channelsLast)
                    model->setChannelsLast();
                model->setAutocast(bf16);
                const auto input = torch::randn({16, 1, 28, 28});
                logits = model->forward(input);
                torch::cross_entropy_loss(logits, torch::arange(16).remainder(10)).backward();
                std::vector<torch::Tensor> flat;
                for (const auto &parameter : model->parameters()) {
                    CHECK((parameter.scalar_type() == torch::kFloat32));
                    flat.push_back(parameter.grad().contiguous().view(-1));
                }
                return torch::cat(flat);
            };
            torch::Tensor logits, others;
            const auto plain = gradients(false, false, logits);
            const auto apart = [&](const torch::Tensor &gradient) {
                return ((gradient - plain).norm() / plain.norm()).item<double>();
            };
            CHECK(apart(gradients(true, false, others)) < 1e-5);
            CHECK(torch::allclose(others, logits, 1e-4, 1e-5));
            const double bf16 = apart(gradients(false, true, others));
            CHECK((others.scalar_type() == torch::kFloat32));
            CHECK(bf16 > 1e-4); // else nothing was computed in bf16
            CHECK(bf16 < 0.15); // eight bits of mantissa
        }
    }

    TEST_CASE("layer by layer, in any parts, a model computes what it computes as a whole") {
        for (const ModelSpec &row : modelTable) {
            CAPTURE(row.name);
            const auto model = seeded(std::string(row.name));
            std::vector<std::int64_t> sizes{3};
            sizes.insert(sizes.end(), row.sample.sizes.begin(), row.sample.sizes.begin() + row.sample.dimensions());
            if (row.sample.values == Values::Text)
                sizes.push_back(7);
            const auto input =
                row.sample.values == Values::Pixels ? torch::rand(sizes) : torch::ones(sizes, torch::kInt64);
            const auto whole = model->forward(input);
            for (std::size_t cut = 0; cut <= model->layerCount(); ++cut) {
                const auto before = model->forwardThrough(0, cut, input);
                CHECK(torch::equal(model->forwardThrough(cut, model->layerCount(), before), whole));
            }
        }
    }

    TEST_CASE("--dropout replaces both of convnet's rates, and 0 switches them off") {
        const auto input = torch::randn({2, 1, 28, 28});
        const auto off = *makeModel("convnet", {.dropout = 0.0});
        CHECK(torch::equal(off->forward(input), off->forward(input)));
        const auto on = *makeModel("convnet", {});
        CHECK_FALSE(torch::equal(on->forward(input), on->forward(input)));
        on->eval();
        CHECK(torch::equal(on->forward(input), on->forward(input)));
    }

    TEST_CASE("dropout draws torch's own numbers, and leaves the same ones in its gradient") {
        struct Dropping : Model {
            using Model::drop;
        } model;
        for (const double rate : {0.1, 0.5}) {
            auto ours = torch::randn({64, 100}, torch::requires_grad()),
                 theirs = ours.detach().clone().requires_grad_();
            torch::manual_seed(7);
            const auto dropped = model.drop(ours, rate);
            torch::manual_seed(7);
            const auto expected = torch::dropout(theirs, rate, true);
            CHECK(torch::equal(dropped, expected));
            dropped.sum().backward();
            expected.sum().backward();
            CHECK(torch::equal(ours.grad(), theirs.grad()));
        }
        model.eval();
        const auto input = torch::randn({8});
        CHECK(torch::equal(model.drop(input, 0.5), input));
    }

    TEST_CASE("an unknown model and an impossible dropout are bad arguments that name the choices") {
        const auto unknown = makeModel("resnet", {});
        REQUIRE_FALSE(unknown);
        CHECK(unknown.error().message().find("'resnet'") != std::string::npos);
        CHECK(unknown.error().message().find(modelNames()) != std::string::npos);
        CHECK(unknown.error().kind == ErrorKind::BadArgument);
        for (const double rate : {-0.1, 1.0, std::nan("")})
            CHECK_FALSE(makeModel("convnet", {.dropout = rate}));
    }
}
