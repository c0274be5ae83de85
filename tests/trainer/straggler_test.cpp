#include <doctest/doctest.h>

#include <array>
#include <fstream>
#include <random>

#include "tests/trainer/trainer_process.h"
#include "trainer/report/delayed_clock.h"
#include "trainer/report/host_clock.h"
#include "trainer/report/straggler_detector.h"

using namespace lockstep;
using namespace lockstep::trainer;
using namespace lockstep::trainer::test;

namespace {

using Step = std::array<OwnTimes, 2>;

/// Steps of two real ranks on two cores of one machine: ready, load, h2d, forward, backward, optimizer in µs, both ranks a line.
std::vector<Step> recordedSteps() {
    std::ifstream file(LOCKSTEP_JITTER_FILE);
    std::vector<Step> steps;
    for (std::string line; std::getline(file, line);) {
        std::istringstream numbers(line);
        Step step;
        for (OwnTimes &rank : step) {
            numbers >> rank.ready;
            rank.ready *= 1e3; // to ns
            for (double &phase : rank.phases) {
                numbers >> phase;
                phase *= 1e3;
            }
        }
        if (numbers)
            steps.push_back(step);
    }
    return steps;
}

/// Steps drawn from the record in stretches of 1 to 20, each rank its own: what comes in bursts stays together.
class Bootstrap {
public:
    Bootstrap(const std::vector<Step> &record, unsigned seed) : m_record(record), m_random(seed) {}
    Step next() {
        Step step;
        for (std::size_t rank = 0; rank < 2; ++rank) {
            if (m_left[rank]-- == 0) {
                m_left[rank] = m_random() % 20;
                m_at[rank] = m_random() % m_record.size();
            }
            step[rank] = m_record[m_at[rank]++ % m_record.size()][rank];
        }
        return step;
    }

private:
    const std::vector<Step> &m_record;
    std::mt19937 m_random;
    std::array<std::size_t, 2> m_at{}, m_left{};
};

void slowDown(OwnTimes &rank, Phase phase, double factor) {
    const auto i = static_cast<std::size_t>(std::find(ownPhases.begin(), ownPhases.end(), phase) - ownPhases.begin());
    rank.ready += rank.phases.at(i) * (factor - 1);
    rank.phases.at(i) *= factor;
}

std::vector<AlertFrame> alertsOf(const std::vector<Frame> &frames, const std::string &kind) {
    std::vector<AlertFrame> alerts;
    for (const auto &alert : bodiesOf<AlertFrame>(frames))
        if (alert.kind == kind)
            alerts.push_back(alert);
    return alerts;
}

} // namespace

TEST_SUITE("straggler") {
    TEST_CASE("no rank is named in a million steps of real jitter") {
        const auto record = recordedSteps();
        REQUIRE(record.size() > 1000);
        StragglerDetector detector(2);
        Bootstrap steps(record, 1);
        for (std::int64_t i = 0; i < 1'000'000; ++i) {
            const Step step = steps.next();
            const auto verdict = detector.add(i, step);
            if (verdict)
                FAIL("rank " << verdict->rank << " was named for " << nameOf(verdict->phase) << " at step " << i);
        }
    }

    TEST_CASE("a rank 1.5 times slower in backward is named from twenty steps of real jitter, whichever it is") {
        const auto record = recordedSteps();
        REQUIRE(record.size() > 1000);
        int named = 0, wrong = 0; // the other rank may have hit a neighbour's stretch just then
        for (unsigned seed = 0; seed < 1000; ++seed) {
            StragglerDetector detector(2);
            Bootstrap steps(record, seed);
            const std::size_t slow = seed % 2;
            for (std::int64_t i = 0; i < 20; ++i) {
                Step step = steps.next();
                slowDown(step[slow], Phase::Backward, 1.5);
                if (const auto verdict = detector.add(i, step)) {
                    CHECK(i == 19);
                    CHECK(verdict->readyLaterNs > 0);
                    const bool right = verdict->rank == static_cast<int>(slow) && verdict->phase == Phase::Backward;
                    ++(right ? named : wrong);
                }
            }
        }
        CHECK(named >= 970);
        CHECK(wrong <= 2);
        MESSAGE(named << " of 1000 named within 20 steps");
    }

    TEST_CASE("of four ranks the slow one is named, in the phase it is slow in, once, and said to keep up again") {
        for (const Phase phase : {Phase::Load, Phase::Forward, Phase::Backward, Phase::Optimizer}) {
            CAPTURE(nameOf(phase));
            StragglerDetector detector(4);
            std::mt19937 random(3);
            std::normal_distribution<double> jitter(1, 0.05);
            std::vector<StragglerDetector::Verdict> verdicts;
            for (std::int64_t i = 0; i < 3000; ++i) {
                std::array<OwnTimes, 4> step;
                for (OwnTimes &rank : step) {
                    rank.phases = {1e6 * jitter(random), 0, 2e6 * jitter(random), 3e6 * jitter(random),
                                   1e6 * jitter(random)};
                    rank.ready = 1e5;
                    for (const double part : rank.phases)
                        rank.ready += part;
                }
                if (i >= 500 && i < 1500)
                    slowDown(step[2], phase, 1.5);
                if (const auto verdict = detector.add(i, step))
                    verdicts.push_back(*verdict);
            }
            REQUIRE(verdicts.size() == 2);
            CHECK(verdicts[0].rank == 2);
            CHECK((verdicts[0].phase == phase));
            CHECK(!verdicts[0].over);
            CHECK(verdicts[0].step >= 505);
            CHECK(verdicts[0].step < 525);
            CHECK(verdicts[1].rank == 2);
            CHECK(verdicts[1].over);
            CHECK(verdicts[1].step >= 1690);
        }
    }

    TEST_CASE("a rank slow in all it does is named when that lasts, not for a moment's neighbour on its core") {
        StragglerDetector detector(2);
        std::vector<StragglerDetector::Verdict> verdicts;
        for (std::int64_t i = 0; i < 1000; ++i) {
            Step step;
            const bool slow = (i >= 100 && i < 150) || i >= 500;
            for (OwnTimes &rank : step) {
                const double factor = slow && &rank == &step[1] ? 1.4 : 1;
                rank.phases = {1e5 * factor, 0, 2e6 * factor, 3e6 * factor, 2e4 * factor};
                rank.ready = 5.2e6 * factor;
            }
            if (const auto verdict = detector.add(i, step))
                verdicts.push_back(*verdict);
        }
        REQUIRE(verdicts.size() == 1);
        CHECK(verdicts[0].rank == 1);
        CHECK((verdicts[0].phase == Phase::Backward)); // its largest share
        CHECK(verdicts[0].step >= 699);
        CHECK(verdicts[0].step < 720);
    }

    TEST_CASE("what slows all ranks, single stalls and what nobody waits for name no rank") {
        StragglerDetector detector(2);
        for (std::int64_t i = 0; i < 2000; ++i) {
            Step step;
            for (OwnTimes &rank : step) {
                rank.phases = {1e5, 0, 2e6, 3e6, 2e4};
                rank.ready = 5.2e6;
                slowDown(rank, Phase::Backward, i > 1000 ? 2 : 1);
            }
            if (i % 5 == 0)
                slowDown(step[1], Phase::Forward, 10);
            slowDown(step[0], Phase::Optimizer, 3); // 40 µs of 5 ms
            CHECK(!detector.add(i, step));
        }
        CHECK(!detector.add(0, {}));
    }

    TEST_CASE("a rank slowed in backward, loading or the optimizer is named by the run itself, and the delay is told") {
        struct Case {
            const char *delay, *phase;
            int rank;
            std::vector<std::string> more;
        };
        const Case cases[] = {
            {"1:backward:1.5", "backward", 1, {}},
            {"1:load:2.5", "load", 1, {"--loader=item", "--augment=affine", "--workers=0"}},
            {"0:optimizer:4", "optimizer", 0, {"--model=convnet", "--optimizer=adam", "--batch-size=16"}},
        };
        for (const Case &one : cases) {
            CAPTURE(one.delay);
            const TempFolder folder;
            auto arguments = one.more;
            arguments.push_back("--frames=" + (folder / "f"));
            arguments.push_back(one.more.size() == 3 && one.rank == 0 ? "--train-samples=960" : "--train-samples=5120");
            DdpRun run(2, arguments, {{"LOCKSTEP_TEST_DELAY", one.delay}});
            for (const Ended &ended : run.wait()) {
                CAPTURE(ended.err);
                REQUIRE(ended.code == 0);
            }
            const auto frames = readFrames(folder / "f");
            const auto told = alertsOf(frames, "test_delay");
            REQUIRE(told.size() == 1);
            CHECK(told[0].message.find("not real") != std::string::npos);
            for (const auto &state : bodiesOf<StateFrame>(frames))
                if (state.state == RunState::Init)
                    CHECK(state.detail.find("LOCKSTEP_TEST_DELAY") != std::string::npos);
            const auto named = alertsOf(frames, "straggler");
            REQUIRE(!named.empty());
            const std::string &message = named[0].message;
            CAPTURE(message);
            CHECK(message.starts_with("rank " + std::to_string(one.rank) + " on "));
            CHECK(message.find(std::string(" in ") + one.phase + ": its gradients are ready ") != std::string::npos);
            CHECK(*named[0].step < 60); // 19 on a machine that does nothing else
            CHECK(named.size() <= 2);
        }
    }

    TEST_CASE("a delay that can't be read ends the run with a sentence, and so does one for a phase that has none") {
        for (const char *text : {"1", "1:backward", "x:backward:2", "1:exposed:2", "1:backward:0.5", "1:load:nan"}) {
            CAPTURE(text);
            const auto parsed = parseTestDelay(text);
            REQUIRE(!parsed);
            CHECK((parsed.error().kind == ErrorKind::BadArgument));
        }
        const Ended ended = Process(trainerBinary(), withSmallRun({}), {{"LOCKSTEP_TEST_DELAY", "0:sleep:2"}}).wait();
        CHECK(ended.code == 2);
        CHECK(ended.sentences() == 1);
        CHECK(ended.err.find("RANK:PHASE:FACTOR") != std::string::npos);
    }

    TEST_CASE("a delayed clock makes one phase as much longer as it says, and no other") {
        DelayedClock clock(std::make_unique<HostClock>(), {0, Phase::Forward, 3});
        const auto busy = [](std::int64_t ns) {
            for (const auto until = monotonicNs() + ns; monotonicNs() < until;) {
            }
        };
        clock.start();
        busy(2'000'000);
        clock.lap(Phase::Load, {});
        busy(2'000'000);
        clock.lap(Phase::Forward, {});
        clock.endStep();
        const auto step = clock.takeStep(true);
        REQUIRE(step);
        CHECK(*step->of(Phase::Forward) >= 6'000'000);
        CHECK(*step->of(Phase::Load) < *step->of(Phase::Forward));
        CHECK(*clock.takeOwn()->of(Phase::Forward) == *step->of(Phase::Forward));
    }
}
