// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "ipc/cores.h"
#include "tests/trainer/trainer_process.h"
#include "trainer/comm/rank_environment.h"
#include "trainer/data/safetensors.h"
#include "trainer/engine/arguments.h"
#include "trainer/engine/rank_placement.h"

using namespace lockstep;
using namespace lockstep::trainer;
using namespace lockstep::trainer::test;

namespace {

GetEnv fixed(const Environment &values) {
    return [values](const char *name) -> std::optional<std::string> {
        const auto found = values.find(name);
        return found == values.end() ? std::nullopt : std::optional(found->second);
    };
}

/// A listening socket of ours on a free port of the loopback.
struct TakenPort {
    int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    int port = 0;
    TakenPort() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        REQUIRE(::bind(fd, reinterpret_cast<sockaddr *>(&address), size) == 0);
        REQUIRE(::listen(fd, 16) == 0);
        ::getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size);
        port = ntohs(address.sin_port);
    }
    ~TakenPort() { ::close(fd); }
};

Environment rankOf(int rank, int world, int port) {
    return {{"RANK", std::to_string(rank)},        {"LOCAL_RANK", std::to_string(rank)},
            {"WORLD_SIZE", std::to_string(world)}, {"LOCAL_WORLD_SIZE", std::to_string(world)},
            {"MASTER_ADDR", "127.0.0.1"},          {"MASTER_PORT", std::to_string(port)}};
}

} // namespace

TEST_SUITE("engine_arguments") {
    TEST_CASE("every field of the run's config is a flag, and its arguments give the same config again") {
        RunConfig config;
        config.method = Method::Ddp;
        config.devices = {"0", "1"};
        config.lr = 0.25;
        config.dropout = 0.0;
        config.pinMemory = config.resume = true;
        config.checkpointDir = "/tmp/x y";
        config.frames = "unix:/tmp/s";
        const auto read = readArguments(toArguments(config));
        REQUIRE(read.has_value());
        CHECK(read->config == config);
        const auto help = readArguments({"--help"});
        REQUIRE(help.has_value());
        for (const FieldSpec &field : runConfigFields())
            CHECK(help->text.find(flagOf(field)) != std::string::npos);
        CHECK(help->text.find("[on; --decay-biases=false turns it off]") != std::string::npos);
    }

    TEST_CASE("bad arguments are refused with one sentence and exit code 2") {
        const TempFolder folder;
        const std::vector<std::pair<std::vector<std::string>, std::string>> table = {
            {{"--batchsize=3"}, "--batch-size"},
            {{"stray"}, "stray"},
            {{"--lr=fast"}, "--lr"},
            {{"--epochs=0"}, "--epochs"},
            {{"--method=fsdp"}, "--method"},
            {{"--devices=0,1"}, "baseline"},
            {{"--method=ddp", "--devices=0,1"}, "lockstep-agent run"},
            {{"--method=dp", "--devices=0,1", "--batch-size=63"}, "62 or 64"},
            {{"--backend=nccl"}, "nccl needs GPUs"},
            {{"--method=ddp", "--backend=nccl"}, "nccl needs GPUs"},
            {{"--devices=4000"}, "4000"},
            {{"--data-dir=" + (folder / "nowhere")}, "nowhere"},
            {{"--summary=" + (folder / "no/such/s.json")}, "--summary"},
            {{"--save-final=" + (folder / "no/such/w")}, "--save-final"},
            {{"--summary=" + folder.path()}, "it is a folder, and a file is written"},
            {{"--save-final=" + folder.path()}, "it is a folder, and a file is written"},
            {{"--save-final=/dev/null"}, "it is not a regular file"},
            {{"--save-final=" + (folder / std::string(300, 'x'))}, "File name too long"},
            {{"--checkpoint-dir=/proc/none"}, "/proc/none"},
            {{"--frames=unix:" + (folder / "no.sock")}, "no.sock"},
            {{"--frames=" + (folder / "no/such/f")}, "no/such/f"},
            {{"--init=" + (folder / "no.safetensors")}, "no.safetensors"},
            {{"--resume"}, "checkpoint"},
            {{"--init-method=carrier-pigeon"}, "carrier-pigeon"},
        };
        for (const auto &[arguments, named] : table) {
            CAPTURE(named);
            Process run(trainerBinary(), arguments);
            const Ended ended = run.wait();
            CAPTURE(ended.err);
            CHECK(ended.code == 2);
            CHECK(ended.sentences() == 1);
            CHECK(ended.err.find(named) != std::string::npos);
            CHECK(ended.out.empty());
        }
        CHECK(std::filesystem::is_empty(folder.path())); // nothing left
    }

    TEST_CASE("a name in a file gives a terminal no orders") {
        const TempFolder folder;
        REQUIRE(writeTensors(folder / "whole", {{{"\x1b]0;title\x07 \xe2\x80\xae", torch::ones({2})}}, {}}));
        const std::string bytes = readFile(folder / "whole");
        writeFile(folder / "torn", bytes.substr(0, bytes.size() - 4));
        for (const char *file : {"whole", "torn"}) {
            const Ended ended = Process(trainerBinary(), withSmallRun({"--init=" + (folder / file)})).wait();
            CAPTURE(ended.err);
            CHECK(ended.code == exitBadArguments);
            for (const char *order : {"\x1b", "\x07", "\xe2\x80\xae"})
                CHECK(ended.err.find(order) == std::string::npos);
        }
    }

    TEST_CASE("a flag that means nothing for this run is named, and one that does is not") {
        const auto said = [](const std::vector<std::string> &more, const Environment &environment = {}) {
            std::vector<std::string> arguments{"--train-samples=64", "--momentum=0.5"};
            arguments.insert(arguments.end(), more.begin(), more.end());
            const Ended ended = Process(trainerBinary(), withSmallRun(arguments), environment).wait();
            CHECK(ended.code == 0);
            return ended.err;
        };
        const std::string alone = said({"--bucket-mb=5", "--optimizer=adam"});
        CHECK(alone.find("--bucket-mb=5 has no effect on this run") != std::string::npos);
        CHECK(alone.find("--momentum=0.5 has no effect on this run") != std::string::npos);
        CHECK(alone.find("--optimizer=adam has no effect") == std::string::npos);
        CHECK(said({"--bucket-mb=25"}).find("has no effect") == std::string::npos);
        CHECK(said({"--bucket-mb=5"}, {{"LOCKSTEP_RUN", "20260102T030405Z-89abcdef"}}).find("has no effect") ==
              std::string::npos);
    }

    TEST_CASE("a master port in use is refused with the port and who holds it") {
        const TakenPort taken;
        Process run(trainerBinary(), {"--method=ddp", "--oversubscribe"}, rankOf(0, 2, taken.port));
        const Ended ended = run.wait();
        CAPTURE(ended.err);
        CHECK(ended.code == 2);
        CHECK(ended.sentences() == 1);
        CHECK(ended.err.find("port " + std::to_string(taken.port)) != std::string::npos);
        CHECK(ended.err.find("process " + std::to_string(::getpid())) != std::string::npos);
    }

    TEST_CASE("rank 0 serves the store on a listening socket it is given") {
        const TakenPort given; // inherited by the ranks: it is not close-on-exec
        std::vector<std::unique_ptr<Process>> ranks;
        for (const int rank : {0, 1}) {
            Environment env = rankOf(rank, 2, given.port);
            env["LOCKSTEP_MASTER_LISTEN_FD"] = std::to_string(given.fd);
            ranks.push_back(std::make_unique<Process>(trainerBinary(), withSmallRun({"--method=ddp"}), env));
        }
        for (auto &rank : ranks) {
            const Ended ended = rank->wait();
            CAPTURE(ended.err);
            CHECK(ended.code == 0);
        }
    }

    TEST_CASE("DDP alone is a world of one") {
        Process run(trainerBinary(), withSmallRun({"--method=ddp"}));
        const Ended ended = run.wait();
        CAPTURE(ended.err);
        CHECK(ended.code == 0);
    }

    TEST_CASE("ranks on one core are refused unless shared cores are asked for") {
        const std::string core = std::to_string(allowedCores().front());
        for (const bool shared : {false, true}) {
            const TempFolder folder;
            std::vector<std::unique_ptr<Process>> ranks;
            for (const int rank : {0, 1}) {
                std::vector<std::string> arguments{"-c",
                                                   core,
                                                   trainerBinary(),
                                                   "--method=ddp",
                                                   "--devices=0,1",
                                                   "--train-samples=640",
                                                   "--epochs=1",
                                                   "--init-method=file://" + (folder / "store")};
                if (shared)
                    arguments.emplace_back("--oversubscribe");
                ranks.push_back(std::make_unique<Process>("/usr/bin/taskset", arguments, rankOf(rank, 2, 1)));
            }
            for (auto &rank : ranks) {
                const Ended ended = rank->wait();
                CAPTURE(ended.err);
                CHECK(ended.code == (shared ? 0 : 2));
                if (!shared)
                    CHECK(ended.err.find("shares core " + core) != std::string::npos);
            }
        }
    }

    TEST_CASE("a process takes its own block of cores, or the cores its launcher bound it to") {
        const CoreList allowed = allowedCores();
        if (allowed.size() < 2) {
            MESSAGE("skipped: needs two cores");
            return;
        }
        RunConfig config;
        config.devices = {"1"};
        RankEnvironment env;
        REQUIRE(placeOnMachine(config, env).has_value());
        CHECK(placeOnMachine(config, env)->cores == CoreList{allowed[1]});
        const std::string core = std::to_string(allowed[1]);
        const std::vector<std::string> bound{"-c",        core, trainerBinary(), "--devices=1", "--train-samples=64",
                                             "--epochs=1"};
        const TempFolder folder;
        CHECK(Process("/usr/bin/taskset", bound).wait().code == 2); // alone, the second block of one core is none
        auto launched = bound;
        launched.push_back("--frames=" + (folder / "f"));
        CHECK(Process("/usr/bin/taskset", launched, {{"RANK", "0"}, {"WORLD_SIZE", "1"}}).wait().code == 0);
        CHECK(bodiesOf<StateFrame>(readFrames(folder / "f")).at(0).cores == core);
        CHECK(bodiesOf<StateFrame>(readFrames(folder / "f")).at(0).device == "cpu:1");
    }

    TEST_CASE("loading workers on cores that train leave ranks that nobody bound on their own blocks") {
        const CoreList allowed = allowedCores();
        if (allowed.size() < 2) {
            MESSAGE("skipped: needs two cores");
            return;
        }
        RunConfig config;
        config.method = Method::Ddp;
        config.devices = {"0", "1"};
        config.workers = 1;
        CoreList workers = allowed;
        std::erase(workers, allowed[1]); // what remains looks like one device
        config.workerCores = formatCores(workers);
        for (const int rank : {0, 1}) {
            RankEnvironment env;
            env.rank = env.localRank = rank;
            env.worldSize = env.localWorldSize = 2;
            env.launched = true;
            const auto placement = placeOnMachine(config, env);
            REQUIRE(placement.has_value());
            CHECK(placement->cores == CoreList{allowed[static_cast<std::size_t>(rank)]});
        }
    }

    TEST_CASE("torchrun's, Slurm's and Open MPI's variables mean the same ranks") {
        const Environment sets[] = {{{"RANK", "3"},
                                     {"LOCAL_RANK", "1"},
                                     {"WORLD_SIZE", "4"},
                                     {"LOCAL_WORLD_SIZE", "2"},
                                     {"MASTER_ADDR", "n1"},
                                     {"MASTER_PORT", "29500"}},
                                    {{"SLURM_PROCID", "3"},
                                     {"SLURM_LOCALID", "1"},
                                     {"SLURM_NTASKS", "4"},
                                     {"SLURM_NTASKS_PER_NODE", "2"},
                                     {"SLURM_STEP_NODELIST", "n[1-2]"},
                                     {"SLURM_JOB_ID", "7"}},
                                    {{"OMPI_COMM_WORLD_RANK", "3"},
                                     {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                     {"OMPI_COMM_WORLD_SIZE", "4"},
                                     {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                     {"MASTER_ADDR", "n1"},
                                     {"MASTER_PORT", "1"}}};
        for (const auto &set : sets) {
            const auto env = readRankEnvironment("env://", fixed(set));
            REQUIRE(env.has_value());
            CHECK(env->rank == 3);
            CHECK(env->localRank == 1);
            CHECK(env->worldSize == 4);
            CHECK(env->localWorldSize == 2);
            CHECK(env->masterAddress == "n1");
            CHECK(env->masterPort > 0);
        }
        // What srun started on this node, whatever was asked for: 2 and 2, then 1, of which this is the third node.
        const auto third = readRankEnvironment("env://", fixed({{"SLURM_PROCID", "4"},
                                                                {"SLURM_LOCALID", "0"},
                                                                {"SLURM_NTASKS", "5"},
                                                                {"SLURM_NODEID", "2"},
                                                                {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
                                                                {"SLURM_STEP_NODELIST", "n[1-3]"},
                                                                {"SLURM_JOB_ID", "7"}}));
        REQUIRE(third.has_value());
        CHECK(third->localWorldSize == 1);
        CHECK(!readRankEnvironment("env://", fixed({{"RANK", "2"}, {"WORLD_SIZE", "2"}})).has_value());
        CHECK(!readRankEnvironment("env://", fixed({{"RANK", "0"}, {"WORLD_SIZE", "2"}})).has_value()); // meet where?
        CHECK(!readRankEnvironment("tcp://host", fixed({})).has_value());
        CHECK(readRankEnvironment("tcp://[::1]:5", fixed({}))->masterAddress == "::1");
        CHECK(readRankEnvironment("env://", fixed({{"TORCHELASTIC_USE_AGENT_STORE", "True"}}))->storeRuns);
    }

    TEST_CASE("the attempts of a requeued Slurm job are one launch, which other runs are not") {
        const auto launched = [](const char *run, const char *requeues, const char *restarts) {
            return *readRankEnvironment("env://", fixed({{"LOCKSTEP_RUN", run},
                                                         {"SLURM_RESTART_COUNT", requeues},
                                                         {"TORCHELASTIC_RESTART_COUNT", restarts}}));
        };
        const auto first = launched("20260102T030405Z-89abcdef", "0", "0");
        const auto requeued = launched("20260102T040506Z-89abcdef", "1", "0");
        CHECK(first.attempt == 0);
        CHECK(requeued.attempt == 1);
        CHECK(requeued.launch == first.launch);
        CHECK(launched("20260102T040506Z-89abcdef", "1", "2").attempt == 3);
        CHECK(launched("20260102T040506Z-01234567", "1", "0").launch != first.launch);
        CHECK(readRankEnvironment("env://", fixed({{"SLURM_RESTART_COUNT", "1"}}))->attempt == 0); // of no known launch
        CHECK(readRankEnvironment("env://", fixed({{"TORCHELASTIC_RUN_ID", "none"}}))->launch.empty());
    }
}
