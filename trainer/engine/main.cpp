// SPDX-License-Identifier: MIT
// lockstep-trainer: one rank. Exit codes: 0 done, 1 failed, 2 bad arguments, 130 stopped.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "ipc/clock.h"
#include "ipc/file_system.h"
#include "ipc/logging.h"
#include "ipc/model_facts.h"
#include "ipc/printable.h"
#include "ipc/standard_streams.h"
#include "trainer/engine/arguments.h"
#include "trainer/engine/model_costs.h"
#include "trainer/engine/outputs.h"
#include "trainer/engine/process_facts.h"
#include "trainer/engine/rank_run.h"
#include "trainer/engine/stop_flag.h"
#include "trainer/engine/trainer_facts.h"
#include "trainer/lab/lab_rank.h"
#include "trainer/lab/rank_check.h"
#include "trainer/report/frame_sender.h"
#include "trainer/report/memory_shortage.h"
#include "trainer/report/torch_sentence.h"

using namespace lockstep;
using namespace lockstep::trainer;

namespace {

constexpr std::chrono::seconds framesEndWithin(2);

/// On a command line a field is its flag.
void complain(Error error) {
    if (const FieldSpec *field = findField(error.where))
        error.where = flagOf(*field);
    std::fprintf(stderr, "lockstep-trainer: %s\n", printable(error.message()).c_str());
}

/// Sends our log lines to stderr and, as log frames, to where frames go. With an agent, which keeps the frames, stderr gets only
/// what a person must see.
void setUpLog(int rank, FrameSender *frames) {
    LoggingOptions options;
    options.program = "lockstep-trainer";
    options.rank = rank;
    options.toStderr = !frames || !frames->toSocket();
    if (frames) {
        options.sink = [frames](LogLevel level, std::string_view message) {
            frames->send(LogFrame{std::string(toString(level)), std::string(message), "trainer"});
            if (frames->toSocket() && level >= LogLevel::Warning)
                std::fprintf(stderr, "lockstep-trainer: %s\n", printable(message).c_str());
        };
    }
    setUpLogging(options);
}

/// What a person typed in vain. An agent passes on what a whole recipe sets, to runs that it means nothing for as well.
void warnOfFlagsWithoutEffect(const Arguments &arguments, const RunConfig &config, const RankEnvironment &env) {
    if (env.rank > 0 || std::getenv("LOCKSTEP_RUN"))
        return;
    for (const FieldSpec *field : arguments.given)
        if (!appliesTo(*field, config) && field->get(config) != field->get(RunConfig()))
            logWarning(flagOf(*field) + "=" + field->get(config) + " has no effect on this run");
    if (config.maxRestarts > 0 && env.maxRestarts == 0)
        logWarning("--max-restarts has no effect without lockstep-agent or torchrun, which start ranks again");
}

Result<RunConfig> settleConfig(RunConfig config, const RankEnvironment &env) {
    if (const char *address = std::getenv("LOCKSTEP_FRAMES"); config.frames.empty() && address)
        config.frames = address;
    auto fitted = fitToLauncher(std::move(config), env);
    if (!fitted)
        return fitted;
    if (auto problems = validate(*fitted); !problems.empty())
        return fail(problems.front());
    if (auto there = checkModelFile(fitted->model); !there)
        return fail(there.error());
    if (auto writable = checkOutputs(*fitted); !writable)
        return fail(writable.error());
    return fitted;
}

/// Exceptions from torch are caught here, as runRank() does for a training.
Result<std::string> measureModel(const Arguments &arguments) {
    try {
        return modelCostsJson(arguments.config, arguments.modelCosts);
    } catch (...) {
        const std::string text = textOfException(), shortage = memoryShortage(text, freeMemoryInWords());
        if (!shortage.empty())
            return fail(Error::failed("measuring the model ran out of memory: " + shortage, "take a smaller batch"));
        return fail(Error::failed("measuring the model failed: " + torchSentence(text)));
    }
}

int runProgram(int argc, char **argv) {
    if (argc > 1 && std::string_view(argv[1]) == "lab")
        return labMain({argv + 2, argv + argc});
    if (argc > 1 && std::string_view(argv[1]) == "check")
        return checkMain({argv + 2, argv + argc});
    const auto arguments = readArguments({argv + 1, argv + argc});
    if (!arguments) {
        for (const Error &error : arguments.error())
            complain(error);
        return exitBadArguments;
    }
    if (!arguments->text.empty()) {
        std::cout << arguments->text;
        return exitDone;
    }
    if (arguments->facts) {
        std::cout << trainerFactsJson() << std::endl;
        return exitDone;
    }
    const auto refuse = [](const Error &error) {
        complain(error);
        return exitCodeOf(error);
    };
    if (!arguments->modelCosts.empty()) {
        const auto json = measureModel(*arguments);
        if (!json)
            return refuse(json.error());
        std::cout << *json << std::endl;
        return exitDone;
    }
    const auto env = readRankEnvironment(arguments->config.initMethod, processEnvironment());
    if (!env)
        return refuse(env.error());
    const auto config = settleConfig(arguments->config, *env);
    if (!config)
        return refuse(config.error());
    const auto placement = placeOnMachine(*config, *env);
    if (!placement)
        return refuse(placement.error());

    // Before any thread exists, torch's pools included: they inherit cores and scheduling.
    if (const auto pinned = pinThread(placement->cores); !pinned)
        return refuse(pinned.error());
    if (config->scheduling == "batch")
        useBatchScheduling();
    stop_flag::install();
    setUpLog(env->rank, nullptr);
    const SystemClock clock;
    auto frames = FrameSender::open(config->frames, env->rank, clock, [](const std::string &by) {
        logInfo("stop was asked for by " + by);
        stop_flag::request();
    });
    if (!frames)
        return refuse(frames.error());
    setUpLog(env->rank, config->frames.empty() ? nullptr : frames->get());
    warnOfFlagsWithoutEffect(*arguments, *config, *env);
    const auto giveUp = [&frames](const Error &error) {
        complain(error);
        (*frames)->finish(framesEndWithin);
        std::_Exit(exitCodeOf(error));
    };
    const auto trained = runRank(*config, *env, *placement, **frames, giveUp);
    if (!trained)
        complain(trained.error());
    const int code = trained ? *trained : exitCodeOf(trained.error());
    (*frames)->finish(framesEndWithin);
    setUpLog(env->rank, nullptr); // no log line may reach the sender from now on
    return code;
}

/// Ends the process without torch's static destructors: unregistering thousands of operators takes a tenth of a second and
/// frees memory that the kernel reclaims anyway. Our own files and sockets are closed by now.
void leave(int code) {
#ifndef __SANITIZE_ADDRESS__ // it looks for leaks in exit()
    std::cout.flush();
    std::fflush(nullptr);
    std::_Exit(code);
#else
    std::exit(code);
#endif
}

} // namespace

int main(int argc, char **argv) {
    openMissingStandardStreams();
    ::signal(SIGXFSZ, SIG_IGN); // what is beyond `ulimit -f` can't be written then, as on a full disk
    leave(runProgram(argc, argv));
}
