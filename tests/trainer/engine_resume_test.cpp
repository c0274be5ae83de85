// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "tests/trainer/peers.h"

using namespace lockstep;
using namespace lockstep::trainer::test;

namespace {

using Options = std::vector<std::string>;

/// A run that is broken off now and then, and goes on from its checkpoints.
class BrokenRun {
public:
    BrokenRun(int ranks, Options options) : m_ranks(ranks), m_options(std::move(options)) {}

    /// Runs to the end without a break; the checksum of the last parameters.
    std::string unbroken() { return toTheEnd({}); }
    std::string resumed() { return toTheEnd({"--resume", m_checkpoints}); }

    /// One bit of the newest checkpoint's tensors is no longer what was written.
    void flipABitOfTheNewestCheckpoint() {
        std::string newest;
        for (const auto &entry : std::filesystem::directory_iterator(m_folder / "c"))
            newest = std::max(newest, entry.path().string());
        std::string bytes = readFile(newest);
        bytes[bytes.size() - 1000] = static_cast<char>(bytes[bytes.size() - 1000] ^ 1);
        writeFile(newest, bytes);
    }

    /// Goes on from the last checkpoint, if there is one, and gets `number` when the frames say `text`: on the first rank, or
    /// with SIGKILL on the last one or on all. Returns the last step that was reported.
    std::int64_t breakAt(const std::string &text, int number, bool everyRank = true) {
        const std::string frames = m_folder / ("frames" + std::to_string(++m_breaks));
        auto run = start({"--resume", m_checkpoints, "--frames=" + frames});
        REQUIRE(appears(frames, text));
        if (number != SIGKILL)
            run.front()->signal(number);
        else
            for (auto rank = everyRank ? run.begin() : run.end() - 1; rank != run.end(); ++rank)
                (*rank)->signal(SIGKILL);
        for (std::size_t rank = 0; rank < run.size(); ++rank) {
            const Ended ended = run[rank]->wait();
            CAPTURE(ended.err);
            CAPTURE(rank);
            const bool killed = number == SIGKILL && (everyRank || rank + 1 == run.size());
            // A rank that lost another one fails.
            CHECK(ended.code == (killed ? std::optional<int>() : std::optional(number == SIGKILL ? 1 : 130)));
        }
        std::int64_t last = -1;
        for (const auto &window : bodiesOf<StepsFrame>(readFrames(frames), 0))
            last = std::max(last, window.lastStep);
        MESSAGE("broken off after step " << last << " by signal " << number);
        return last;
    }

private:
    std::vector<std::unique_ptr<Process>> start(const Options &more) {
        auto options = withSmallRun(m_options);
        options.insert(options.end(), more.begin(), more.end());
        const std::string n = std::to_string(m_ranks);
        std::vector<std::unique_ptr<Process>> run;
        if (m_ranks > 0) {
            addByDefault(options, "--method=ddp");
            options.push_back("--init-method=file://" + (m_folder / "store") + std::to_string(++m_starts));
        }
        for (int rank = 0; rank < std::max(m_ranks, 1); ++rank) {
            const std::string r = std::to_string(rank);
            Environment environment{{"LOCKSTEP_STEP_WINDOW_MS", "0"}};
            if (m_ranks > 0)
                environment.insert({{"RANK", r}, {"LOCAL_RANK", r}, {"WORLD_SIZE", n}, {"LOCAL_WORLD_SIZE", n}});
            run.push_back(std::make_unique<Process>(trainerBinary(), options, environment));
        }
        return run;
    }
    std::string toTheEnd(Options more) {
        more.push_back("--summary=" + (m_folder / "summary"));
        for (auto &rank : start(more)) {
            const Ended ended = rank->wait();
            CAPTURE(ended.err);
            REQUIRE(ended.code == 0);
        }
        const auto sha256 = readSummary(m_folder / "summary").parametersSha256;
        REQUIRE(!sha256.empty());
        return sha256;
    }

    TempFolder m_folder;
    int m_ranks;
    Options m_options;
    std::string m_checkpoints = "--checkpoint-dir=" + (m_folder / "c");
    int m_starts = 0, m_breaks = 0;
};

std::string step(int number) {
    return R"("first_step":)" + std::to_string(number) + ",";
}

} // namespace

TEST_SUITE("engine_resume") {
    TEST_CASE("a run killed anywhere goes on from its last checkpoint and ends bit for bit as an unbroken one") {
        const SmallData data(960, 6000); // so that the last test takes longer than to notice it
        const Options options{data.option(),      "--epochs=3", "--batch-size=48",  "--train-samples=960",
                              "--optimizer=adam", "--lr=0.002", "--augment=affine", "--workers=2"};
        const std::string whole = BrokenRun(0, options).unbroken();
        // Before there is a checkpoint, while one is written, in the epoch's middle, at its last step, in the last test.
        for (const std::string &text : {step(0), step(7), std::string(R"("state":"checkpointing")"), step(20), step(39),
                                        step(52), std::string(R"("state":"evaluating","epoch":3)")}) {
            CAPTURE(text);
            BrokenRun run(0, options);
            run.breakAt(text, SIGKILL);
            CHECK(run.resumed() == whole);
        }
    }

    TEST_CASE("a checkpoint in which one bit has changed is passed over for the one before") {
        const SmallData data(960);
        const Options options{data.option(), "--epochs=3", "--batch-size=48", "--train-samples=960"};
        BrokenRun run(0, options);
        run.breakAt(step(52), SIGKILL); // two epochs are done, each with its checkpoint
        run.flipABitOfTheNewestCheckpoint();
        CHECK(run.resumed() == BrokenRun(0, options).unbroken());
    }

    TEST_CASE(
        "ranks that are started again after a failure go on from their own checkpoint, never from another training's") {
        const SmallData data(960);
        const TempFolder folder;
        int starts = 0;
        const auto frames = [&] { return folder / ("frames" + std::to_string(starts)); };
        const auto start = [&](const std::string &seed, int attempt) {
            ++starts;
            return std::make_unique<Process>(
                trainerBinary(),
                withSmallRun({data.option(), "--epochs=3", "--batch-size=48", "--train-samples=960", "--seed=" + seed,
                              "--checkpoint-dir=" + (folder / "c"), "--summary=" + (folder / "s"),
                              "--frames=" + frames()}),
                Environment{{"LOCKSTEP_STEP_WINDOW_MS", "0"},
                            {"TORCHELASTIC_RESTART_COUNT", std::to_string(attempt)},
                            {"TORCHELASTIC_RUN_ID", "training-" + seed}});
        };
        const auto toTheEnd = [&](const std::string &seed, int attempt) {
            const Ended ended = start(seed, attempt)->wait();
            CAPTURE(ended.err);
            REQUIRE(ended.code == 0);
            return readSummary(folder / "s").parametersSha256;
        };
        const auto killedAt = [&](const std::string &text, int attempt) {
            const auto run = start("1", attempt);
            REQUIRE(appears(frames(), text));
            run->signal(SIGKILL);
            CHECK(run->wait().code == std::nullopt);
        };
        const std::string whole = toTheEnd("1", 0);
        toTheEnd("2", 0); // leaves checkpoints, too
        killedAt(step(3), 0);
        killedAt(step(45), 1); // has begun anew
        CHECK(toTheEnd("1", 2) == whole);
        const auto windows = bodiesOf<StepsFrame>(readFrames(frames()), 0);
        REQUIRE(!windows.empty());
        CHECK(windows.front().firstStep >= 20);
    }

    TEST_CASE("three ranks stopped after their very first step go on with the buckets that the second would have had") {
        const SmallData data(6000);
        // Loaded an image at a time, the first batch takes long enough for a stop before its step begins.
        const Options options{data.option(),   "--epochs=2",       "--batch-size=3000", "--train-samples=6000",
                              "--loader=item", "--augment=affine", "--momentum=0.9"};
        const std::string whole = BrokenRun(3, options).unbroken();
        for (int attempt = 0; attempt < 5; ++attempt) {
            BrokenRun run(3, options);
            const auto last = run.breakAt(R"("state":"training")", SIGTERM);
            CHECK(run.resumed() == whole);
            if (last == 0)
                return;
        }
        FAIL("no attempt was stopped after step 0");
    }

    TEST_CASE("stopped, resumed, killed and resumed again, every method ends bit for bit like an unbroken run") {
        const SmallData data(490);
        struct Way {
            std::string name;
            int ranks; ///< of DDP; 0: one process without it
            Options options;
        };
        const Way ways[] = {
            {"two ranks, adam, affine, workers", 2, {"--optimizer=adam", "--augment=affine", "--workers=2"}},
            // Three: there the sums depend on the buckets' order, and 490 samples are padded.
            {"three ranks, sgd", 3, {"--optimizer=sgd"}},
            {"three ranks, convnet with dropout, adamw, affine",
             3,
             {"--model=convnet", "--optimizer=adamw", "--augment=affine", "--workers=2"}},
            {"three ranks through a server, in small buckets",
             3,
             {"--method=ps-sync", "--bucket-mb=0.05", "--momentum=0.9"}},
            {"three ranks in step through two asynchronous servers",
             3,
             {"--method=ps-async", "--max-staleness=0", "--servers=2", "--optimizer=adam"}},
            {"two ranks in step beside two servers that only serve",
             4,
             {"--method=ps-async", "--max-staleness=0", "--server-devices=2", "--optimizer=adam"}},
            {"a pipeline of two", 2, {"--method=pipeline", "--optimizer=adam", "--augment=affine", "--workers=1"}},
            {"two pipelines of two", 4, {"--method=pipeline", "--stages=2", "--optimizer=adam"}},
            {"convnet with dropout, item loader", 0, {"--model=convnet", "--optimizer=sgd", "--loader=item"}},
            {"dp x2, convnet with dropout",
             0,
             {"--method=dp", "--devices=0,1", "--model=convnet", "--optimizer=adam", "--workers=2"}},
            {"dp x3 persistent, convnet with dropout",
             0,
             {"--method=dp", "--devices=0,1,2", "--dp-replicas=persistent", "--model=convnet", "--optimizer=adam"}},
        };
        for (const Way &way : ways) {
            CAPTURE(way.name);
            MESSAGE(way.name);
            Options options{data.option(), "--epochs=3", "--batch-size=48", "--train-samples=490", "--lr=0.002"};
            options.insert(options.end(), way.options.begin(), way.options.end());
            const std::string whole = BrokenRun(way.ranks, options).unbroken();
            BrokenRun run(way.ranks, options);
            if (way.ranks <= 2) // of three and more: the test before this
                run.breakAt(R"("state":"training")", SIGTERM);
            run.breakAt(step(14), SIGTERM);
            run.breakAt(step(24), SIGKILL, way.ranks != 2);
            CHECK(run.resumed() == whole);
        }
    }
}
