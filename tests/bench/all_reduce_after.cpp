// SPDX-License-Identifier: MIT
// DDP as pytorch/examples' C++ dist-mnist does it: backward to its end, then one blocking all-reduce a parameter.
// Loader, model and optimizer are lockstep-trainer's, so what differs is communication alone.
// all_reduce_after SAMPLES EPOCHS BATCH CORES OUT   under torchrun's variables (lockstep-agent run sets them);
// rank R runs on the R-th of CORES and writes {"epochs_s": [...]} to OUT followed by R.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <torch/utils.h>

#include "ipc/cores.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/store.h"
#include "trainer/data/loader.h"
#include "trainer/engine/optimizer.h"
#include "trainer/models/lenet.h"
#include "trainer/strategies/device_thread.h"
#include "trainer/strategies/strategy.h"

using namespace lockstep;
using namespace lockstep::trainer;

namespace {

int refuse(const std::string &why) {
    std::fprintf(stderr, "all_reduce_after: %s\n", why.c_str());
    return 2;
}

void averageEach(const std::vector<torch::Tensor> &parameters, Communicator &communicator) {
    const c10::AutoGradMode noGrad(false);
    for (const auto &parameter : parameters) {
        std::vector<at::Tensor> gradient{parameter.grad()};
        communicator.group()->allreduce(gradient)->wait();
        gradient[0].div_(communicator.worldSize());
    }
}

} // namespace

int main(int count, char **words) {
    if (count != 6)
        return refuse("SAMPLES EPOCHS BATCH CORES OUT");
    const auto env = readRankEnvironment("env://", processEnvironment());
    const auto cores = parseCores(words[4]);
    const auto set = loadDataSet("fashion-mnist", {}, Split::Train, std::atoll(words[1]));
    if (!env || !cores || !set)
        return refuse((!env ? env.error() : !cores ? cores.error() : set.error()).message());
    (void)pinThread({cores->at(static_cast<std::size_t>(env->rank))});
    at::set_num_threads(1);
    const auto store = openStore(*env, std::chrono::seconds(60));
    if (!store)
        return refuse(store.error().message());
    Communicator communicator(*env, *store);
    communicator.connect("gloo", torch::kCPU, {{}, "127.0.0.1"});
    torch::manual_seed(1);
    LeNet model;
    NamedTensors named;
    for (const auto &item : model.named_parameters())
        named.emplace_back(item.key(), item.value());
    Optimizer optimizer(named, {"sgd", 0.01, 0.9, 0});
    LoaderOptions options;
    options.batchSize = std::atoll(words[3]) / env->worldSize;
    options.worldSize = env->worldSize;
    options.rank = env->rank;
    Loader loader(*set, options);
    std::string times;
    for (int epoch = 0, epochs = std::atoi(words[2]); epoch < epochs; ++epoch) {
        communicator.barrier();
        const auto begun = std::chrono::steady_clock::now();
        loader.startEpoch(epoch, epochs - 1);
        while (const auto batch = loader.next()) {
            crossEntropy(model.forward(batch->inputs), batch->targets).backward();
            averageEach(model.parameters(), communicator);
            optimizer.step();
            optimizer.clearGradients();
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
        times += (times.empty() ? "" : ",") + std::to_string(took.count());
    }
    std::ofstream(std::string(words[5]) + std::to_string(env->rank)) << "{\"epochs_s\":[" << times << "]}\n";
    return 0;
}
