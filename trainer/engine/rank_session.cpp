// SPDX-License-Identifier: MIT
#include "trainer/engine/rank_session.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <utility>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/DeviceGuard.h>
#include <torch/utils.h>

#include "ipc/crc32c.h"
#include "ipc/file_system.h"
#include "ipc/host_name.h"
#include "ipc/logging.h"
#include "ipc/model_facts.h"
#include "ipc/process_stat.h"
#include "trainer/comm/backend_choice.h"
#include "trainer/comm/store.h"
#include "trainer/data/safetensors.h"
#include "trainer/engine/process_facts.h"
#include "trainer/engine/ranks_alike.h"
#include "trainer/engine/run_data.h"
#include "trainer/models/script_model.h"
#include "trainer/report/device_clock.h"
#include "trainer/report/host_clock.h"
#include "trainer/strategies/make_strategy.h"

namespace lockstep::trainer {

namespace {

using namespace std::chrono_literals;
constexpr auto rendezvousLimit = 300s;
constexpr auto folderPatience = 10s; ///< for ranks of the attempt before, which may still be ending

Result<void> readDelay(Session &session) {
    const char *text = std::getenv("LOCKSTEP_TEST_DELAY");
    if (!text || !*text)
        return {};
    const auto delay = parseTestDelay(text);
    if (!delay)
        return fail(delay.error());
    if (session.device().is_cuda())
        return fail(Error::badArgument("a GPU's work can't be slowed from the host", "test delays on CPU devices",
                                       "LOCKSTEP_TEST_DELAY"));
    session.delay = *delay;
    return {};
}

Result<void> readData(Session &session) {
    auto sets = loadRunData(session.config);
    if (!sets)
        return fail(sets.error());
    session.train = std::move(sets->train);
    session.test = std::move(sets->test);
    return {};
}

/// "core 3" for "core:3"; a GPU's name.
std::string inWords(const std::string &place) {
    const auto colon = place.find(':');
    return colon == std::string::npos ? place : place.substr(0, colon) + " " + place.substr(colon + 1);
}

/// Refuses two ranks on one core or GPU: they would disturb each other's measurements.
Result<void> checkOverlap(Session &session) {
    std::string own = bootId();
    if (own.empty())
        own = hostName();
    for (const int core : session.placement.cores)
        own += " core:" + std::to_string(core);
    if (session.device().is_cuda())
        own += " " + session.placement.names.front();
    const auto all = session.communicator->exchange("cores", own);
    std::set<std::string> taken;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        std::istringstream words(all[rank]);
        std::string machine, place;
        words >> machine;
        while (words >> place)
            if (!taken.insert(machine + " " + place).second && !session.config.oversubscribe) {
                session.communicator->part();
                return fail(Error::badArgument("rank " + std::to_string(rank) + " shares " + inWords(place) +
                                                   " with another rank",
                                               "give each rank its own, or oversubscribe for a test", "--devices"));
            }
    }
    return {};
}

Result<void> meetOthers(Session &session) {
    if (!isDistributed(session.config.method)) {
        session.communicator = std::make_unique<Communicator>();
        session.devices = session.placement.names;
        return {};
    }
    auto store = openStore(session.env, rendezvousLimit);
    if (!store)
        return fail(store.error());
    session.communicator = std::make_unique<Communicator>(session.env, *store);
    session.communicator->setPosition(&session.position);
    const bool oneNode = session.env.localWorldSize == session.env.worldSize;
    session.devices = session.communicator->exchange("devices", (oneNode ? std::string() : hostName() + "/") +
                                                                    session.placement.names.front());
    if (auto apart = checkOverlap(session); !apart)
        return apart;
    const auto backend =
        chooseBackend(*session.communicator, session.config.backend, session.device(), session.placement.names.front());
    if (!backend)
        return fail(backend.error());
    session.backend = *backend;
    session.communicator->connect(session.backend, session.device(),
                                  glooPlaceOf(session.env, session.config.interface));
    return {};
}

/// Before the ranks meet: a rank that can't train the file's model must not keep others waiting.
Result<void> tryModelFile(Session &session) {
    const RunConfig &config = session.config;
    if (!isModelFile(config.model))
        return {};
    const auto trial = tryScriptModel(config.model, session.train.spec.sample.classes, session.train.texts.padding(),
                                      session.device(), session.dtype);
    if (!trial)
        return fail(trial.error());
    if (trial->drawsNumbers && hasReplicas(specOf(config.method)) && session.device().is_cpu() &&
        session.placement.devices.size() > 1)
        logWarning(modelTitle(config.model) +
                   " draws random numbers, as dropout does, and its replicas on CPU devices take "
                   "them from one generator: two runs of one seed differ");
    return {};
}

Result<std::shared_ptr<Model>> freshModel(const Session &session, std::function<void(const std::string &)> warn = {}) {
    const bool texts = session.train.spec.sample.values == Values::Text;
    auto model = makeModel(session.config.model, {.dropout = session.config.dropout,
                                                  .classes = session.train.spec.sample.classes,
                                                  .folder = texts ? bertFolderOf(session.config.bertDir) : "",
                                                  .labels = session.train.classNames,
                                                  .warn = std::move(warn)});
    if (!model)
        return model;
    (*model)->to(session.device(), session.dtype);
    (*model)->setAutocast(session.config.precision == "bf16");
    if (session.config.channelsLast)
        (*model)->setChannelsLast();
    (*model)->train();
    return model;
}

/// The largest checkpoint sent from rank to rank, since it passes through the memory of rank 0's store.
constexpr std::uintmax_t largestSentCheckpoint = 256ULL << 20;

/// Without shared storage, the chosen checkpoint is on one node, that of rank `holder`. A node that lacks it, or has a different
/// file of that name, gets it and keeps a copy.
Result<void> bringCheckpoint(Session &session, const std::string &file, std::size_t holder,
                             const std::string &occasion = {}) {
    if (session.env.localWorldSize == session.env.worldSize)
        return {};
    const auto own = realFileSystem().readAll(file, anySize);
    const std::string mark = own ? std::to_string(own->size()) + " " + crcText(crc32c(*own)) : "-";
    const auto marks = session.communicator->exchange("checkpoint_marks" + occasion, mark);
    const std::string holderName = "rank " + std::to_string(holder);
    std::string lacking;
    for (std::size_t rank = 0; rank < marks.size(); ++rank)
        if (marks[rank] != marks[holder])
            lacking += (lacking.empty() ? "rank " : ", ") + std::to_string(rank);
    if (lacking.empty())
        return {};
    if (const auto size = std::strtoull(marks[holder].c_str(), nullptr, 10); size > largestSentCheckpoint)
        return fail(Error::failed("the checkpoint " + file + " (" + std::to_string(size >> 20) +
                                      " MiB) lies on the node of " + holderName + " alone; " + lacking +
                                      " can't read it",
                                  "put --checkpoint-dir on storage that all nodes see, or copy it there"));
    const bool holds = static_cast<std::size_t>(session.env.rank) == holder;
    const auto sent = session.communicator->exchange("checkpoint_bytes" + occasion, holds && own ? *own : "")[holder];
    if (mark == marks[holder])
        return {};
    FileSystem &disk = realFileSystem();
    auto written = disk.makeFolders(std::filesystem::path(file).parent_path().string());
    if (written)
        written = disk.writeAtomically(file, sent);
    if (!written)
        return fail(
            Error::failed("the checkpoint of " + holderName + " can't be kept here: " + written.error().message(),
                          "make --checkpoint-dir writable on every node"));
    logInfo("got " + file + " from the node of " + holderName);
    return {};
}

/// Rank 0 alone writes checkpoints.
Result<void> lockCheckpoints(Session &session) {
    const std::string &folder = session.config.checkpointDir;
    if (folder.empty())
        return {};
    std::string refusal;
    if (session.isRank0()) {
        auto lock = CheckpointLock::take(folder, folderPatience);
        if (lock)
            session.checkpointLock = std::move(*lock);
        else if (lock.error().kind == ErrorKind::BadArgument)
            refusal = lock.error().message();
        else // some shared file systems have no locks
            logWarning("nothing keeps another training out of " + folder + ": " + lock.error().message());
    }
    refusal = session.communicator->exchange("checkpoint_lock", refusal).front();
    if (refusal.empty())
        return {};
    session.communicator->part();
    return fail(Error::badArgument(refusal));
}

/// The checkpoint in this node's folder to go on from; absent: there is none. A rank that was started again takes only one of its
/// own launch: before the first save the folder may hold those of another training.
Result<std::optional<FoundCheckpoint>> chooseCheckpoint(const Session &session) {
    const std::string launch = session.config.resume ? std::string() : session.env.launch;
    if (!session.config.resume && launch.empty())
        return std::optional<FoundCheckpoint>();
    std::vector<std::string> skipped;
    auto newest = CheckpointFolder(session.config.checkpointDir).newestGood(launch, skipped);
    for (const auto &sentence : skipped)
        logWarning("skipped a checkpoint: " + sentence);
    return newest;
}

/// What the first rank of a node can offer all to go on from.
struct CheckpointOffer {
    std::size_t rank = 0;
    std::int64_t savedUs = 0;
    std::string training, host, file;

    [[nodiscard]] std::string name() const { return std::filesystem::path(file).filename().string(); }
    [[nodiscard]] std::string inWords() const {
        return "rank " + std::to_string(rank) + " on " + host + " has " + file;
    }
};

/// An offer as text; empty: nothing; after '!': what is wrong with the folder.
std::string checkpointOffer(const Session &session) {
    if (!session.isFirstOfNode())
        return {};
    const auto chosen = chooseCheckpoint(session);
    if (!chosen)
        return "!" + chosen.error().message();
    if (!*chosen)
        return {};
    const FoundCheckpoint &found = **chosen;
    return std::to_string(found.savedUs) + "\n" + found.training + "\n" + hostName() + "\n" + found.file;
}

std::vector<CheckpointOffer> offersFrom(const std::vector<std::string> &texts) {
    std::vector<CheckpointOffer> offers;
    for (std::size_t rank = 0; rank < texts.size(); ++rank) {
        if (texts[rank].empty() || texts[rank].starts_with('!'))
            continue;
        CheckpointOffer offer;
        offer.rank = rank;
        std::istringstream lines(texts[rank]);
        std::string saved;
        std::getline(lines, saved);
        offer.savedUs = std::strtoll(saved.c_str(), nullptr, 10);
        std::getline(lines, offer.training);
        std::getline(lines, offer.host);
        std::getline(lines, offer.file);
        offers.push_back(std::move(offer));
    }
    return offers;
}

/// The checkpoint that all ranks go on from, and the rank whose node has it.
struct AgreedCheckpoint {
    std::string name; ///< empty: there is none
    std::size_t holder = 0;
};

/// The latest of rank 0's training, on whichever node, since nodes with disks of their own may have changed places;
/// without one of rank 0's, of the training that was saved last. Where another training was saved after rank 0's, which
/// one is meant is unknown.
Result<AgreedCheckpoint> agreeOnCheckpoint(Session &session) {
    const auto texts = session.communicator->exchange("checkpoint", checkpointOffer(session));
    if (texts.front().starts_with('!'))
        return fail(Error::failed(texts.front().substr(1)));
    const auto offers = offersFrom(texts);
    if (offers.empty())
        return AgreedCheckpoint();
    const auto savedLast = [](const CheckpointOffer &a, const CheckpointOffer &b) {
        return std::pair(a.savedUs, a.name()) < std::pair(b.savedUs, b.name());
    };
    const CheckpointOffer &last = *std::ranges::max_element(offers, savedLast);
    const std::string training = offers.front().rank == 0 ? offers.front().training : last.training;
    CheckpointOffer chosen;
    std::int64_t savedUs = 0;
    for (const CheckpointOffer &offer : offers) {
        if (offer.training != training)
            continue;
        savedUs = std::max(savedUs, offer.savedUs);
        if (offer.name() > chosen.name()) // names end in the step, of equal length
            chosen = offer;
    }
    if (last.training == training || last.savedUs <= savedUs)
        return AgreedCheckpoint{chosen.name(), chosen.rank};
    session.communicator->part();
    return fail(Error::badArgument("the nodes have checkpoints of different trainings: " + chosen.inWords() + ", " +
                                       last.inWords() + ", which was saved later",
                                   "start the nodes in the order that they had in the training to go on with, or move "
                                   "the other one's checkpoints out of its folder"));
}

Result<void> loadCheckpoint(Session &session) {
    const bool keeps = !session.config.checkpointDir.empty();
    const bool goesOn = session.config.resume || (session.env.attempt > 0 && keeps);
    if (goesOn || (keeps && session.isRank0()))
        session.trainSha256 = contentSha256(session.train);
    if (!goesOn)
        return {};
    const auto agreed = agreeOnCheckpoint(session);
    if (!agreed)
        return fail(agreed.error());
    if (agreed->name.empty()) {
        logInfo("no checkpoint in " + session.config.checkpointDir + ": training starts from the beginning");
        return {};
    }
    const std::string file = CheckpointFolder(session.config.checkpointDir).pathHere(agreed->name);
    if (auto there = bringCheckpoint(session, file, agreed->holder); !there)
        return there;
    auto checkpoint = readCheckpoint(file);
    if (!checkpoint)
        return fail(checkpoint.error());
    if (auto same = fits(*checkpoint, session.config, session.env.worldSize, session.trainSha256); !same) {
        session.communicator->part();
        return same;
    }
    session.resumed = std::move(*checkpoint);
    session.resumedFrom = file;
    logInfo("goes on from " + file);
    return {};
}

Result<void> fillModel(Session &session) {
    torch::manual_seed(session.config.seed);
    const bool keepsHead = !session.resumed && session.config.init.empty();
    auto model = freshModel(session, keepsHead && session.isRank0() ? logWarning : nullptr);
    if (!model)
        return fail(model.error());
    session.model = *model;
    // Rank 0's random sequence continues as in PyTorch; the other ranks must not drop the same activations.
    if (session.env.rank > 0)
        torch::manual_seed(session.config.seed + static_cast<std::uint64_t>(session.env.rank));
    if (session.resumed)
        return copyInto(session.modelState(), session.resumed->parameters, "the checkpoint");
    if (session.config.init.empty())
        return {};
    const auto file = readTensors(session.config.init);
    if (!file) {
        Error error = file.error();
        error.kind = ErrorKind::BadArgument;
        return fail(error);
    }
    return copyInto(session.modelState(), file->tensors, session.config.init);
}

OptimizerOptions optimizerOptions(const Session &session) {
    return {session.config.optimizer, effectiveLr(session.config, session.env), session.config.momentum,
            session.config.weightDecay, session.config.decayBiases};
}

Result<void> makeClockAndStrategy(Session &session) {
    const RunConfig &config = session.config;
    session.trace = std::make_unique<Trace>(session.env.rank, hostName());
    if (session.device().is_cuda())
        session.clock = std::make_unique<DeviceClock>(session.device(), session.trace.get(), &session.position);
    else
        session.clock = std::make_unique<HostClock>(session.trace.get(), &session.position);
    if (session.delay && session.delay->rank == session.env.rank)
        session.clock = std::make_unique<DelayedClock>(std::move(session.clock), *session.delay);
    auto made = makeStrategy({config, session.model, *session.communicator, *session.clock, session.trace.get(),
                              session.placement.devices, [&session] { return *freshModel(session); },
                              optimizerOptions(session), processBatch(config, session.env), session.train.spec.sample,
                              session.env.localWorldSize == session.env.worldSize,
                              session.resumed ? session.resumed->bucketOrder : std::string()});
    if (!made) {
        session.communicator->part();
        return fail(made.error());
    }
    session.strategy = std::move(*made);
    return {};
}

Result<void> makeOptimizer(Session &session) {
    NamedTensors parameters;
    for (const auto &item : session.model->named_parameters())
        if (session.strategy->trains(item.key()))
            parameters.emplace_back(item.key(), item.value());
    session.optimizer = std::make_unique<Optimizer>(std::move(parameters), optimizerOptions(session));
    if (!session.resumed || session.resumed->optimizer.empty())
        return {};
    if (auto loaded = session.optimizer->load(session.resumed->optimizer); !loaded)
        return loaded;
    session.strategy->takeOptimizerState(*session.optimizer);
    return {};
}

void restoreRandomState(const Session &session) {
    if (!session.resumed)
        return;
    at::Generator cpu = at::detail::getDefaultCPUGenerator();
    cpu.set_state(session.resumed->rng[session.env.rank].clone());
    if (session.resumed->deviceRng.defined() && session.device().is_cuda()) {
        at::Generator device = at::globalContext().defaultGenerator(session.device());
        device.set_state(session.resumed->deviceRng[session.env.rank].clone());
    }
    const auto &replicas = session.resumed->replicaRng;
    auto generators = session.strategy->generators();
    if (replicas.defined() && replicas.dim() == 2 && replicas.size(0) == static_cast<std::int64_t>(generators.size()))
        for (std::size_t i = 0; i < generators.size(); ++i)
            generators[i].set_state(replicas[static_cast<std::int64_t>(i)].clone());
}

Result<void> makeLoader(Session &session) {
    const RunConfig &config = session.config;
    LoaderOptions options;
    options.batchSize = processBatch(config, session.env);
    const int ranks = session.communicator->worldSize(), stages = stageCount(config, ranks);
    options.worldSize = batchParts(config, ranks); // the stages of a pipeline see the same samples
    options.rank = std::min(session.communicator->rank() / stages, options.worldSize - 1); // who only serves uses none
    options.targetsOnly = !session.strategy->takesInputs();
    options.seed = config.seed;
    options.itemwise = config.loader == "item";
    options.affine = config.augment == "affine";
    options.lengthBuckets = config.padding == "bucket" && !session.train.texts.empty();
    options.padFully = config.padding == "full";
    options.workers = options.targetsOnly ? 0 : config.workers;
    options.dtype = session.dtype;
    options.pinMemory = config.pinMemory && session.device().is_cuda();
    if (config.loader == "device" && !options.targetsOnly)
        options.device = session.device();
    options.workerCores = session.placement.cores; // the process's own: DP's training thread is confined to device 0's
    if (!config.workerCores.empty()) {
        auto cores = parseCores(config.workerCores);
        if (!cores)
            return fail(cores.error());
        options.workerCores = *cores;
    }
    options.onBatch = [trace = session.trace.get()](int worker, std::int64_t startNs, std::int64_t endNs) {
        trace->span(Trace::firstWorker + worker, "make batch", startNs, endNs);
    };
    session.loader = std::make_unique<Loader>(session.train, options);
    if (session.resumed && session.resumed->stepInEpoch > session.loader->steps())
        return fail(Error::failed(session.resumedFrom + " is no checkpoint of this training: it was taken after step " +
                                      std::to_string(session.resumed->stepInEpoch) + " of an epoch of " +
                                      std::to_string(session.loader->steps()) + " steps",
                                  "remove it, or start without --resume"));
    return {};
}

} // namespace

Result<void> restoreFrom(Session &session, const std::string &ofRank0, const std::string &occasion) {
    const std::string file = CheckpointFolder(session.config.checkpointDir).pathHere(ofRank0);
    if (auto there = bringCheckpoint(session, file, 0, occasion); !there)
        return there;
    const auto checkpoint = readCheckpoint(file);
    if (!checkpoint)
        return fail(checkpoint.error());
    if (auto copied = copyInto(session.modelState(), checkpoint->parameters, file); !copied)
        return copied;
    if (auto loaded = session.optimizer->load(checkpoint->optimizer); !loaded)
        return loaded;
    session.strategy->takeOptimizerState(*session.optimizer);
    return {};
}

NamedTensors Session::modelState() const {
    NamedTensors state;
    for (const auto &item : model->named_parameters())
        state.emplace_back(item.key(), item.value());
    for (const auto &item : model->named_buffers())
        state.emplace_back(item.key(), item.value());
    return state;
}

Result<std::unique_ptr<Session>> openSession(RunConfig config, RankEnvironment env, Placement placement,
                                             FrameSender &frames) {
    auto session = std::make_unique<Session>();
    session->config = std::move(config);
    session->env = std::move(env);
    session->placement = std::move(placement);
    session->frames = &frames;
    session->dtype = session->config.precision == "fp64" ? torch::kFloat64 : torch::kFloat32;
    at::set_num_threads(session->placement.threads);
    const c10::OptionalDeviceGuard onDevice(session->device().is_cuda() ? std::optional(session->device())
                                                                        : std::nullopt);
    using Step = Result<void> (*)(Session &);
    for (const Step step : {Step(readDelay), Step(readData), Step(tryModelFile), Step(meetOthers),
                            Step(checkRanksAlike), Step(lockCheckpoints), Step(loadCheckpoint), Step(fillModel),
                            Step(makeClockAndStrategy), Step(makeOptimizer), Step(makeLoader)})
        if (auto done = step(*session); !done)
            return fail(done.error());
    restoreRandomState(*session);
    return session;
}

} // namespace lockstep::trainer
