// SPDX-License-Identifier: MIT
#include "trainer/engine/rank_run.h"

#include <iostream>
#include <memory>

#include <c10/core/DeviceGuard.h>

#include "ipc/alerts.h"
#include "ipc/file_system.h"
#include "trainer/engine/process_facts.h"
#include "trainer/engine/rank_session.h"
#include "trainer/engine/stop_flag.h"
#include "trainer/engine/training.h"
#include "trainer/report/memory_shortage.h"
#include "trainer/report/torch_sentence.h"

namespace lockstep::trainer {
namespace {

/// The checkpoint to go on from; empty before the first one. Rank 0 alone knows that it was written.
std::string newestCheckpoint(const RunConfig &config, const Session *session) {
    if (!session || !session->checkpointed)
        return {};
    const auto files = CheckpointFolder(config.checkpointDir).files();
    return files.empty() ? std::string() : files.front();
}

Error outOfMemory(const std::string &shortage, const RunConfig &config, const RankEnvironment &env,
                  const Placement &placement, const Session *session) {
    std::string what =
        "rank " + std::to_string(env.rank) + " ran out of memory on " + placement.names.front() + ": " + shortage;
    if (const std::string checkpoint = newestCheckpoint(config, session); !checkpoint.empty())
        what += "; the newest checkpoint is " + checkpoint;
    return Error::failed(what, "take a smaller batch, or compute it in parts: --accumulate 2");
}

/// What an error of torch or c10d says.
Error fromException(const RankEnvironment &env) {
    const std::string text = torchSentence(textOfException());
    if (env.worldSize > 1)
        return Error::failed("rank " + std::to_string(env.rank) + " lost the others or failed: " + text,
                             "see what the other ranks say");
    return Error::failed("training failed: " + text);
}

Result<void> writeSummary(const RunConfig &config, const Summary &summary) {
    if (config.summary == "-") {
        std::cout << toJson(summary) << std::endl;
        return {};
    }
    return realFileSystem().writeAtomically(config.summary, toJson(summary) + "\n");
}

/// Where one can't be written, the other is written all the same: the training is over, and should not be lost with it.
Result<void> writeOutputs(const RunConfig &config, const Summary &summary, Training &training) {
    const Result<void> summarised = config.summary.empty() ? Result<void>() : writeSummary(config, summary);
    const Result<void> saved = training.saveFinal();
    return summarised ? saved : summarised;
}

Result<int> train(const RunConfig &config, const RankEnvironment &env, const Placement &placement, FrameSender &frames,
                  const PeerWatch::OnLost &onLost, std::unique_ptr<Session> &session) {
    auto opened = openSession(config, env, placement, frames);
    if (!opened)
        return fail(opened.error());
    session = std::move(*opened);
    if (session->backend == "gloo" && env.worldSize > 1)
        session->peers = std::make_unique<PeerWatch>(env.rank, session->position, onLost);
    keepFreedMemory();
    Training training(*session);
    const auto outcome = training.run();
    if (!outcome)
        return fail(outcome.error());
    if (*outcome == Outcome::Stopped)
        return exitStopped;
    const Summary summary = training.summary();
    if (env.rank == 0)
        if (auto written = writeOutputs(config, summary, training); !written)
            return fail(written.error());
    session->communicator->leave(); // rank 0 serves the store, so it leaves last
    StateFrame done;
    done.state = RunState::Done;
    frames.send(done);
    return exitDone;
}

void sendFailure(FrameSender &frames, const Error &error) {
    StateFrame state;
    state.state = RunState::Failed;
    state.detail = error.message();
    frames.send(state);
}

} // namespace

Result<int> runRank(const RunConfig &config, const RankEnvironment &env, const Placement &placement,
                    FrameSender &frames, const std::function<void(const Error &)> &giveUp) {
    Error error;
    c10::OptionalDeviceGuard onDevice; // outlives the session, whose destructors use the thread's device
    std::unique_ptr<Session> session; // destroyed after the reason is reported: the other ranks then report a lost peer
    try {
        if (const c10::Device device = placement.devices.front().device; device.is_cuda())
            onDevice.reset_device(device);
        const auto onLost = [&](const Error &lost) {
            sendFailure(frames, lost);
            giveUp(lost);
        };
        const auto code = train(config, env, placement, frames, onLost, session);
        if (code)
            return *code;
        error = code.error();
    } catch (...) {
        if (stop_flag::requested()) // the others stopped while this rank was connecting
            return exitStopped;
        const std::string shortage = memoryShortage(textOfException(), freeMemoryInWords());
        error = shortage.empty() ? fromException(env) : outOfMemory(shortage, config, env, placement, session.get());
        if (!shortage.empty())
            frames.send(makeAlert("out_of_memory", error.what));
    }
    sendFailure(frames, error);
    return fail(error);
}

} // namespace lockstep::trainer
