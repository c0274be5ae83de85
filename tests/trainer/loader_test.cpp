// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <map>
#include <pthread.h>
#include <sched.h>
#include <set>
#include <thread>

#include <doctest/doctest.h>
#include <torch/torch.h>

#include "temp_folder.h"
#include "tests/figure.h"
#include "trainer/data/loader.h"

using namespace lockstep;
using namespace lockstep::trainer;
using namespace lockstep::trainer::test;

namespace {

DataSet makeSet(std::int64_t n) {
    DataSet set;
    torch::manual_seed(11);
    set.inputs = torch::randint(0, 256, {n, 1, 28, 28}, torch::kUInt8);
    set.targets = torch::arange(n).remainder(10);
    return set;
}

struct Seen {
    std::vector<torch::Tensor> inputs, targets;
    std::vector<std::int64_t> real;
};

void readEpoch(Loader &loader, std::int64_t epoch, std::int64_t lastEpoch, Seen &seen, std::int64_t first = 0) {
    loader.startEpoch(epoch, lastEpoch, first);
    while (auto batch = loader.next()) {
        seen.inputs.push_back(batch->inputs);
        seen.targets.push_back(batch->targets);
        seen.real.push_back(batch->real);
    }
}

Seen readEpochs(const DataSet &set, const LoaderOptions &options, std::int64_t epochs) {
    Loader loader(set, options);
    Seen seen;
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch)
        readEpoch(loader, epoch, epochs - 1, seen);
    return seen;
}

bool same(const Seen &a, const Seen &b) {
    bool equal = a.inputs.size() == b.inputs.size() && a.real == b.real;
    for (std::size_t i = 0; equal && i < a.inputs.size(); ++i)
        equal = torch::equal(a.inputs[i], b.inputs[i]) && torch::equal(a.targets[i], b.targets[i]);
    return equal;
}

/// The cores that each of this process's threads named loader-N may run on.
std::map<std::string, CoreList> loaderThreads() {
    std::map<std::string, CoreList> threads;
    for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
        auto name = readFile(task.path() / "comm"); // empty when the thread has just ended
        if (name.rfind("loader-", 0) != 0)
            continue;
        name.pop_back();
        cpu_set_t set;
        CPU_ZERO(&set);
        if (sched_getaffinity(std::stoi(task.path().filename()), sizeof set, &set) != 0)
            continue; // ended meanwhile
        for (int core = 0; core < CPU_SETSIZE; ++core)
            if (CPU_ISSET(core, &set))
                threads[name].push_back(core);
    }
    return threads;
}

} // namespace

TEST_SUITE("loader") {
    TEST_CASE("a batch holds the sampler's samples, normalised, in order, the last one smaller") {
        const auto set = makeSet(50);
        LoaderOptions options;
        options.batchSize = 16;
        Loader loader(set, options);
        CHECK(loader.steps() == 4);
        Seen seen;
        readEpoch(loader, 3, 3, seen);
        const auto order = torch::tensor(sampleOrder(50, 1, 0, 1, 3).indices);
        CHECK(seen.inputs.size() == 4);
        CHECK(seen.inputs.back().size(0) == 2);
        CHECK(torch::equal(torch::cat(seen.targets), set.targets.index_select(0, order)));
        const auto expected =
            set.inputs.index_select(0, order).to(torch::kFloat32).div(255).sub(set.spec.mean).div(set.spec.std);
        CHECK(torch::equal(torch::cat(seen.inputs), expected));
        CHECK(torch::equal(normalize(set.inputs, set.spec, torch::kFloat32).index_select(0, order), expected));
    }

    TEST_CASE("shares that change within an epoch apply from the step at which it is started again, with workers too") {
        const auto set = makeSet(200);
        for (const int workers : {0, 2}) {
            std::vector<std::multiset<std::int64_t>> even(7), uneven(7); // targets by step
            std::vector<double> weights;
            for (const int rank : {0, 1}) {
                LoaderOptions options;
                options.batchSize = 16;
                options.worldSize = 2;
                options.rank = rank;
                options.workers = workers;
                Loader plain(set, options), changed(set, options);
                plain.startEpoch(0, 1);
                changed.startEpoch(0, 1);
                for (std::size_t step = 0; step < 7; ++step) {
                    if (step == 2) {
                        changed.share({24, 8});
                        changed.startEpoch(0, 1, 2);
                    }
                    const auto one = plain.next(), other = changed.next();
                    REQUIRE((one && other));
                    const auto add = [](std::multiset<std::int64_t> &to, const torch::Tensor &targets) {
                        for (std::int64_t i = 0; i < targets.size(0); ++i)
                            to.insert(targets[i].item<std::int64_t>());
                    };
                    add(even[step], one->targets);
                    add(uneven[step], other->targets);
                    CHECK(one->weight == 1);
                    if (step < 2)
                        CHECK(other->weight == 1);
                    else if (step < 6)
                        CHECK(other->weight == (rank == 0 ? 1.5 : 0.5));
                    else // the last 8 samples
                        CHECK(other->targets.size(0) == (rank == 0 ? 6 : 2));
                }
                CHECK(!changed.next());
                changed.startEpoch(1, 1);
                CHECK(changed.next()->targets.size(0) == (rank == 0 ? 24 : 8));
            }
            CHECK((even == uneven));
        }
    }

    TEST_CASE("fp64 pixels are computed in fp64") {
        const auto set = makeSet(8);
        const auto expected = set.inputs.to(torch::kFloat64).div(255).sub(set.spec.mean).div(set.spec.std);
        CHECK(torch::equal(normalize(set.inputs, set.spec, torch::kFloat64), expected));
        LoaderOptions options;
        options.dtype = torch::kFloat64;
        const auto seen = readEpochs(set, options, 1);
        CHECK(torch::equal(seen.inputs.at(0),
                           expected.index_select(0, torch::tensor(sampleOrder(8, 1, 0, 1, 0).indices))));
    }

    TEST_CASE("neither workers nor the loader's kind change a bit, over epochs, with and without augmentation") {
        const auto set = makeSet(150);
        for (const bool affine : {false, true}) {
            for (const auto dtype : {torch::kFloat32, torch::kFloat64}) {
                LoaderOptions options;
                options.batchSize = 32;
                options.affine = affine;
                options.dtype = dtype;
                const auto expected = readEpochs(set, options, 3);
                for (const int workers : {0, 1, 3}) {
                    for (const bool itemwise : {false, true}) {
                        CAPTURE(workers);
                        CAPTURE(itemwise);
                        CAPTURE(affine);
                        options.workers = workers;
                        options.itemwise = itemwise;
                        CHECK(same(readEpochs(set, options, 3), expected));
                    }
                }
            }
        }
    }

    TEST_CASE("tokens come as they are, and several targets of a sample together, from every kind of loader") {
        DataSet set;
        set.spec.sample = {.values = Values::Tokens, .sizes = {16}, .classes = 4};
        set.inputs = torch::arange(50 * 16).remainder(256).view({50, 16});
        for (const torch::Tensor &targets :
             {torch::arange(50).remainder(4), torch::arange(150).remainder(4).view({50, 3})}) {
            set.targets = targets;
            LoaderOptions options;
            options.batchSize = 16;
            const auto order = torch::tensor(sampleOrder(50, 1, 0, 1, 0).indices);
            for (const int workers : {0, 2})
                for (const char *kind : {"batch", "item", "device"}) {
                    CAPTURE(kind);
                    options.workers = workers;
                    options.itemwise = std::string_view(kind) == "item";
                    options.device =
                        std::string_view(kind) == "device" ? std::optional(c10::Device(torch::kCPU)) : std::nullopt;
                    const auto seen = readEpochs(set, options, 1);
                    CHECK(torch::equal(torch::cat(seen.inputs), set.inputs.index_select(0, order)));
                    CHECK(torch::equal(torch::cat(seen.targets), set.targets.index_select(0, order)));
                }
            CHECK(torch::equal(normalize(set.inputs, set.spec, torch::kFloat64), set.inputs));
        }
    }

    TEST_CASE("batches made on the device are the host's, bit for bit on a CPU, augmented or not") {
        const auto set = makeSet(101);
        for (const bool affine : {false, true}) {
            for (const auto dtype : {torch::kFloat32, torch::kFloat64}) {
                CAPTURE(affine);
                LoaderOptions options;
                options.batchSize = 32;
                options.affine = affine;
                options.dtype = dtype;
                const auto host = readEpochs(set, options, 2);
                options.device = c10::Device(torch::kCPU);
                CHECK(same(readEpochs(set, options, 2), host));
            }
        }
    }

    TEST_CASE("no pixel of 60,000 images moved on the device lies elsewhere than the host put it") {
        const auto set = makeSet(6'000);
        LoaderOptions options;
        options.batchSize = 64;
        options.affine = true;
        for (int seed = 1; seed <= 5; ++seed) {
            options.seed = static_cast<std::uint64_t>(seed);
            options.device.reset();
            const auto host = readEpochs(set, options, 2);
            options.device = c10::Device(torch::kCPU);
            CHECK(same(readEpochs(set, options, 2), host));
        }
    }

    TEST_CASE("augmentation differs from epoch to epoch and is the same whichever worker loads the image") {
        const auto set = makeSet(24);
        LoaderOptions options;
        options.affine = true;
        options.batchSize = 24;
        const auto whole = readEpochs(set, options, 2);
        const auto placeOf = [](const SampleOrder &order, std::int64_t sample) {
            return std::find(order.indices.begin(), order.indices.end(), sample) - order.indices.begin();
        };
        const auto first = sampleOrder(24, 1, 0, 1, 0), second = sampleOrder(24, 1, 0, 1, 1);
        CHECK_FALSE(torch::equal(whole.inputs[0][placeOf(first, 5)], whole.inputs[1][placeOf(second, 5)]));
        for (int rank = 0; rank < 3; ++rank) {
            options.worldSize = 3;
            options.rank = rank;
            options.batchSize = 8;
            const auto part = readEpochs(set, options, 1);
            const auto order = sampleOrder(24, 3, rank, 1, 0);
            for (std::int64_t i = 0; i < 8; ++i)
                CHECK(torch::equal(part.inputs[0][i],
                                   whole.inputs[0][placeOf(first, order.indices[static_cast<std::size_t>(i)])]));
        }
    }

    TEST_CASE(
        "seed, epoch and index alone say an image's pixels: not workers, ranks, the loader's kind or where it began") {
        const auto set = makeSet(50);
        constexpr std::int64_t epoch = 3;
        std::map<std::int64_t, torch::Tensor> expected;
        LoaderOptions options;
        options.affine = true;
        const auto whole = sampleOrder(50, 1, 0, 1, epoch).indices;
        Loader first(set, options);
        first.startEpoch(epoch, epoch);
        const auto images = first.next()->inputs;
        for (std::size_t i = 0; i < whole.size(); ++i)
            expected[whole[i]] = images[static_cast<std::int64_t>(i)];
        options.batchSize = 4;
        for (options.worldSize = 1; options.worldSize <= 3; ++options.worldSize) {
            for (options.rank = 0; options.rank < options.worldSize; ++options.rank) {
                const auto order = sampleOrder(50, options.worldSize, options.rank, 1, epoch).indices;
                for (options.workers = 0; options.workers <= 2; ++options.workers) {
                    for (const bool itemwise : {false, true}) {
                        for (const int firstBatch : {0, 2}) {
                            options.itemwise = itemwise;
                            Loader loader(set, options);
                            Seen seen;
                            readEpoch(loader, epoch, epoch, seen, firstBatch);
                            const auto got = torch::cat(seen.inputs);
                            REQUIRE(got.size(0) == static_cast<std::int64_t>(order.size()) - 4 * firstBatch);
                            bool same = true;
                            for (std::int64_t i = 0; i < got.size(0); ++i)
                                same &= torch::equal(got[i],
                                                     expected.at(order[static_cast<std::size_t>(i + 4 * firstBatch)]));
                            CAPTURE(options.worldSize);
                            CAPTURE(options.rank);
                            CAPTURE(options.workers);
                            CAPTURE(itemwise);
                            CAPTURE(firstBatch);
                            CHECK(same);
                        }
                    }
                }
            }
        }
    }

    TEST_CASE("padded duplicates are not counted as real samples") {
        const auto set = makeSet(10);
        LoaderOptions options;
        options.worldSize = 4;
        options.batchSize = 2;
        std::int64_t real = 0, all = 0;
        for (options.rank = 0; options.rank < 4; ++options.rank) {
            const auto seen = readEpochs(set, options, 1);
            for (std::size_t i = 0; i < seen.real.size(); ++i) {
                real += seen.real[i];
                all += seen.targets[i].size(0);
            }
        }
        CHECK(real == 10);
        CHECK(all == 12);
    }

    TEST_CASE("an epoch can be entered at any batch and left early") {
        const auto set = makeSet(100);
        for (const int workers : {0, 2}) {
            CAPTURE(workers);
            LoaderOptions options;
            options.batchSize = 10;
            options.workers = workers;
            const auto expected = readEpochs(set, options, 3);
            Loader loader(set, options);
            Seen seen;
            readEpoch(loader, 1, 2, seen, 7);
            REQUIRE(seen.inputs.size() == 3);
            CHECK(torch::equal(seen.inputs[0], expected.inputs[17]));
            loader.startEpoch(1, 2, 10); // resumed at the epoch's very end
            CHECK_FALSE(loader.next());
            loader.startEpoch(2, 2);
            CHECK(torch::equal(loader.next()->inputs, expected.inputs[20]));
            loader.startEpoch(0, 0); // left after one batch
            CHECK(torch::equal(loader.next()->inputs, expected.inputs[0]));
            loader.startEpoch(0, 0);
            CHECK(torch::equal(loader.next()->inputs, expected.inputs[0]));
        }
    }

    TEST_CASE("what workers still made for an epoch that was left never comes out") {
        const auto set = makeSet(256);
        LoaderOptions options;
        options.batchSize = 128;
        options.workers = 3;
        options.itemwise = true; // slow, so that workers are in the middle of a batch when the reader leaves
        const auto expected = readEpochs(set, options, 8);
        Loader loader(set, options);
        for (int jump = 0; jump < 60; ++jump) {
            const int epoch = jump * 5 % 8;
            loader.startEpoch(epoch, 7);
            std::this_thread::sleep_for(std::chrono::microseconds(jump * 37 % 900));
            loader.startEpoch((epoch + 3) % 8, 7, 1);
            CHECK(torch::equal(loader.next()->inputs,
                               expected.inputs[static_cast<std::size_t>((epoch + 3) % 8 * 2 + 1)]));
        }
    }

    TEST_CASE("what is ready at an epoch's start is reported: nothing in the first, a whole ring after a pause") {
        const auto set = makeSet(64);
        LoaderOptions options;
        options.batchSize = 8;
        CHECK(!Loader(set, options).ready()); // nobody makes batches ahead
        options.workers = 2;
        Loader loader(set, options);
        CHECK(loader.ready() == 0);
        loader.startEpoch(0, 1);
        while (loader.next()) {
        }
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (loader.ready() != 4 && std::chrono::steady_clock::now() < deadline) // evaluation, say
            std::this_thread::yield();
        loader.startEpoch(1, 1);
        CHECK(loader.ready() == 4); // of the next epoch; two a worker
    }

    TEST_CASE("no batch comes before an epoch is started") {
        const auto set = makeSet(4);
        Loader loader(set, {});
        CHECK_FALSE(loader.next());
    }

    TEST_CASE("a loader that nobody reads from ends at once") {
        const auto set = makeSet(200);
        LoaderOptions options;
        options.workers = 3;
        options.batchSize = 4;
        const auto began = std::chrono::steady_clock::now();
        for (int i = 0; i < 20; ++i) {
            Loader loader(set, options);
            loader.startEpoch(0, 100);
            if (i % 2)
                (void)loader.next();
        }
        lockstep::test::printFigure("20 loaders that nobody reads from ended", began, 10);
        for (int tries = 0; tries < 100 && !loaderThreads().empty(); ++tries) // joined, the kernel still tidies up
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        CHECK(loaderThreads().empty());
    }

    TEST_CASE("workers are named and run on the cores they were given") {
        const auto set = makeSet(40);
        const auto allowed = allowedCores();
        LoaderOptions options;
        options.workers = 2;
        options.batchSize = 4;
        options.workerCores = {allowed.back()};
        Loader loader(set, options);
        loader.startEpoch(0, 0);
        REQUIRE(loader.next());
        auto threads = loaderThreads(); // the second worker may still be on its way up
        for (int tries = 0;
             tries < 500 && threads != std::map<std::string, CoreList>{{"loader-0", options.workerCores},
                                                                       {"loader-1", options.workerCores}};
             ++tries) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            threads = loaderThreads();
        }
        REQUIRE(threads.size() == 2);
        for (const auto &[name, cores] : threads) {
            CAPTURE(name);
            CHECK(cores == CoreList{allowed.back()});
        }
        CHECK(allowedCores() == allowed); // the caller stays where it was
    }

    TEST_CASE("workers leave the number of intra-op threads of others alone") {
        const auto set = makeSet(40);
        const int before = at::get_num_threads();
        LoaderOptions options;
        options.workers = 2;
        (void)readEpochs(set, options, 1);
        int born = 0;
        std::thread([&born] { born = at::get_num_threads(); }).join();
        CHECK(at::get_num_threads() == before);
        CHECK(born == before);
    }

    TEST_CASE("a worker's failure comes out of next() as one sentence, and the loader still ends") {
        const auto set = makeSet(40);
        LoaderOptions options;
        options.workers = 2;
        options.workerCores = {CPU_SETSIZE - 1}; // no machine here has it
        Loader loader(set, options);
        loader.startEpoch(0, 0);
        CHECK_THROWS_WITH_AS((void)loader.next(),
                             doctest::Contains(("cores " + std::to_string(CPU_SETSIZE - 1)).c_str()),
                             std::runtime_error);
    }
}
