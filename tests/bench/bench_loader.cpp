// SPDX-License-Identifier: MIT
// Images a second of lockstep-trainer's loader alone:
// bench_loader SAMPLES EPOCHS WORKERS item|batch affine|none CORES
// Prints one JSON object: {"epochs_s": [...], "images": N}. The reader and the workers run on CORES.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <ATen/Parallel.h>

#include "ipc/cores.h"
#include "trainer/data/loader.h"
#include "trainer/strategies/device_thread.h"

using namespace lockstep;
using namespace lockstep::trainer;

int main(int count, char **words) {
    if (count != 7) {
        std::fprintf(stderr, "bench_loader SAMPLES EPOCHS WORKERS item|batch affine|none CORES\n");
        return 2;
    }
    const auto cores = parseCores(words[6]);
    const auto set = loadDataSet("fashion-mnist", {}, Split::Train, std::atoll(words[1]));
    if (!cores || !set) {
        std::fprintf(stderr, "%s\n", (!cores ? cores.error() : set.error()).message().c_str());
        return 2;
    }
    (void)pinThread(*cores);
    at::set_num_threads(1);
    LoaderOptions options;
    options.workers = std::atoi(words[3]);
    options.itemwise = std::string(words[4]) == "item";
    options.affine = std::string(words[5]) == "affine";
    options.workerCores = *cores;
    Loader loader(*set, options);
    const int epochs = std::atoi(words[2]);
    std::string times;
    std::int64_t images = 0;
    for (int epoch = 0; epoch < epochs; ++epoch) {
        const auto begun = std::chrono::steady_clock::now();
        images = 0;
        loader.startEpoch(epoch, epochs - 1);
        while (const auto batch = loader.next())
            images += batch->targets.size(0);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
        times += (times.empty() ? "" : ",") + std::to_string(took.count());
    }
    std::printf("{\"epochs_s\":[%s],\"images\":%lld}\n", times.c_str(), static_cast<long long>(images));
    return 0;
}
