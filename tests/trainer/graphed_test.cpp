// SPDX-License-Identifier: MIT
// --cuda-graph without a GPU: which steps are recorded and launched, and that training walks the same way.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include <torch/torch.h>

#include "trainer/data/device_batches.h"
#include "trainer/engine/optimizer.h"
#include "trainer/report/host_clock.h"
#include "trainer/strategies/graphed.h"

using namespace lockstep::trainer;

namespace {

/// On a CPU: the work is kept and done at each launch, reading and writing where the recorded work would.
class WorkAgain final : public StepGraphs {
public:
    explicit WorkAgain(std::vector<std::string> &reported) : m_reported(reported) {}
    void record(Part part, const std::function<void()> &work) override {
        m_reported.push_back(std::string("record ") + name(part));
        m_works.at(part) = work;
    }
    void launch(Part part) override {
        m_reported.emplace_back(name(part));
        m_works.at(part)();
    }

private:
    static const char *name(Part part) { return std::array{"input", "forward", "backward", "optimizer"}.at(part); }
    std::vector<std::string> &m_reported;
    std::array<std::function<void()>, parts> m_works;
};

struct Walked {
    std::vector<double> losses, norms; ///< norms: of the gradients
    std::vector<torch::Tensor> parameters;
};

/// Five whole batches, one of padded duplicates, two whole ones, the epoch's smaller last one, and two whole ones.
constexpr std::int64_t whole = 8;
const std::array<std::pair<std::int64_t, std::int64_t>, 11> batches{
    {{8, 8}, {8, 8}, {8, 8}, {8, 8}, {8, 8}, {8, 6}, {8, 8}, {8, 8}, {5, 5}, {8, 8}, {8, 8}}};

/// `reported`: what was recorded and launched; null: without graphs. `maker`: batches are its, as with --loader device.
Walked walk(const std::string &name, const std::string &kind, std::vector<std::string> *reported,
            const DeviceBatches *maker = nullptr) {
    torch::manual_seed(3);
    const auto model = *makeModel(name, {});
    model->train();
    HostClock clock;
    std::unique_ptr<Strategy> strategy;
    if (reported)
        strategy = std::make_unique<Graphed>(model, clock, std::make_unique<WorkAgain>(*reported), whole);
    else
        strategy = std::make_unique<Baseline>(model, clock);
    NamedTensors named;
    for (const auto &item : model->named_parameters())
        named.emplace_back(item.key(), item.value());
    Optimizer optimizer(named, {kind, 0.05, 0.9, 0.01});
    Walked walked;
    std::vector<torch::Tensor> losses; // read at the end, as a window of steps is
    at::Generator pictures = at::detail::createCPUGenerator(7);
    for (const auto &[samples, real] : batches) {
        const auto labels = torch::randint(0, 10, {samples}, pictures, torch::kInt64);
        Batch batch{torch::randn({samples, 1, 28, 28}, pictures), labels, real};
        if (maker) { // any samples will do, such as the labels
            batch = maker->prepare({labels.data_ptr<std::int64_t>(), std::size_t(samples)}, 3, real);
            CHECK(!batch.inputs.defined());
            strategy->makeOnDevice(batch);
            CHECK(batch.targets.size(0) == samples);
        }
        strategy->bring(batch, c10::Device(torch::kCPU), true);
        losses.push_back(strategy->step(batch, false).loss);
        walked.norms.push_back(optimizer.gradientNorm().item<double>());
        strategy->runOptimizer(optimizer);
    }
    for (const auto &loss : losses)
        walked.losses.push_back(loss.item<double>());
    for (const auto &parameter : model->parameters())
        walked.parameters.push_back(parameter.detach().clone());
    return walked;
}

} // namespace

TEST_SUITE("graphed") {
    TEST_CASE("only whole batches without padded duplicates are recorded and launched, after three eager ones") {
        struct Row {
            std::int64_t samples, real, eager;
            bool recorded;
            StepWay way;
        };
        const Row rows[] = {{64, 64, 0, false, StepWay::Eager},  {64, 64, 2, false, StepWay::Eager},
                            {64, 64, 3, false, StepWay::Record}, {64, 64, 3, true, StepWay::Launch},
                            {32, 32, 9, true, StepWay::Eager},   {32, 32, 9, false, StepWay::Eager},
                            {64, 60, 9, true, StepWay::Eager},   {64, 0, 3, false, StepWay::Eager}};
        for (const Row &row : rows) {
            CAPTURE(row.samples);
            CAPTURE(row.real);
            CAPTURE(row.eager);
            CHECK(wayOf(row.samples, row.real, 64, row.eager, row.recorded) == row.way);
        }
    }

    TEST_CASE("with graphs training walks bit by bit the way it walks without them") {
        for (const char *model : {"lenet", "convnet"}) // convnet drops out: random numbers come in the same order
            for (const char *kind : {"sgd", "adamw"}) {
                CAPTURE(model);
                CAPTURE(kind);
                std::vector<std::string> reported;
                const Walked expected = walk(model, kind, nullptr), found = walk(model, kind, &reported);
                CHECK(found.losses == expected.losses);
                CHECK(found.norms == expected.norms);
                REQUIRE(found.parameters.size() == expected.parameters.size());
                for (std::size_t i = 0; i < found.parameters.size(); ++i)
                    CHECK(torch::equal(found.parameters[i], expected.parameters[i]));
            }
    }

    TEST_CASE("with --loader device batches are made by a graph of their own, from other samples each time") {
        DataSet set;
        torch::manual_seed(5);
        set.inputs = torch::randint(0, 256, {10, 1, 28, 28}, torch::kUInt8);
        set.targets = torch::arange(10);
        LoaderOptions options;
        options.device = c10::Device(torch::kCPU);
        for (const bool affine : {false, true}) {
            options.affine = affine;
            const DeviceBatches maker(set, options);
            std::vector<std::string> reported;
            const Walked expected = walk("lenet", "sgd", nullptr, &maker),
                         found = walk("lenet", "sgd", &reported, &maker);
            CHECK(found.losses == expected.losses);
            for (std::size_t i = 0; i < found.parameters.size(); ++i)
                CHECK(torch::equal(found.parameters[i], expected.parameters[i]));
            REQUIRE(reported.size() == 8 + 4 * 5);
            CHECK(reported[0] == "record input");
            CHECK(reported[1] == "input");
            CHECK(std::ranges::count(reported, "record input") == 1);
            CHECK(std::vector(reported.end() - 4, reported.end()) ==
                  std::vector<std::string>{"input", "forward", "backward", "optimizer"});
        }
    }

    TEST_CASE("each phase is recorded once, and launched in the order of the recording") {
        std::vector<std::string> reported, expected;
        (void)walk("lenet", "sgd", &reported);
        for (const char *part : {"forward", "backward", "optimizer"}) {
            expected.push_back(std::string("record ") + part);
            expected.emplace_back(part);
        }
        for (int step = 0; step < 5; ++step) // whole batches after the fourth; those in between go eagerly
            expected.insert(expected.end(), {"forward", "backward", "optimizer"});
        CHECK(reported == expected);
    }
}
