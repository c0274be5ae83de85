// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include <unistd.h>

#include "tests/trainer/peers.h"
#include "trainer/data/safetensors.h"
#include "trainer/engine/checkpoint.h"

using namespace lockstep;
using namespace lockstep::trainer;
using namespace lockstep::trainer::test;

namespace {

/// A folder of checkpoints, and trainings that use it.
class Checkpoints {
public:
    using Options = std::vector<std::string>;

    [[nodiscard]] std::unique_ptr<Process> start(Options options, const Environment &environment = {}) const {
        options.push_back("--checkpoint-dir=" + m_path);
        return std::make_unique<Process>(trainerBinary(), withSmallRun(options), environment);
    }
    Ended run(const Options &options, const Environment &environment = {}) const {
        return start(options, environment)->wait();
    }
    void runWell(const Options &options, const Environment &environment = {}) const {
        const Ended ended = run(options, environment);
        CAPTURE(ended.err);
        REQUIRE(ended.code == exitDone);
    }
    /// The checkpoint after so many steps, of which a small run has ten an epoch.
    [[nodiscard]] std::string after(int steps) const {
        const std::string number = std::to_string(steps);
        return m_path + "/checkpoint-" + std::string(12 - number.size(), '0') + number + ".safetensors";
    }
    [[nodiscard]] bool has(int steps) const { return std::filesystem::exists(after(steps)); }
    void take(const Checkpoints &from, int steps) const {
        std::filesystem::create_directories(m_path);
        std::filesystem::copy_file(from.after(steps), after(steps));
    }
    [[nodiscard]] const std::string &path() const { return m_path; }
    [[nodiscard]] std::string beside(const std::string &name) const { return m_folder / name; }

private:
    TempFolder m_folder;
    std::string m_path = m_folder / "c";
};

/// Runs of a node for each rank, where every node has a folder of its own for checkpoints.
class Nodes {
public:
    using Folders = std::array<std::string, 2>; ///< of rank 0's node and of rank 1's

    std::vector<Ended> run(const Folders &folders, const std::vector<std::string> &options,
                           const Environment &more = {}) {
        const std::string store = m_folder / ("store" + std::to_string(++m_runs));
        std::vector<std::unique_ptr<Process>> ranks;
        for (const std::string &folder : folders) {
            auto own = withSmallRun(options);
            own.insert(own.end(), {"--method=ddp", "--interface=lo", "--init-method=file://" + store,
                                   "--checkpoint-dir=" + (m_folder / folder)});
            Environment environment{{"RANK", std::to_string(ranks.size())},
                                    {"LOCAL_RANK", "0"},
                                    {"WORLD_SIZE", "2"},
                                    {"LOCAL_WORLD_SIZE", "1"}};
            environment.insert(more.begin(), more.end());
            ranks.push_back(std::make_unique<Process>(trainerBinary(), own, environment));
        }
        std::vector<Ended> all;
        for (auto &rank : ranks)
            all.push_back(rank->wait());
        return all;
    }
    std::vector<Ended> runWell(const Folders &folders, const std::vector<std::string> &options,
                               const Environment &more = {}) {
        auto all = run(folders, options, more);
        for (const Ended &ended : all) {
            CAPTURE(ended.err);
            REQUIRE(ended.code == exitDone);
        }
        return all;
    }
    [[nodiscard]] std::string path(const std::string &folder) const { return m_folder / folder; }
    /// The checkpoint after so many steps in that folder.
    [[nodiscard]] std::string file(const std::string &folder, int steps) const {
        const std::string number = std::to_string(steps);
        return m_folder / (folder + "/checkpoint-" + std::string(12 - number.size(), '0') + number + ".safetensors");
    }
    [[nodiscard]] bool has(const std::string &folder, int steps) const {
        return std::filesystem::exists(file(folder, steps));
    }

private:
    TempFolder m_folder;
    int m_runs = 0;
};

/// What a run's alerts say of epochs that were made with other settings; empty: nothing.
std::string alertOfOtherSettings(const std::string &frames) {
    for (const AlertFrame &alert : bodiesOf<AlertFrame>(readFrames(frames)))
        if (alert.kind == "resumed_otherwise")
            return alert.message;
    return {};
}

Environment attemptOf(const std::string &launch, int attempt) {
    return {{"TORCHELASTIC_RUN_ID", launch}, {"TORCHELASTIC_RESTART_COUNT", std::to_string(attempt)}};
}

} // namespace

TEST_SUITE("engine_checkpoints") {
    TEST_CASE("a folder in which a training lives is refused to another one, and free when that has died") {
        const Checkpoints folder;
        const std::string frames = folder.beside("frames");
        const auto living = folder.start({"--epochs=100000", "--frames=" + frames});
        REQUIRE(appears(frames, R"("state":"checkpointing")"));
        const Ended refused = folder.run({"--seed=2"});
        CAPTURE(refused.err);
        CHECK(refused.code == exitBadArguments);
        CHECK(refused.sentences() == 1);
        CHECK(refused.err.find("another training writes its checkpoints into " + folder.path()) != std::string::npos);
        CHECK(refused.err.find("is held by pid " + std::to_string(living->pid())) != std::string::npos);
        CHECK(refused.err.find("give another --checkpoint-dir") != std::string::npos);
        CHECK_FALSE(std::filesystem::exists(folder.path() + "/earlier-1"));
        // What starts again while its predecessor still dies waits for it.
        const std::string again = folder.beside("again");
        const auto next = folder.start({"--epochs=100000", "--resume", "--frames=" + again});
        std::this_thread::sleep_for(std::chrono::seconds(2));
        CHECK(readFile(again).find(R"("type":"steps")") == std::string::npos);
        living->signal(SIGKILL);
        REQUIRE(appears(again, R"("type":"steps")"));
        next->signal(SIGTERM);
        const Ended stopped = next->wait();
        CAPTURE(stopped.err);
        CHECK(stopped.code == exitStopped);
        CHECK(stopped.err.find("goes on from " + folder.path()) != std::string::npos);
        CHECK_FALSE(std::filesystem::exists(folder.path() + "/.lock"));
    }

    TEST_CASE("a resumed training removes no checkpoint of another one") {
        const Checkpoints folder, other;
        other.runWell({"--epochs=1", "--seed=2"});
        folder.runWell({"--epochs=3"});
        folder.take(other, 10);
        folder.runWell({"--epochs=5", "--resume"});
        CHECK((folder.has(50) && folder.has(40)));
        CHECK_FALSE((folder.has(30) || folder.has(20)));
        CHECK(folder.has(10));
    }

    TEST_CASE("a training's summary names the first epoch that it made itself") {
        const Checkpoints folder;
        const std::string file = folder.beside("summary");
        const auto firstEpoch = [&](const Checkpoints::Options &options, const Environment &attempt = {}) {
            auto all = options;
            all.push_back("--summary=" + file);
            folder.runWell(all, attempt);
            return readSummary(file).firstEpoch;
        };
        CHECK(firstEpoch({"--epochs=2"}) == 1);
        CHECK(firstEpoch({"--epochs=3", "--resume"}) == 3);
        CHECK(firstEpoch({"--epochs=3", "--resume"}) == 4); // none
        CHECK(madeNoEpoch(readSummary(file)));
        // Started again, it may have made epochs in an earlier attempt.
        CHECK_FALSE(firstEpoch({"--epochs=4", "--resume"}, attemptOf("1", 1)));
    }

    TEST_CASE("a requeued Slurm task goes on from its own checkpoints, never from those of a repeat beside them") {
        const auto attempt = [](const std::string &run, int requeues) {
            return Environment{{"LOCKSTEP_RUN", run}, {"SLURM_RESTART_COUNT", std::to_string(requeues)}};
        };
        const Checkpoints folder;
        folder.runWell({"--epochs=1"}, attempt("20260102T030405Z-89abcdef", 0));
        const Ended requeued = folder.run({"--epochs=3"}, attempt("20260102T040506Z-89abcdef", 1));
        CAPTURE(requeued.err);
        CHECK(requeued.code == exitDone);
        CHECK(requeued.err.find("goes on from " + folder.after(10)) != std::string::npos);
        // A repeat that its node's failure ended before it had saved anything.
        const Ended repeat = folder.run({"--epochs=1"}, attempt("20260102T050607Z-01234567", 1));
        CAPTURE(repeat.err);
        CHECK(repeat.code == exitDone);
        CHECK(repeat.err.find("training starts from the beginning") != std::string::npos);
        CHECK((folder.has(10) && !folder.has(30)));
        CHECK(std::filesystem::exists(folder.path() + "/earlier-1"));
    }

    TEST_CASE("a rank that is started again finds its own checkpoint below a later one of another training") {
        const Checkpoints folder, other;
        other.runWell({"--epochs=3", "--seed=2"}, attemptOf("other", 0));
        folder.runWell({"--epochs=1"}, attemptOf("own", 0));
        folder.take(other, 30);
        const Ended again = folder.run({"--epochs=2"}, attemptOf("own", 1));
        CAPTURE(again.err);
        CHECK(again.code == exitDone);
        CHECK(again.err.find("goes on from " + folder.after(10)) != std::string::npos);
        CHECK(folder.has(30));
    }

    TEST_CASE("a checkpoint whose progress can't be a training's is passed over for the one before") {
        const Checkpoints made;
        made.runWell({"--epochs=2"});
        const auto file = readTensors(made.after(20));
        REQUIRE(file);
        const auto with = [&](const std::string &name, const torch::Tensor &tensor) {
            TensorFile changed = *file;
            for (auto &[own, value] : changed.tensors)
                if (own == name)
                    value = tensor;
            return changed;
        };
        const auto tensorOf = [&](const std::string &name) {
            for (const auto &[own, value] : file->tensors)
                if (own == name)
                    return value.clone();
            return torch::Tensor();
        };
        const std::string epochs = "lockstep.epochs", progress = "lockstep.progress";
        torch::Tensor wrongNumber = tensorOf(epochs), tooLong = tensorOf(epochs), noNumber = tensorOf(progress),
                      leftOut = tensorOf(progress);
        wrongNumber[1][0] = 7;
        tooLong[0][2] = 1e300;
        noNumber[0][1] = std::nan("");
        leftOut[0][std::int64_t(leftOutColumn)] = 1; // of no samples
        for (const TensorFile &hostile :
             {with(epochs, torch::ones({}, torch::kFloat64)), with(epochs, torch::ones({2, 1}, torch::kFloat64)),
              with(epochs, wrongNumber), with(epochs, tooLong), with(progress, noNumber), with(progress, leftOut),
              with(progress,
                   torch::empty({std::int64_t{1} << 47, 0}, torch::kFloat64)), // no bytes, and ranks without end
              with(progress, tensorOf(progress).to(torch::kFloat32))}) {
            const Checkpoints both;
            both.take(made, 10);
            REQUIRE(writeTensors(both.after(20), hostile));
            const Ended ended = both.run({"--epochs=3", "--resume"});
            CAPTURE(ended.err);
            CHECK(ended.code == exitDone);
            CHECK(ended.err.find("its progress can't be a training's") != std::string::npos);
            CHECK(both.has(30));
        }
        // What more rows hold than there were epochs isn't looked at.
        const std::string surplus = made.beside("surplus.safetensors");
        REQUIRE(writeTensors(surplus, with(epochs, torch::full({3, 4}, std::nan(""), torch::kFloat64))));
        const auto read = readCheckpoint(surplus);
        REQUIRE_FALSE(read);
        CHECK(read.error().message().find("its progress does not match its metadata") != std::string::npos);
        TensorFile beyond = *file;
        beyond.metadata["step_in_epoch"] = "11";
        const Checkpoints alone;
        std::filesystem::create_directories(alone.path());
        REQUIRE(writeTensors(alone.after(20), beyond));
        const Ended ended = alone.run({"--epochs=3", "--resume"});
        CHECK(ended.code == exitFailed);
        CHECK(ended.err.find("taken after step 11 of an epoch of 10 steps") != std::string::npos);
    }

    TEST_CASE("a sealed checkpoint that nothing can go on from is passed over for the one before") {
        const Checkpoints made;
        made.runWell({"--epochs=2"});
        const auto file = readTensors(made.after(20));
        REQUIRE(file);
        const auto goesOnBefore = [&](const std::string &says, const std::function<void(const std::string &)> &damage) {
            const Checkpoints both;
            both.take(made, 10);
            damage(both.after(20));
            const Ended ended = both.run({"--epochs=3", "--resume"});
            CAPTURE(ended.err);
            CHECK(ended.code == exitDone);
            CHECK(ended.err.find("skipped a checkpoint: ") != std::string::npos);
            CHECK(ended.err.find(both.after(20)) != std::string::npos);
            CHECK(ended.err.find(says) != std::string::npos);
            CHECK(ended.err.find("goes on from " + both.after(10)) != std::string::npos);
        };
        goesOnBefore("its random states can't be generators'", [&](const std::string &path) {
            TensorFile changed = *file;
            for (auto &[name, tensor] : changed.tensors)
                if (name == "lockstep.rng.cpu")
                    tensor = torch::full_like(tensor, 255);
            REQUIRE(writeTensors(path, changed));
        });
        goesOnBefore("its random states can't be generators'", [&](const std::string &path) {
            TensorFile changed = *file; // GPUs that no rank has
            changed.tensors.emplace_back("lockstep.rng.device", torch::zeros({7, 16}, torch::kUInt8));
            REQUIRE(writeTensors(path, changed));
        });
        goesOnBefore("the name of its training has a line end", [&](const std::string &path) {
            TensorFile changed = *file;
            changed.metadata["training"] = "a\nb\n/etc\n/etc/passwd";
            REQUIRE(writeTensors(path, changed));
        });
        for (const char *order : {"x", ",,,", "1,0;", "-1", "99999999999999999999999"})
            goesOnBefore("its bucket_order is no list of parameters by bucket", [&](const std::string &path) {
                TensorFile changed = *file;
                changed.metadata["bucket_order"] = order;
                REQUIRE(writeTensors(path, changed));
            });
        const auto withEarlier = [&](const std::string &lines) {
            return [&, lines](const std::string &path) {
                TensorFile changed = *file;
                changed.metadata["earlier"] = lines;
                REQUIRE(writeTensors(path, changed));
            };
        };
        goesOnBefore("the earlier parts of its training are not in their order", withEarlier("1 5 {}\n1 5 {}\n"));
        std::string many;
        for (std::size_t i = 0; i <= mostEarlierParts; ++i)
            many += "0 " + std::to_string(i) + " {}\n";
        goesOnBefore("it lists more than 1000 earlier parts of its training", withEarlier(many));
        const auto ofSize = [](std::size_t bytes) { return R"({"data_dir":")" + std::string(bytes, 'x') + "\"}\n"; };
        goesOnBefore("it lists an earlier part of its training in", withEarlier("0 1 " + ofSize(longestEarlierPart)));
        many.clear();
        for (std::size_t i = 0; many.size() <= mostEarlierBytes; ++i)
            many += "0 " + std::to_string(i) + " " + ofSize(longestEarlierPart / 2);
        goesOnBefore("bytes of earlier parts of its training, more than 2097152", withEarlier(many));
        goesOnBefore("its header is no JSON object", [&](const std::string &path) {
            writeFile(path, {});
            std::filesystem::resize_file(path, std::uintmax_t{1} << 40);
        });
    }

    TEST_CASE("a checkpoint's metadata are judged before its data are read") {
        const TempFolder folder;
        TensorFile foreign;
        foreign.sealed = true;
        foreign.metadata = {{"lockstep_checkpoint", "2"}};
        foreign.tensors = {{"w", torch::zeros({4})}};
        const std::string file = folder / "checkpoint-000000000010.safetensors";
        REQUIRE(writeTensors(file, foreign));
        std::string bytes = readFile(file);
        bytes.back() ^= 1; // which the digest would tell
        writeFile(file, bytes);
        const auto read = readCheckpoint(file);
        REQUIRE_FALSE(read);
        CHECK(read.error().message().find("its metadata lack world_size") != std::string::npos);
    }

    TEST_CASE("the newest checkpoint that can be read is found behind nine others, not behind ten") {
        const Checkpoints checkpoints;
        checkpoints.runWell({"--epochs=1"});
        const CheckpointFolder folder(checkpoints.path());
        for (int damaged = 1; damaged <= 9; ++damaged)
            writeFile(checkpoints.after(100 + damaged), "torn");
        std::vector<std::string> skipped;
        const auto found = folder.newestGood({}, skipped);
        REQUIRE(found);
        REQUIRE(*found);
        CHECK((*found)->file == checkpoints.after(10));
        CHECK(skipped.size() == 9);
        writeFile(checkpoints.after(110), "torn");
        skipped.clear();
        const auto none = folder.newestGood({}, skipped);
        REQUIRE_FALSE(none);
        CHECK(none.error().message().find("10 of the 11 checkpoints in " + checkpoints.path() + " can't be read") !=
              std::string::npos);
    }

    TEST_CASE("a checkpoint that was refused is not read again under another name") {
        const Checkpoints checkpoints;
        std::filesystem::create_directories(checkpoints.path());
        writeFile(checkpoints.after(102), "torn");
        std::filesystem::create_hard_link(checkpoints.after(102), checkpoints.after(101));
        std::filesystem::create_symlink(checkpoints.after(102), checkpoints.after(100));
        std::vector<std::string> skipped;
        const auto found = CheckpointFolder(checkpoints.path()).newestGood({}, skipped);
        REQUIRE_FALSE(found);
        CHECK(found.error().message().find("none of the 3 checkpoints") != std::string::npos);
        REQUIRE(skipped.size() == 3);
        CHECK(skipped[0].find("no safetensors file: 4 bytes") != std::string::npos);
        for (const int name : {1, 2})
            CHECK(skipped[name].find("it is the same file as " + checkpoints.after(102) + ", which was refused") !=
                  std::string::npos);
    }

    TEST_CASE("a training does not go on with other data, or to an epoch that it has passed") {
        const Checkpoints folder;
        const SmallData data(640), other(640);
        other.changeTrainLabels();
        folder.runWell({data.option(), "--epochs=2"});
        const Ended otherData = folder.run({other.option(), "--epochs=3", "--resume"});
        CAPTURE(otherData.err);
        CHECK(otherData.code == exitBadArguments);
        CHECK(otherData.err.find("the training samples are other ones than the checkpoint was made with") !=
              std::string::npos);
        const Ended passed = folder.run({data.option(), "--epochs=1", "--resume"});
        CAPTURE(passed.err);
        CHECK(passed.code == exitBadArguments);
        CHECK(passed.err.find("--epochs is 1, but the checkpoint was taken in epoch 2") != std::string::npos);
        data.packTrainLabels();
        folder.runWell({data.option(), "--epochs=3", "--resume"});
    }

    TEST_CASE("servers that only serve can't be added or left out where that changes the steps or the learning rate") {
        struct Way {
            int ranks;
            std::vector<std::string> options;
            std::string refusal;
        };
        for (const Way &way :
             {Way{2, {"--batch-per-device=16"}, "the global batch size is 32, but the checkpoint was made with 16"},
              Way{3,
                  {"--batch-size=48", "--lr-rule=linear", "--lr=0.01"},
                  "the learning rate by --lr-rule linear is 0.03, but the checkpoint was made with 0.02"}}) {
            const TempFolder folder;
            const auto go = [&](std::vector<std::string> more) {
                more.insert(more.end(), way.options.begin(), way.options.end());
                more.insert(more.end(), {"--method=ps-async", "--checkpoint-dir=" + (folder / "c")});
                return DdpRun(way.ranks, more).wait();
            };
            for (const Ended &ended : go({"--server-devices=1"})) {
                CAPTURE(ended.err);
                REQUIRE(ended.code == exitDone);
            }
            for (const Ended &ended : go({"--epochs=2", "--resume"})) {
                CAPTURE(ended.err);
                CHECK(ended.code == exitBadArguments);
                CHECK(ended.err.find(way.refusal + " (server_devices=1 instead of server_devices=0)") !=
                      std::string::npos);
            }
            for (const Ended &ended : go({"--server-devices=1", "--epochs=2", "--resume"})) {
                CAPTURE(ended.err);
                CHECK(ended.code == exitDone);
            }
        }
    }

    TEST_CASE("a resumed training says which of its epochs were made with other settings of a step") {
        const Checkpoints folder;
        int runs = 0;
        const auto said = [&](const std::string &loader, int epochs) {
            const std::string frames = folder.beside("frames" + std::to_string(++runs));
            folder.runWell({"--loader=" + loader, "--epochs=" + std::to_string(epochs), "--resume",
                            "--test-samples=300", "--frames=" + frames});
            return alertOfOtherSettings(frames);
        };
        folder.runWell({"--loader=batch", "--epochs=2"}); // and another number of test samples, which no step sees
        CHECK(said("batch", 3).empty());
        CHECK(said("item", 4) == "epochs 1 to 3 were made with loader=batch instead of loader=item");
        CHECK(said("item", 5) == "epochs 1 to 3 were made with loader=batch instead of loader=item");
        CHECK(said("batch", 6) == "epochs 4 to 5 were made with loader=item instead of loader=batch");
        CHECK(said("batch", 6) == "epochs 4 to 5 were made with loader=item instead of loader=batch");
    }

    TEST_CASE("by a learning rate schedule, a training resumed with more epochs says which were made by another one") {
        const Checkpoints folder;
        int runs = 0;
        const auto said = [&](int epochs) {
            const std::string frames = folder.beside("frames" + std::to_string(++runs));
            folder.runWell(
                {"--lr-schedule=linear", "--epochs=" + std::to_string(epochs), "--resume", "--frames=" + frames});
            return alertOfOtherSettings(frames);
        };
        folder.runWell({"--lr-schedule=linear", "--epochs=1"});
        CHECK(said(1).empty());
        CHECK(said(2) == "epoch 1 was made with epochs=1 instead of epochs=2");
        CHECK(said(3) == "epoch 1 was made with epochs=1 instead of epochs=3; "
                         "epoch 2 was made with epochs=2 instead of epochs=3");
    }

    TEST_CASE("on every node two copies of checkpoints are kept, and another training's are moved aside") {
        Nodes nodes;
        nodes.runWell({"a", "b"}, {"--epochs=1"});
        for (const int epochs : {2, 3, 4})
            nodes.runWell({"a", "b"}, {"--epochs=" + std::to_string(epochs), "--resume"});
        CHECK((nodes.has("b", 30) && nodes.has("b", 20))); // what the last two went on from
        CHECK_FALSE(nodes.has("b", 10));
        nodes.runWell({"a", "b"}, {"--epochs=2"});
        for (const char *folder : {"a", "b"}) {
            CAPTURE(folder);
            CHECK_FALSE(nodes.has(folder, 30));
            CHECK(nodes.has(folder + std::string("/earlier-1"), 30));
        }
        const auto swapped = nodes.runWell({"b", "a"}, {"--epochs=3", "--resume"});
        CAPTURE(swapped.front().err);
        CHECK(swapped.front().err.find("goes on from " + nodes.file("b", 20)) != std::string::npos);
    }

    TEST_CASE("nodes that share a folder without locks leave rank 0's first checkpoint where it is") {
        Nodes nodes;
        std::filesystem::create_directories(nodes.path("a") + "/.lock"); // a folder can't be locked
        nodes.runWell({"a", "a"}, {"--epochs=1"});
        CHECK(nodes.has("a", 10));
    }

    TEST_CASE(
        "nodes in whose folders a later training is overruled by an earlier one are refused, and both are named") {
        Nodes nodes;
        nodes.runWell({"a", "b"}, {"--epochs=2"});
        nodes.runWell({"c", "d"}, {"--epochs=1"});
        for (const Ended &ended : nodes.run({"a", "c"}, {"--epochs=3", "--resume"})) {
            CAPTURE(ended.err);
            CHECK(ended.code == exitBadArguments);
            CHECK(ended.err.find("the nodes have checkpoints of different trainings: rank 0 on ") != std::string::npos);
            CHECK(ended.err.find(" has " + nodes.file("a", 20) + ", rank 1 on ") != std::string::npos);
            CHECK(ended.err.find(" has " + nodes.file("c", 10) + ", which was saved later") != std::string::npos);
        }
        const auto ordered = nodes.runWell({"c", "a"}, {"--epochs=3", "--resume"});
        CAPTURE(ordered.front().err);
        CHECK(ordered.front().err.find("goes on from " + nodes.file("c", 10)) != std::string::npos);
    }

    TEST_CASE(
        "a checkpoint of an earlier version, which says neither its training, its data nor its time, is gone on from") {
        const Checkpoints folder;
        folder.runWell({"--epochs=2"});
        for (const int steps : {10, 20}) {
            auto file = *trainer::readTensors(folder.after(steps));
            for (const char *key : {"training", "data_sha256", "saved_us", "earlier"})
                REQUIRE(file.metadata.erase(key) == 1);
            for (auto &[name, tensor] : file.tensors)
                if (name == "lockstep.progress")
                    tensor = tensor.slice(1, 0, std::int64_t(trainer::leftOutColumn)).contiguous();
            REQUIRE(trainer::writeTensors(folder.after(steps), file));
        }
        for (const int epochs : {3, 4})
            folder.runWell({"--epochs=" + std::to_string(epochs), "--resume"});
        CHECK((folder.has(40) && folder.has(30)));
        CHECK_FALSE((folder.has(20) || folder.has(10)));
    }

    TEST_CASE("what a process left that was killed while it wrote a checkpoint is removed by the next") {
        const Checkpoints folder;
        folder.runWell({"--epochs=1"});
        const std::string left = folder.after(20) + ".tmp-999999999-0", // more than any process's number
            written = folder.after(20) + ".tmp-" + std::to_string(::getpid()) + "-0";
        writeFile(left, "half");
        writeFile(written, "half");
        folder.runWell({"--epochs=2", "--resume"});
        CHECK_FALSE(std::filesystem::exists(left));
        CHECK(std::filesystem::exists(written));
    }
}
