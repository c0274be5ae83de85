// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <unistd.h>

#include "tests/trainer/peers.h"

using namespace lockstep;
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

    TEST_CASE("a checkpoint of an earlier version, which says neither its training nor its data, is gone on from") {
        const Checkpoints folder;
        folder.runWell({"--epochs=2"});
        for (const int steps : {10, 20}) {
            auto file = *trainer::readTensors(folder.after(steps));
            REQUIRE((file.metadata.erase("training") == 1 && file.metadata.erase("data_sha256") == 1));
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
