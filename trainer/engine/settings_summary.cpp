// SPDX-License-Identifier: MIT
#include "trainer/engine/settings_summary.h"

#include <string>

#include "ipc/model_facts.h"

namespace lockstep::trainer {

Summary summaryOfSettings(const Session &session) {
    Summary summary;
    const RunConfig &config = session.config;
    summary.method = toString(config.method);
    summary.backend = session.backend;
    summary.loader = config.loader;
    summary.model = modelTitle(config.model);
    summary.dataset = config.dataset;
    summary.optimizer = config.optimizer;
    summary.precision = config.precision;
    summary.augment = config.augment;
    summary.worldSize = session.env.worldSize;
    summary.devices = session.devices;
    summary.coresPerDevice = config.coresPerDevice;
    summary.threads = session.placement.threads;
    summary.workers = config.workers;
    const int loading = batchParts(config, session.env.worldSize);
    summary.workersTotal = config.workers * loading;
    summary.seed = config.seed;
    summary.batchSize = runBatch(config, session.env);
    summary.lr = effectiveLr(config, session.env);
    if (session.device().is_cuda() && config.loader != "device")
        summary.copies = std::string(config.pinMemory ? "pinned" : "pageable") +
                         (config.nonBlocking ? ", non-blocking" : ", blocking");
    summary.cudaGraph = config.cudaGraph;
    summary.oversubscribed = config.oversubscribe;
    return summary;
}

} // namespace lockstep::trainer
