// SPDX-License-Identifier: MIT
#include <cstdio>
#include <iostream>

#include <c10/util/Exception.h>

#include "ipc/logging.h"
#include "ipc/printable.h"
#include "trainer/engine/process_facts.h"
#include "trainer/engine/stop_flag.h"
#include "trainer/lab/lab_rank.h"
#include "trainer/strategies/device_thread.h"

namespace lockstep::trainer {

namespace {

int complain(const Error &error) {
    std::fprintf(stderr, "lockstep-trainer: %s\n", printable(error.message()).c_str());
    return exitCodeOf(error);
}

/// Exceptions from torch are caught here.
int measure(const LabOptions &options, const RankEnvironment &env, const Placement &placement, const LabWork &work) {
    std::string text;
    try {
        const auto done = work(options, env, placement);
        return done ? 0 : complain(done.error());
    } catch (const c10::Error &error) {
        text = error.what_without_backtrace();
    } catch (const std::exception &error) {
        text = error.what();
    }
    return complain(Error::failed("rank " + std::to_string(env.rank) +
                                      " lost the others or failed: " + text.substr(0, text.find('\n')),
                                  "see what the other ranks say"));
}

Result<Placement> confine(LabOptions &options, const RankEnvironment &env) {
    if (env.worldSize < 2)
        return fail(Error::badArgument("a lab needs two ranks, and this one was started alone",
                                       "start it with lockstep-agent run --nproc-per-node 2 -- lockstep-trainer lab"));
    auto fitted = fitToLauncher(options.config, env);
    if (!fitted)
        return fail(fitted.error());
    options.config = *fitted;
    auto placement = placeOnMachine(options.config, env);
    if (!placement)
        return placement;
    // Before any other thread starts, since threads inherit cores and scheduling.
    if (const auto pinned = pinThread(placement->cores); !pinned)
        return fail(pinned.error());
    if (options.config.scheduling == "batch")
        useBatchScheduling();
    return placement;
}

} // namespace

int labRankMain(const std::vector<std::string> &arguments, const LabWork &work) {
    auto options = readLabOptions(arguments);
    if (!options) {
        for (const Error &error : options.error())
            (void)complain(error);
        return 2;
    }
    if (!options->text.empty()) {
        std::cout << options->text;
        return 0;
    }
    const auto env = readRankEnvironment(options->config.initMethod, processEnvironment());
    if (!env)
        return complain(env.error());
    LoggingOptions logging;
    logging.program = "lockstep-trainer";
    logging.rank = env->rank;
    setUpLogging(logging);
    stop_flag::install();
    const auto placement = confine(*options, *env);
    return placement ? measure(*options, *env, *placement, work) : complain(placement.error());
}

int labMain(const std::vector<std::string> &arguments) {
    return labRankMain(arguments, runLabRank);
}

} // namespace lockstep::trainer
