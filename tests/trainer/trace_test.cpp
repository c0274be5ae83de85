// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "tests/trainer/trainer_process.h"
#include "trainer/report/host_clock.h"
#include "trainer/report/trace.h"

using namespace lockstep;
using namespace lockstep::trainer;
using namespace lockstep::trainer::test;

namespace {

struct Span {
    std::string name;
    int track = 0;
    double start = 0, end = 0; ///< µs
    std::int64_t bytes = 0;    ///< of a bucket, and when it was ready
    double ready = 0;
};

/// What a viewer of Chrome's trace events relies on: only events of known kinds, whole spans in µs, ids that are numbers, and
/// a name for each process and track before it is used.
void checkFormat(const nlohmann::json &trace) {
    CHECK(trace.at("displayTimeUnit") == "ms");
    std::set<std::pair<int, int>> tracks;
    std::set<int> processes;
    for (const auto &event : trace.at("traceEvents")) {
        CAPTURE(event.dump());
        REQUIRE(event.at("pid").is_number_integer());
        const int pid = event.at("pid");
        if (event.at("ph") == "M") {
            const bool process = event.at("name") == "process_name";
            CHECK((process || event.at("name") == "thread_name"));
            CHECK(!event.at("args").at("name").get<std::string>().empty());
            CHECK((process ? processes.insert(pid).second : tracks.insert({pid, event.at("tid")}).second));
            continue;
        }
        CHECK(event.at("ph") == "X");
        CHECK(!event.at("name").get<std::string>().empty());
        CHECK(event.at("ts").get<double>() > 0);
        CHECK(event.at("dur").get<double>() >= 0);
        CHECK(processes.contains(pid));
        CHECK(tracks.contains({pid, event.at("tid").get<int>()}));
    }
}

std::vector<Span> spansOf(const std::string &path) {
    const auto trace = nlohmann::json::parse(readFile(path));
    checkFormat(trace);
    std::vector<Span> spans;
    for (const auto &event : trace.at("traceEvents"))
        if (event.at("ph") == "X") {
            const double start = event.at("ts"), length = event.at("dur");
            const auto reported = event.value("args", nlohmann::json::object());
            spans.push_back({event.at("name"), event.at("tid"), start, start + length,
                             reported.value("bytes", std::int64_t{0}), reported.value("ready", 0.0)});
        }
    return spans;
}

std::vector<Span> named(const std::vector<Span> &spans, const std::string &name) {
    std::vector<Span> out;
    std::copy_if(spans.begin(), spans.end(), std::back_inserter(out), [&](const Span &s) { return s.name == name; });
    return out;
}

/// On one track two spans lie side by side or one in the other: half overlaps can't be drawn.
void checkNesting(const std::vector<Span> &spans) {
    constexpr double rounding = 0.002;
    for (std::size_t i = 0; i < spans.size(); ++i)
        for (std::size_t j = i + 1; j < spans.size(); ++j) {
            const Span &a = spans[i], &b = spans[j];
            if (a.track != b.track)
                continue;
            const bool apart = a.end <= b.start + rounding || b.end <= a.start + rounding;
            const bool inside = (a.start <= b.start + rounding && b.end <= a.end + rounding) ||
                                (b.start <= a.start + rounding && a.end <= b.end + rounding);
            CAPTURE(a.name);
            CAPTURE(b.name);
            CHECK((apart || inside));
        }
}

void checkPhasesFillSteps(const std::vector<Span> &spans, std::size_t steps) {
    const auto whole = named(spans, "step");
    CHECK(whole.size() == steps);
    for (const Span &step : whole) {
        double sum = 0;
        for (const auto phase : additivePhases())
            for (const Span &span : named(spans, std::string(phase)))
                if (span.track == step.track && span.start >= step.start - 0.002 && span.end <= step.end + 0.002)
                    sum += span.end - span.start;
        CHECK(sum == doctest::Approx(step.end - step.start).epsilon(0.001));
    }
}

std::vector<Span> inside(const std::vector<Span> &spans, const Span &whole) {
    std::vector<Span> out;
    std::copy_if(spans.begin(), spans.end(), std::back_inserter(out),
                 [&](const Span &s) { return s.start >= whole.start - 0.002 && s.end <= whole.end + 0.002; });
    return out;
}

/// Each step's buckets carry all gradients, once; each is ready within backward, but the last one, which is read just behind its lap; it
/// starts then and ends later; and what lies behind backward is what the step waited for.
void checkBuckets(const std::vector<Span> &spans, std::int64_t gradientBytes) {
    constexpr double rounding = 0.002;
    for (const Span &step : named(spans, "step")) {
        const auto own = inside(spans, step);
        const auto buckets = named(own, "all-reduce"), backward = named(own, "backward"),
                   exposed = named(own, "exposed");
        REQUIRE(!buckets.empty());
        REQUIRE(backward.size() == 1);
        REQUIRE(exposed.size() == 1);
        std::int64_t bytes = 0;
        std::set<int> tracks;
        double last = 0;
        int late = 0;
        for (const Span &bucket : buckets) {
            CHECK(tracks.insert(bucket.track).second);
            CHECK(bucket.bytes > 0);
            bytes += bucket.bytes;
            CHECK(bucket.ready >= backward[0].start - rounding);
            CHECK(bucket.ready <= exposed[0].end + rounding);
            late += bucket.ready > backward[0].end + rounding ? 1 : 0;
            CHECK(bucket.start >= bucket.ready - rounding);
            CHECK(bucket.end > bucket.start);
            CHECK(bucket.end <= exposed[0].end + rounding);
            last = std::max(last, bucket.end);
            const auto beside = std::ranges::count_if(buckets, [&](const Span &other) {
                return other.start < bucket.start && other.end > bucket.start + rounding;
            });
            CHECK(beside < 2); // Gloo has two threads: what waits for one is not under way
        }
        CHECK(late <= 1);
        CHECK(bytes == gradientBytes);
        CHECK(last >= backward[0].end); // the last bucket leaves when backward is over
    }
}

} // namespace

TEST_SUITE("trace") {
    TEST_CASE("a traced DDP run has its steps, phases, buckets and loading worker in each rank's file") {
        const TempFolder folder;
        DdpRun run(2, {"--trace=6", "--workers=1", "--bucket-mb=0.1", "--frames=" + (folder / "f")},
                   {{"LOCKSTEP_TRACES", folder / "traces"}});
        for (const Ended &ended : run.wait()) {
            CAPTURE(ended.err);
            REQUIRE(ended.code == 0);
        }
        for (const char *file : {"traces/rank-0.json", "traces/rank-1.json"}) {
            const auto spans = spansOf(folder / file);
            checkNesting(spans);
            checkPhasesFillSteps(spans, 6);
            std::set<int> buckets;
            for (const Span &span : named(spans, "all-reduce"))
                buckets.insert(span.track);
            CHECK(buckets.size() > 1); // from the second step on there are several
            // LeNet's 61,706 parameters, and the slots for stops and times: 1, and 6 of each rank.
            checkBuckets(spans, 4 * (61'706 + 1 + 2 * 6));
            CHECK(!named(spans, "make batch").empty());
        }
        // The frames report the same in sums: each bucket's mean times, and how much of it all was hidden or waited for.
        for (const auto &comm : bodiesOf<CommFrame>(readFrames(folder / "f"))) {
            CHECK(!comm.buckets.empty());
            for (const auto &bucket : comm.buckets) {
                CHECK(bucket.sizeBytes > 0);
                CHECK(*bucket.readyS <= *bucket.startS);
                CHECK(*bucket.startS < *bucket.endS);
            }
            CHECK(*comm.exposedS > 0);
            CHECK(*comm.hiddenS >= 0);
        }
        bool reported = false;
        for (const auto &log : bodiesOf<LogFrame>(readFrames(folder / "f")))
            reported = reported || log.message.find("a trace of 6 steps is in ") != std::string::npos;
        CHECK(reported);
    }

    TEST_CASE("a traced DP run has a track a device, and a trace longer than the run ends with it") {
        const TempFolder folder;
        Process run(trainerBinary(),
                    withSmallRun({"--method=dp", "--devices=0,1", "--trace=1000", "--frames=" + (folder / "f")}),
                    {{"LOCKSTEP_TRACES", folder / "traces"}});
        const Ended ended = run.wait();
        CAPTURE(ended.err);
        REQUIRE(ended.code == 0);
        const auto spans = spansOf(folder / "traces/rank-0.json");
        checkNesting(spans);
        checkPhasesFillSteps(spans, 10);
        int onSecond = 0;
        for (const Span &span : spans)
            onSecond += span.track == 1;
        CHECK(onSecond == 20); // forward and backward of ten steps
        const auto epochs = bodiesOf<EpochFrame>(readFrames(folder / "f"));
        REQUIRE(epochs.size() == 1);
        REQUIRE(epochs[0].replicas.size() == 2);
        for (std::size_t i = 0; i < 2; ++i) {
            const auto &replica = epochs[0].replicas[i];
            CHECK(replica.device == "cpu:" + std::to_string(i));
            for (const char *phase : {"parallel_forward", "parallel_backward"}) {
                CAPTURE(phase);
                CHECK(replica.phases.at(phase).sumS > 0);
                CHECK(replica.phases.at(phase).sumS <= epochs[0].phases.at(phase).sumS);
            }
        }
    }

    TEST_CASE("a trace records the steps that follow when it is asked for, and nothing before or after") {
        const TempFolder folder;
        Trace trace(3, "box");
        HostClock clock(&trace);
        const auto step = [&](std::int64_t number) {
            trace.beginStep(monotonicNs(), 8);
            clock.lap(Phase::Load, {});
            clock.lap(Phase::Forward, Phase::Scatter);
            clock.lap(Phase::Other, {});
            return trace.endStep(number, monotonicNs());
        };
        clock.start();
        CHECK(!step(0));
        trace.ask(2);
        CHECK(!step(1));
        CHECK(step(2));
        const auto recorded = trace.take();
        CHECK(!step(3));
        CHECK(trace.take().spans.empty());
        CHECK(recorded.steps == 2);
        CHECK(recorded.lost == 0);
        REQUIRE(trace.write(recorded, folder / "t").has_value());
        const auto spans = spansOf(folder / "t/rank-3.json");
        CHECK(spans.size() == 10);
        checkNesting(spans);
        checkPhasesFillSteps(spans, 2);
    }

    TEST_CASE("spans for which there is no room are counted, not kept") {
        Trace trace(0, "box");
        trace.ask(1);
        trace.beginStep(monotonicNs(), 1);
        for (int i = 0; i < 1000; ++i)
            trace.span(Trace::firstBucket, "all-reduce", i, i + 1);
        const auto recorded = trace.take();
        CHECK(recorded.spans.size() >= 66);
        CHECK(recorded.spans.size() + recorded.lost == 1000);
    }
}
