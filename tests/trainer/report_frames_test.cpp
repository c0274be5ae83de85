// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "ipc/messages.h"
#include "ipc/name_lookup.h"
#include "ipc/unix_socket.h"
#include "tests/figure.h"
#include "tests/hang_limit.h"
#include "tests/trainer/trainer_process.h"
#include "trainer/report/frame_queue.h"
#include "trainer/report/frame_sender.h"
#include "trainer/report/host_clock.h"
#include "trainer/report/step_recorder.h"
#include "trainer/report/training_position.h"

using namespace lockstep;
using namespace lockstep::trainer;
using namespace lockstep::trainer::test;

namespace {

Frame window(std::int64_t first, std::int64_t last, double loss, int epoch = 1) {
    StepsFrame steps;
    steps.epoch = epoch;
    steps.firstStep = first;
    steps.lastStep = last;
    steps.count = last - first + 1;
    steps.samples = 64 * steps.count;
    steps.loss = LossWindow{loss, loss, loss, loss};
    steps.phases["load"] = {0.5, 0.25};
    add(steps.scalars, "mine", double(first));
    Frame frame;
    frame.body = steps;
    return frame;
}

/// A GPU's: nothing is known of a step until somebody waits for it.
class LateClock final : public PhaseClock {
public:
    std::int64_t start() override { return monotonicNs(); }
    std::int64_t lap(Phase, std::optional<Phase>) override { return monotonicNs(); }
    void add(Phase, std::int64_t) override {}
    void endStep() override { ++m_closed; }
    std::optional<StepTimes> takeStep(bool wait) override {
        if (!wait || m_closed == 0)
            return {};
        --m_closed;
        return StepTimes();
    }
    StepTimes takeTail() override { return {}; }

private:
    int m_closed = 0;
};

/// The host's, of a thread that loses its core each time it has read the clock.
class PreemptedClock final : public PhaseClock {
public:
    std::int64_t start() override { return thenPreempted(m_clock.start()); }
    std::int64_t lap(Phase phase, std::optional<Phase> nested) override {
        return thenPreempted(m_clock.lap(phase, nested));
    }
    void add(Phase phase, std::int64_t ns) override { m_clock.add(phase, ns); }
    void endStep() override { m_clock.endStep(); }
    std::optional<StepTimes> takeStep(bool wait) override { return m_clock.takeStep(wait); }
    StepTimes takeTail() override { return m_clock.takeTail(); }

private:
    static std::int64_t thenPreempted(std::int64_t read) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return read;
    }
    HostClock m_clock;
};

/// An agent that accepts one rank and reads only on request.
struct SlowAgent {
    TempFolder folder;
    UnixListener listener;
    Fd connection;
    std::string bytes;

    SlowAgent() : listener(listen(folder / "run.sock")) {}
    static UnixListener listen(const std::string &path) {
        auto bound = UnixListener::bind(path);
        REQUIRE(bound.has_value());
        return std::move(*bound);
    }
    void accept() {
        for (int i = 0; i < 1000 && !connection.valid(); ++i) {
            if (auto fd = listener.accept())
                connection = std::move(*fd);
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        REQUIRE(connection.valid());
    }
    /// Reads until the peer closes.
    void drain() {
        char buffer[65536];
        for (int quiet = 0; quiet < 2000;) {
            const auto got = ::recv(connection.get(), buffer, sizeof buffer, MSG_DONTWAIT);
            if (got == 0)
                return;
            if (got > 0) {
                bytes.append(buffer, static_cast<std::size_t>(got));
                quiet = 0;
            } else {
                ++quiet;
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        }
    }
};

/// Somebody at a listener's port, who greets as a listener does.
class Stranger {
public:
    Stranger() {
        sockaddr_in place{};
        place.sin_family = AF_INET;
        place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof place;
        auto *address = reinterpret_cast<sockaddr *>(&place);
        REQUIRE(::bind(m_listener.get(), address, size) == 0);
        REQUIRE(::listen(m_listener.get(), 1) == 0);
        REQUIRE(::getsockname(m_listener.get(), address, &size) == 0);
        m_address = "tcp://127.0.0.1:" + std::to_string(ntohs(place.sin_port));
    }

    [[nodiscard]] std::unique_ptr<FrameSender> meet(const Clock &clock) {
        auto opening = std::async(std::launch::async,
                                  [&] { return FrameSender::open(m_address, 0, clock, {}).value_or(nullptr); });
        m_link = Fd(::accept4(m_listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        m_listener.close(); // nobody is met again
        char hello[4096];
        REQUIRE(::recv(m_link.get(), hello, sizeof hello, 0) > 0);
        Hello answer;
        answer.role = "agent";
        (void)say(encode(answer) + "\n");
        auto sender = opening.get();
        REQUIRE(sender);
        return sender;
    }

    /// Waits until there is room; false: the link has ended.
    [[nodiscard]] bool say(std::string_view text) const {
        while (!text.empty()) {
            const ssize_t sent = ::send(m_link.get(), text.data(), text.size(), MSG_NOSIGNAL);
            if (sent <= 0)
                return false;
            text.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }
    /// What has come by now.
    [[nodiscard]] std::string heard() const {
        char buffer[4096];
        const ssize_t got = ::recv(m_link.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        return {buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
    }
    /// Whether the link ends before so many lines have come.
    [[nodiscard]] bool isLeftWithin(int lines) const {
        char byte = 0;
        while (lines > 0 && ::recv(m_link.get(), &byte, 1, 0) > 0)
            lines -= byte == '\n' ? 1 : 0;
        return lines > 0;
    }

private:
    Fd m_listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}, m_link;
    std::string m_address;
};

} // namespace

TEST_SUITE("report_frames") {
    TEST_CASE("a queue that backs up merges windows of one epoch and loses no step, epoch or state") {
        FrameQueue queue(4);
        for (int i = 0; i < 100; ++i)
            queue.push(window(i, i, i == 50 ? std::nan("") : i));
        Frame epoch;
        epoch.body = EpochFrame{};
        queue.push(epoch);
        for (int i = 100; i < 200; ++i)
            queue.push(window(i, i, 1, 2));
        CHECK(queue.size() <= 7);
        std::int64_t next = 0, samples = 0;
        bool sawEpoch = false, sawNan = false;
        while (!queue.empty()) {
            const Frame frame = queue.pop();
            sawEpoch = sawEpoch || std::holds_alternative<EpochFrame>(frame.body);
            if (const auto *steps = std::get_if<StepsFrame>(&frame.body)) {
                CHECK(steps->firstStep == next);
                CHECK(steps->epoch == (sawEpoch ? 2 : 1));
                CHECK(steps->phases.at("load").sumS == doctest::Approx(0.5 * static_cast<double>(steps->count)));
                CHECK(steps->phases.at("load").maxS == 0.25);
                const ScalarWindow &mine = steps->scalars.at("mine"); // a value a step, the step's number
                CHECK(mine.weight == static_cast<double>(steps->count));
                CHECK(mine.sum == static_cast<double>((steps->firstStep + steps->lastStep) * steps->count) / 2);
                CHECK(mine.min == static_cast<double>(steps->firstStep));
                CHECK(mine.last == static_cast<double>(steps->lastStep));
                sawNan = sawNan || std::isnan(steps->loss->max);
                next = steps->lastStep + 1;
                samples += steps->samples;
            }
        }
        CHECK(next == 200);
        CHECK(samples == 200 * 64);
        CHECK(sawEpoch);
        CHECK(sawNan);
    }

    TEST_CASE("an agent that does not read blocks nobody, and gets every step in gapless frames once it does") {
        SlowAgent agent;
        const SystemClock clock;
        auto sender = FrameSender::open("unix:" + (agent.folder / "run.sock"), 3, clock, {});
        REQUIRE(sender.has_value());
        agent.accept();
        const auto start = std::chrono::steady_clock::now();
        constexpr int count = 20000;
        for (int i = 0; i < count; ++i)
            (*sender)->send(window(i, i, 1).body);
        lockstep::test::printFigure("20,000 frames handed over while the agent reads none", start, 10);
        std::thread reader([&] { agent.drain(); });
        (*sender)->finish(std::chrono::seconds(20));
        reader.join();
        std::istringstream text(agent.bytes);
        std::string line;
        std::getline(text, line);
        const auto hello = decodeHello(line);
        REQUIRE(hello.has_value());
        CHECK(hello->role == "rank");
        CHECK(hello->rank == 3);
        Decoder decoder;
        std::uint64_t rseq = 0;
        std::int64_t next = 0, frames = 0;
        while (std::getline(text, line)) {
            const auto frame = decoder.decode(line);
            REQUIRE(frame.has_value());
            CHECK(frame->rseq == rseq++);
            if (const auto *steps = std::get_if<StepsFrame>(&frame->body)) {
                CHECK(steps->firstStep == next);
                next = steps->lastStep + 1;
                ++frames;
            }
        }
        CHECK(next == count);
        CHECK(frames < count); // they were merged
    }

    TEST_CASE("a torn line in a file costs no frame of the process that goes on") {
        const TempFolder folder;
        const std::string path = folder / "rank-0.ndjson";
        const SystemClock clock;
        for (const std::string before : {"", "{\"type\":\"heartbeat\"}\n", "{\"type\":\"hea"}) {
            CAPTURE(before);
            std::ofstream(path) << before;
            {
                auto sender = FrameSender::open(path, 0, clock, {});
                REQUIRE(sender.has_value());
                (*sender)->send(LogFrame{"info", "here", "trainer"});
            }
            const std::string all = readFile(path);
            const std::string ended = before.empty() || before.ends_with('\n') ? before : before + "\n";
            REQUIRE(all.starts_with(ended));
            CHECK(std::count(all.begin(), all.end(), '\n') == std::count(ended.begin(), ended.end(), '\n') + 1);
            Decoder decoder;
            const auto frame =
                decoder.decode(std::string_view(all).substr(ended.size(), all.size() - ended.size() - 1));
            REQUIRE(frame.has_value());
            CHECK(std::holds_alternative<LogFrame>(frame->body));
        }
    }

    TEST_CASE(
        "a file whose disk is full for a while has whole lines all the time, and every frame once there is room") {
        const TempFolder folder;
        const std::string path = folder / "rank-0.ndjson";
        const SystemClock clock;
        auto sender = FrameSender::open(path, 0, clock, {});
        REQUIRE(sender.has_value());
        constexpr int count = 10;
        rlimit before{};
        REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
        const auto handler = std::signal(SIGXFSZ, SIG_IGN);
        const rlimit full{1000, before.rlim_max};
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &full) == 0);
        for (int i = 0; i < count; ++i)
            (*sender)->send(LogFrame{"info", std::string(300, 'x'), "trainer"});
        std::this_thread::sleep_for(std::chrono::milliseconds(1500)); // it has tried again
        const std::string meanwhile = readFile(path);
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
        std::signal(SIGXFSZ, handler);
        CHECK(meanwhile.size() > 300);
        CHECK(meanwhile.size() < 1000);
        CHECK(meanwhile.ends_with('\n'));
        StateFrame done;
        done.state = RunState::Done;
        (*sender)->send(done);
        (*sender)->finish(std::chrono::seconds(10));
        const std::string all = readFile(path);
        CHECK(all.starts_with(meanwhile));
        Decoder decoder;
        std::istringstream lines(all);
        std::uint64_t rseq = 0;
        int logs = 0;
        bool isDone = false;
        for (std::string line; std::getline(lines, line);) {
            const auto frame = decoder.decode(line);
            REQUIRE(frame.has_value());
            CHECK(frame->rseq == rseq++);
            logs += std::holds_alternative<LogFrame>(frame->body) ? 1 : 0;
            isDone = std::holds_alternative<StateFrame>(frame->body);
        }
        CHECK(logs == count);
        CHECK(isDone);
    }

    TEST_CASE("frames go into files: not into a pipe, which waits for its reader, nor where a link in a shared folder "
              "leads") {
        const TempFolder folder;
        const SystemClock clock;
        std::filesystem::create_directory(folder / "shared");
        REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
        REQUIRE(::mkfifo((folder / "shared/rank-0.ndjson").c_str(), 0600) == 0);
        std::filesystem::create_symlink(folder / "pipe", folder / "to-pipe");
        std::filesystem::create_symlink(folder / "mine", folder / "to-mine");
        std::filesystem::create_symlink(folder / "another's", folder / "shared/rank-1.ndjson");
        writeFile(folder / "another's", "kept");
        for (const auto &[address, rank] : {std::pair(folder / "pipe", 0),
                                            {folder / "to-pipe", 0},
                                            {folder / "shared", 0},
                                            {folder / "shared", 1},
                                            {"/dev/zero", 0}}) {
            CAPTURE(address);
            const Fd reader(address == "/dev/zero" ? -1 : ::open((folder / "pipe").c_str(), O_RDONLY | O_NONBLOCK));
            const auto sender = FrameSender::open(address, rank, clock, {});
            REQUIRE(!sender.has_value());
            CHECK(sender.error().message().find("it is not a regular file") != std::string::npos);
            CHECK(sender.error().kind == ErrorKind::BadArgument);
        }
        CHECK(readFile(folder / "another's") == "kept");
        for (const std::string &address : {std::string("/dev/null"), folder / "to-mine"}) { // a person's own
            auto sender = FrameSender::open(address, 0, clock, {});
            REQUIRE(sender.has_value());
            (*sender)->send(LogFrame{"info", "here", "trainer"});
        }
        CHECK(readFile(folder / "mine").find("here") != std::string::npos);
    }

    TEST_CASE("a stop on the socket reaches the rank, and a lost agent stops nothing") {
        SlowAgent agent;
        const SystemClock clock;
        std::atomic<bool> stopped{false};
        auto sender = FrameSender::open("unix:" + (agent.folder / "run.sock"), 0, clock,
                                        [&](const std::string &by) { stopped = by == "a test"; });
        REQUIRE(sender.has_value());
        agent.accept();
        Control stop;
        stop.command = "stop";
        stop.by = "a test";
        const std::string line = encode(stop) + "\n";
        REQUIRE(::send(agent.connection.get(), line.data(), line.size(), 0) == static_cast<ssize_t>(line.size()));
        for (int i = 0; i < 1000 && !stopped; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        CHECK(stopped);
        agent.connection.close();
        for (int i = 0; i < 100; ++i)
            (*sender)->send(LogFrame{"info", "still here", "trainer"});
    }

    TEST_CASE("control lines without end at a listener's port hold up neither frames nor the end") {
        const SystemClock clock;
        Stranger stranger;
        const auto sender = stranger.meet(clock);
        std::string lines;
        while (lines.size() < 64 * 1024)
            lines += encode(Control{"trace", "a stranger", 1}) + "\n";
        // Times 64 KiB: more than a link's buffers hold, and where the flood ends by itself.
        constexpr int full = 200, most = 1500;
        for (int i = 0; i < full; ++i)
            REQUIRE(stranger.say(lines));
        sender->send(LogFrame{"info", "still here", "trainer"});
        std::string heard;
        for (int i = 0; i < most && heard.find("still here") == std::string::npos; ++i) {
            REQUIRE(stranger.say(lines));
            heard += stranger.heard();
        }
        CHECK(heard.find("still here") != std::string::npos);
        const auto finishing = std::async(std::launch::async, [&] { sender->finish(std::chrono::seconds(10)); });
        bool isLeft = false;
        for (int i = 0; i < most && !isLeft; ++i)
            isLeft = !stranger.say(lines);
        CHECK(isLeft);
    }

    TEST_CASE("somebody at a listener's port is left at the first line that no listener says") {
        const SystemClock clock;
        Stranger stranger;
        const auto sender = stranger.meet(clock);
        CHECK(stranger.say("x\nx\nx\n"));
        CHECK(stranger.isLeftWithin(10)); // heartbeats
    }

    TEST_CASE("a rank ends while the name of the listener that it has lost is being looked up") {
        sockaddr_in here{};
        here.sin_family = AF_INET;
        here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof here;
        const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr *>(&here), length) == 0);
        REQUIRE(::listen(listener.get(), 1) == 0);
        REQUIRE(::getsockname(listener.get(), reinterpret_cast<sockaddr *>(&here), &length) == 0);
        Fd rank;
        std::thread welcome([&] {
            rank = Fd(::accept(listener.get(), nullptr, nullptr));
            Hello hello;
            hello.role = "agent";
            const std::string line = encode(hello) + "\n";
            (void)::send(rank.get(), line.data(), line.size(), MSG_NOSIGNAL);
        });
        struct Names {
            std::atomic<int> asked{0};
            std::atomic<bool> answered{false};
            std::promise<void> askedAgain, release;
        };
        const auto names = std::make_shared<Names>();
        const auto lookUp = [names](const std::string &address) -> NetAddresses {
            if (++names->asked == 1)
                return resolve("127.0.0.1" + address.substr(address.rfind(':')));
            names->askedAgain.set_value();
            names->release.get_future().wait_for(lockstep::test::hangLimit);
            names->answered = true;
            return fail(Error::failed("no name server answers"));
        };
        const SystemClock clock;
        auto sender =
            FrameSender::open("tcp://listener.test:" + std::to_string(ntohs(here.sin_port)), 0, clock, {}, lookUp);
        welcome.join();
        REQUIRE(sender.has_value());
        rank.close();
        REQUIRE(names->askedAgain.get_future().wait_for(lockstep::test::hangLimit) == std::future_status::ready);
        (*sender)->send(LogFrame{"info", "the last one", "trainer"});
        (*sender)->finish(std::chrono::milliseconds(10));
        CHECK_FALSE(names->answered);
        names->release.set_value();
    }

    TEST_CASE("metrics of a step, numbers and tensors, reach their window and their epoch") {
        LateClock clock;
        std::vector<StepsFrame> sent;
        StepRecorder recorder(clock, {[&](StepsFrame frame) { sent.push_back(std::move(frame)); }, {}},
                              std::chrono::milliseconds(100'000));
        recorder.startEpoch(1, {});
        for (int step = 0; step < 5; ++step) {
            recorder.addStep(step, 64, torch::full({}, 1.0), {},
                             {{"a_tensor", torch::full({}, double(step))}, {"a_number", 10.0 + step}});
            recorder.flush(false);
        }
        (void)recorder.finishEpoch();
        REQUIRE(sent.size() == 2); // the first step is shown at once
        CHECK((sent[0].scalars == Scalars{{"a_tensor", scalarOf(0)}, {"a_number", scalarOf(10)}}));
        CHECK((sent[1].scalars.at("a_tensor") == ScalarWindow{10, 4, 1, 4, 4}));
        CHECK((recorder.epochScalars().at("a_number") == ScalarWindow{60, 5, 10, 14, 14}));
        recorder.startEpoch(2, {});
        CHECK(recorder.epochScalars().empty());
    }

    TEST_CASE(
        "what is added to a metric's sum after the last step counts in an epoch that is shorter than a window too") {
        LateClock clock;
        StepRecorder recorder(clock, {[](const StepsFrame &) {}, {}}, std::chrono::milliseconds(100'000));
        for (const int epoch : {1, 2}) {
            recorder.startEpoch(epoch, {});
            for (int step = 0; step < 2; ++step) {
                recorder.addStep(step, 64, torch::full({}, 1.0), {}, {{"sent_mb", 1.0}});
                recorder.flush(false);
            }
            recorder.addToSum("sent_mb", 3);
            (void)recorder.finishEpoch();
            CHECK(recorder.epochScalars().at("sent_mb").mean() == 2.5);
        }
    }

    TEST_CASE(
        "after a rollback a loss that is not finite is reported anew, and an epoch's loss is that of its other steps") {
        for (const bool throwsAway : {false, true}) {
            LateClock clock;
            std::vector<std::int64_t> reported;
            StepRecorder recorder(
                clock, {[](const StepsFrame &) {}, [&](std::int64_t step, double) { reported.push_back(step); }},
                std::chrono::milliseconds(100'000), {}, throwsAway);
            recorder.startEpoch(1, {});
            recorder.addStep(0, 64, torch::full({}, 1.0));
            recorder.addStep(1, 64, torch::full({}, std::nan("")));
            recorder.addStep(2, 64, torch::full({}, std::nan("")));
            const EpochTotals before = recorder.finishEpoch();
            recorder.afterRollback();
            recorder.startEpoch(1, before);
            recorder.addStep(3, 64, torch::full({}, HUGE_VAL));
            recorder.addStep(4, 16, torch::full({}, 3.0));
            const EpochTotals totals = recorder.finishEpoch();
            CHECK(reported == std::vector<std::int64_t>{1, 3});
            CHECK(totals.samples == 4 * 64 + 16);
            CHECK(totals.lossSamples() == (throwsAway ? 64 + 16 : totals.samples));
            CHECK(std::isfinite(totals.lossSum) == throwsAway);
            if (throwsAway)
                CHECK(totals.lossSum == 64 * 1.0 + 16 * 3.0);
        }
    }

    TEST_CASE("after a rollback an epoch's metrics are still of all its steps, without values that are not finite") {
        LateClock clock;
        StepRecorder recorder(clock, {[](const StepsFrame &) {}, [](std::int64_t, double) {}},
                              std::chrono::milliseconds(100'000), {"cpu:0"}, true);
        const std::array<StepTimes, 1> device{};
        recorder.startEpoch(1, {});
        recorder.addStep(0, 64, torch::full({}, 1.0), device, {{"norm", 2.0}});
        recorder.addStep(1, 64, torch::full({}, std::nan("")), device, {{"norm", std::nan("")}});
        const EpochTotals before = recorder.finishEpoch();
        recorder.afterRollback();
        recorder.startEpoch(1, before);
        recorder.addStep(2, 64, torch::full({}, 1.0), device, {{"norm", 4.0}});
        CHECK(recorder.finishEpoch().steps == 3);
        CHECK((recorder.epochScalars().at("norm") == ScalarWindow{6, 2, 2, 4, 4}));
        CHECK(recorder.epochReplicas().size() == 1);
    }

    TEST_CASE("an epoch's phases add up to its duration, wherever the thread is preempted") {
        PreemptedClock clock;
        StepRecorder recorder(clock, {[](const StepsFrame &) {}, {}}, std::chrono::milliseconds(100'000));
        recorder.startEpoch(1, {});
        for (int step = 0; step < 3; ++step) {
            clock.lap(Phase::Load, {});
            clock.lap(Phase::Forward, {});
            recorder.addStep(step, 64, torch::full({}, 1.0));
            recorder.flush(false);
        }
        const EpochTotals totals = recorder.finishEpoch();
        double whole = 0;
        for (const auto &[name, time] : totals.phases.toFrame())
            whole += time.sumS;
        CHECK(totals.durationS > 0.012); // 7 of the 8 times 2 ms
        CHECK(whole == doctest::Approx(totals.durationS).epsilon(1e-9));
    }

    TEST_CASE("a rank that has exchanged something before forward is in forward next, and behind backward it is in the "
              "optimizer") {
        TrainingPosition position;
        position.beginStep(7);
        const std::pair<Phase, Phase> next[] = {{Phase::Load, Phase::Forward},      {Phase::Exposed, Phase::Forward},
                                                {Phase::Forward, Phase::Backward},  {Phase::Backward, Phase::Exposed},
                                                {Phase::Exposed, Phase::Optimizer}, {Phase::Optimizer, Phase::Other}};
        for (const auto &[ended, following] : next) {
            position.ended(ended);
            CHECK(position.position().phase == nameOf(following));
        }
        CHECK(position.position().step == 7);
    }

    TEST_CASE("a window of no length holds one step, also of those that a GPU ended while nobody looked") {
        for (const int windowMs : {0, 100'000}) {
            LateClock clock;
            std::vector<StepsFrame> sent;
            StepRecorder recorder(clock, {[&](StepsFrame frame) { sent.push_back(std::move(frame)); }, {}},
                                  std::chrono::milliseconds(windowMs));
            recorder.startEpoch(1, {});
            for (int step = 0; step < 5; ++step) {
                recorder.addStep(step, 64, torch::full({}, 1.0 + step));
                recorder.flush(false);
            }
            (void)recorder.finishEpoch();
            REQUIRE(sent.size() == (windowMs == 0 ? 5 : 2)); // the first step is shown at once
            for (std::size_t i = 0; windowMs == 0 && i < sent.size(); ++i) {
                CHECK(sent[i].firstStep == std::int64_t(i));
                CHECK(sent[i].count == 1);
                CHECK(sent[i].loss->last == 1.0 + double(i));
                CHECK(sent[i].loss->mean == 1.0 + double(i));
            }
        }
    }
}
