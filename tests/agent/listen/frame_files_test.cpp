// SPDX-License-Identifier: MIT
// Files of frames that grow while they are read: in which order their lines come, and what recognises them.
#include <doctest/doctest.h>
#include <malloc.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ipc/placement.h"
#include "tests/agent/agent_process.h"
#include "trainer/agent/devices/machine.h"
#include "trainer/agent/listen/frame_files.h"
#include "trainer/agent/listen/listened_run.h"
#include "trainer/agent/listen/name_room.h"

using namespace lockstep;
using namespace lockstep::agent;

namespace {

std::string lineAt(int rank, std::int64_t wallUs) {
    Frame frame;
    frame.rank = rank;
    frame.rseq = 0;
    frame.wallUs = wallUs;
    frame.body = HeartbeatFrame{};
    return encode(frame) + "\n";
}

class HandClock final : public Clock {
public:
    std::int64_t ns = 1'000'000'000'000;
    [[nodiscard]] std::int64_t monoNs() const override { return ns; }
    [[nodiscard]] std::int64_t wallUs() const override { return ns / 1000; }
};

Frame beginOf(int rank, const std::string &host) {
    Frame frame;
    frame.rank = rank;
    frame.rseq = 0;
    frame.wallUs = 1;
    StateFrame init;
    init.host = host;
    frame.body = init;
    return frame;
}

/// A folder of files, and the times of the lines that were read from it.
struct Read {
    explicit Read(const TestHome &home) : folder(home.path() + "/frames") { std::filesystem::create_directory(folder); }
    void add(int rank, const std::string &text) const { std::ofstream(fileOf(rank), std::ios::app) << text; }
    [[nodiscard]] std::string fileOf(int rank) const { return folder + "/rank-" + std::to_string(rank) + ".ndjson"; }
    [[nodiscard]] FrameFiles open() {
        FrameFiles::Handlers handlers;
        handlers.onLine = [this](std::string_view line) { times.push_back(wallUsOf(line)); };
        handlers.onBegunAnew = [this](const std::string &) { ++begunAnew; };
        handlers.onRefused = [this](const std::string &sentence) { refused.push_back(sentence); };
        auto files = FrameFiles::open(folder, std::move(handlers));
        REQUIRE(files);
        return std::move(*files);
    }
    std::string folder;
    std::vector<std::int64_t> times;
    int begunAnew = 0;
    std::vector<std::string> refused;
};

/// The first frame of each rank; the record is written with the last one.
void hearBegins(ListenedRun &run, HandClock &clock, int ranks, const std::function<Frame(int rank)> &begin) {
    for (int rank = 0; rank < ranks; ++rank) {
        clock.ns += rank + 1 == ranks ? 2'000'000'000 : 0;
        run.takeLine(rank, encode(begin(rank)));
    }
}

} // namespace

TEST_CASE("lines of several files come by their times, each file's in order, and as far as they are whole") {
    const TestHome home;
    Read read(home);
    const std::string last = lineAt(1, 50);
    read.add(0, lineAt(0, 10) + "\n\n" + lineAt(0, 40));
    read.add(1, lineAt(1, 20) + lineAt(1, 15) + lineAt(1, 30) + last.substr(0, 9));
    FrameFiles files = read.open();
    CHECK(files.poll());
    CHECK(read.times == std::vector<std::int64_t>{10, 20, 15, 30, 40});
    CHECK(!files.poll());
    read.add(1, last.substr(9));
    CHECK(files.poll());
    CHECK(!files.behind());
    CHECK(read.times.back() == 50);
}

TEST_CASE("a line that is longer than any frame is left out, and holds no other file up") {
    const TestHome home;
    Read read(home);
    read.add(0, lineAt(0, 10) + std::string(3 * maxFrameBytes, 'x'));
    read.add(1, lineAt(1, 20));
    FrameFiles files = read.open();
    CHECK(files.poll());
    CHECK(read.times == std::vector<std::int64_t>{10, 20});
    read.add(0, "x\n" + lineAt(0, 30));
    CHECK(files.poll());
    CHECK(read.times == std::vector<std::int64_t>{10, 20, 30});
}

TEST_CASE("a hole in a file is passed over at once, and what is appended after it is read") {
    const TestHome home;
    Read read(home);
    read.add(0, lineAt(0, 10));
    std::filesystem::resize_file(read.fileOf(0), std::uintmax_t{8} << 30);
    FrameFiles files = read.open();
    int polls = 1;
    while (files.poll())
        ++polls;
    CHECK(polls < 10);
    read.add(0, "\n" + lineAt(0, 20));
    CHECK(files.poll());
    CHECK(read.times == std::vector<std::int64_t>{10, 20});
    CHECK(read.begunAnew == 0);
}

TEST_CASE("what is read at once is bounded, and nothing is lost by it") {
    const TestHome home;
    Read read(home);
    const std::string padding(32 << 10, ' ');
    constexpr int lines = 1500; // of two files, 94 MiB
    for (int rank = 0; rank < 2; ++rank) {
        std::string text;
        for (int i = 0; i < lines; ++i) {
            std::string line = lineAt(rank, 10 * i + rank);
            text += line.insert(line.size() - 2, padding);
        }
        read.add(rank, text);
    }
    FrameFiles files = read.open();
    CHECK(files.poll());
    CHECK(files.behind());
    CHECK(read.times.size() < 2 * lines);
    while (files.poll()) {
    }
    CHECK(!files.behind());
    CHECK(read.times.size() == 2 * lines);
    CHECK(std::is_sorted(read.times.begin(), read.times.end()));
}

TEST_CASE("lines that take long leave others their turn, and stay in order") {
    const TestHome home;
    Read read(home);
    constexpr int lines = 400;
    for (int rank = 0; rank < 2; ++rank)
        for (int i = 0; i < lines / 2; ++i)
            read.add(rank, lineAt(rank, 10 * i + rank + 1));
    std::vector<std::int64_t> times;
    FrameFiles::Handlers handlers;
    handlers.onLine = [&](std::string_view line) {
        times.push_back(wallUsOf(line));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    auto files = FrameFiles::open(read.folder, std::move(handlers));
    REQUIRE(files);
    CHECK(files->poll());
    CHECK(times.size() < lines / 2);
    CHECK(files->behind());
    while (files->poll()) {
    }
    CHECK(!files->behind());
    CHECK(times.size() == lines);
    CHECK(std::is_sorted(times.begin(), times.end()));
}

TEST_CASE("a file that can't be opened is told once, with the reason, and read once it can be") {
    const TestHome home;
    Read read(home);
    read.add(0, lineAt(0, 10));
    REQUIRE(::mkfifo(read.fileOf(1).c_str(), 0600) == 0);
    std::filesystem::create_symlink(read.fileOf(2), read.fileOf(2));
    FrameFiles files = read.open();
    CHECK(files.poll());
    CHECK(!files.poll());
    REQUIRE(read.refused.size() == 2);
    CHECK(read.refused[0].starts_with(read.fileOf(1) + " is not a regular file"));
    CHECK(read.refused[1].starts_with("can't open " + read.fileOf(2)));
    CHECK(read.refused[1].find("symbolic links") != std::string::npos);
    std::filesystem::remove(read.fileOf(1));
    read.add(1, lineAt(1, 20));
    CHECK(files.poll());
    CHECK(read.times == std::vector<std::int64_t>{10, 20});
    CHECK(read.refused.size() == 2);
}

TEST_CASE("a file that comes while others are read is recognised at once, and its lines are the next ones") {
    const TestHome home;
    Read read(home);
    read.add(1, lineAt(1, 20));
    FrameFiles files = read.open();
    CHECK(files.poll());
    read.add(0, lineAt(0, 10));
    CHECK(files.begins() == std::set<std::string>{"rank 1, at 20 us"});
    files.lookAgain();
    CHECK(files.begins() == std::set<std::string>{"rank 0, at 10 us", "rank 1, at 20 us"});
    CHECK(files.source().begin == "rank 0, at 10 us");
    CHECK(read.times == std::vector<std::int64_t>{20});
    CHECK(files.poll());
    CHECK(read.times == std::vector<std::int64_t>{20, 10});
}

TEST_CASE("files are recognised by who began them, and how long they are") {
    const TestHome home;
    Read read(home);
    read.add(0, lineAt(0, 20));
    read.add(1, lineAt(1, 10));
    FrameFiles files = read.open();
    CHECK(files.poll());
    const RecordedFiles before = files.source();
    CHECK(before.begin == "rank 1, at 10 us");
    CHECK(before.bytes == lineAt(0, 20).size() + lineAt(1, 10).size());
    read.add(1, lineAt(1, 30));
    CHECK(files.poll());
    CHECK(files.source().begin == before.begin);
    CHECK(files.source().bytes > before.bytes);
    std::filesystem::resize_file(read.fileOf(1), 0);
    (void)files.poll();
    CHECK(read.begunAnew == 1);
    read.add(1, lineAt(1, 40));
    CHECK(files.poll());
    CHECK(files.source().begin == "rank 0, at 20 us");
}

TEST_CASE("of many files with a line each, little more than the lines is held") {
    const TestHome home;
    Read read(home);
    constexpr int count = 4000;
    for (int rank = 0; rank < count; ++rank)
        read.add(rank, lineAt(rank, 10 + rank));
    FrameFiles files = read.open();
    const std::size_t before = ::mallinfo2().uordblks;
    files.lookAgain();
    CHECK(files.behind());
    CHECK(::mallinfo2().uordblks < before + std::size_t{count} * 4096);
}

TEST_CASE(
    "of many files with long lines, what is held is bounded; all lines come in order, but those of a file cut short") {
    const TestHome home;
    Read read(home);
    constexpr int count = 1000; // of 60 MiB in all
    const std::string padding(60 << 10, ' ');
    for (int rank = 0; rank < count; ++rank) {
        std::string line = lineAt(rank, 10 + rank);
        read.add(rank, line.insert(line.size() - 2, padding) + lineAt(rank, 10'000 - rank));
    }
    FrameFiles files = read.open();
    const auto held = [] {
        const auto heap = ::mallinfo2();
        return heap.uordblks + heap.hblkhd;
    };
    const std::size_t before = held();
    files.lookAgain();
    CHECK(files.behind());
    CHECK(held() < before + (std::size_t{40} << 20));
    CHECK(files.begins().size() == count);
    std::filesystem::resize_file(read.fileOf(count - 1), 0);
    while (files.poll()) {
    }
    CHECK(!files.behind());
    CHECK(read.begunAnew == 1);
    CHECK(read.times.size() == 2 * (count - 1));
    CHECK(std::is_sorted(read.times.begin(), read.times.end()));
}

TEST_CASE("a folder of more files than a run has ranks is refused; of those that come later one note is made") {
    const TestHome home;
    Read read(home);
    const auto link = [&](int rank) { std::filesystem::create_symlink("nowhere", read.fileOf(rank)); };
    for (int rank = 0; rank <= mostListenedRanks; ++rank)
        link(rank);
    const auto refused = FrameFiles::open(read.folder, {});
    REQUIRE(!refused);
    CHECK((refused.error().kind == ErrorKind::BadArgument));
    const std::string says = read.folder + " has more than 65536 .ndjson files, which is more than a run has ranks";
    CHECK(refused.error().message().find(says) != std::string::npos);
    std::filesystem::remove(read.fileOf(7));
    FrameFiles files = read.open();
    link(7);
    files.lookAgain();
    files.lookAgain();
    CHECK(std::ranges::count(read.refused, says + ": the others are not read") == 1);
}

TEST_CASE("a run of more hosts than a record keeps can be read again") {
    const TestHome home;
    HandClock clock;
    EventLoop loop;
    constexpr int ranks = mostNodes + 2;
    const auto begin = [](int rank) { return beginOf(rank, "host" + std::to_string(rank)); };
    ListenedRun::Options options;
    options.worldSize = ranks;
    options.files = RecordedFiles{"rank 0, at 1 us", 0};
    auto run = ListenedRun::open(loop, clock, options, {}, begin(0));
    REQUIRE(run);
    const RunFolder folder = (*run)->folder();
    hearBegins(**run, clock, ranks, begin);
    run->reset(); // waits for the disk
    const auto record = readRunRecord(folder);
    REQUIRE_MESSAGE(record, (record ? std::string() : record.error().message()));
    CHECK(record->machines.size() == std::size_t{mostNodes});
    CHECK(record->processes == ranks);
}

TEST_CASE("the machines of a run stand in the order of their lowest ranks, whichever rank came first") {
    const TestHome home;
    HandClock clock;
    EventLoop loop;
    ListenedRun::Options options;
    options.worldSize = 3;
    options.files = RecordedFiles{"rank 2, at 1 us", 0};
    const auto begin = [](int rank) { return beginOf(rank, rank == 1 ? "hostA" : rank == 0 ? "hostC" : "hostB"); };
    auto run = ListenedRun::open(loop, clock, options, {}, begin(2));
    REQUIRE(run);
    const RunFolder folder = (*run)->folder();
    for (const int rank : {2, 1, 0}) {
        clock.ns += 2'000'000'000;
        (*run)->takeLine(rank, encode(begin(rank)));
    }
    run->reset(); // waits for the disk
    const auto record = readRunRecord(folder);
    REQUIRE(record);
    REQUIRE(record->machines.size() == 3);
    for (const auto &[node, host] : {std::pair(0, "hostC"), std::pair(1, "hostA"), std::pair(2, "hostB")}) {
        CHECK(record->machines[std::size_t(node)].host == host);
        CHECK(record->machines[std::size_t(node)].node == node);
    }
}

TEST_CASE("names of very many hosts and devices leave the run's record readable, and one alert says so") {
    const TestHome home;
    HandClock clock;
    EventLoop loop;
    constexpr int ranks = 20'000;
    const auto begin = [=](int rank) {
        Frame frame = beginOf(rank, "host" + std::to_string(rank));
        auto &init = std::get<StateFrame>(frame.body);
        init.worldSize = ranks;
        init.device = rank == 0 ? "honest" : std::string(longestReportedName, '"');
        return frame;
    };
    ListenedRun::Options options;
    options.files = RecordedFiles{"rank 0, at 1 us", 0};
    auto run = ListenedRun::open(loop, clock, options, {}, begin(0));
    REQUIRE(run);
    const RunFolder folder = (*run)->folder();
    hearBegins(**run, clock, ranks, begin);
    run->reset(); // waits for the disk
    CHECK(std::filesystem::file_size(folder.config()) < 2 << 20);
    const auto record = readRunRecord(folder);
    REQUIRE_MESSAGE(record, (record ? std::string() : record.error().message()));
    CHECK(record->processes == ranks);
    REQUIRE(record->deviceNames.size() == std::size_t(ranks));
    CHECK(record->deviceNames.front() == "honest");
    CHECK(record->deviceNames.back().empty());
    const auto alerts = bodiesOf<AlertFrame>(framesOf(folder));
    CHECK(std::ranges::count(alerts, std::string("record_unwritten"), &AlertFrame::kind) == 1);
}

TEST_CASE("a name gives its room back when another takes its place or it goes") {
    NameRoom room;
    const std::string name(longestReportedName, 'x');
    std::string kept, other;
    std::vector<std::string> all(NameRoom::mostBytes / (name.size() + 2));
    for (std::string &one : all)
        CHECK(room.put(one, name + "beyond"));
    CHECK(all.back() == name);
    CHECK_FALSE(room.put(kept, name));
    CHECK(kept.empty());
    CHECK(room.put(all.front(), "short"));
    CHECK(room.put(kept, name));
    CHECK(room.put(kept, name)); // as it is
    CHECK_FALSE(room.put(other, name));
    room.leave(kept);
    CHECK(room.put(other, name));
}

TEST_CASE("a run whose ranks change their number again and again is recorded with the devices of the last one") {
    const TestHome home;
    HandClock clock;
    EventLoop loop;
    std::uint64_t rseq = 0;
    const auto begin = [&](int worldSize) {
        Frame frame = beginOf(0, "host");
        frame.rseq = rseq++;
        auto &init = std::get<StateFrame>(frame.body);
        init.worldSize = worldSize;
        init.about = {{"method", "ddp"}, {"model", "lenet"}, {"batch_size", "64"}};
        return frame;
    };
    ListenedRun::Options options;
    options.files = RecordedFiles{"rank 0, at 1 us", 0};
    const Frame first = begin(2);
    auto run = ListenedRun::open(loop, clock, options, {}, first);
    REQUIRE(run);
    const RunFolder folder = (*run)->folder();
    const auto created = readRunRecord(folder);
    REQUIRE((created && created->config));
    CHECK(created->config->devices == std::vector<std::string>{"0", "1"});
    (*run)->takeLine(0, encode(first));
    for (int i = 0; i < 2000; ++i)
        (*run)->takeLine(0, encode(begin(i % 2 == 0 ? mostListenedRanks : 1)));
    clock.ns += 2'000'000'000; // so that the record is written
    (*run)->takeLine(0, encode(begin(3)));
    run->reset(); // waits for the disk
    const auto record = readRunRecord(folder);
    REQUIRE((record && record->config));
    CHECK(record->processes == 3);
    CHECK(record->config->devices == std::vector<std::string>{"0", "1", "2"});
}

TEST_CASE("what a script says of itself while it trains stands in its run's record") {
    const TestHome home;
    HandClock clock;
    EventLoop loop;
    Frame first = beginOf(0, "host");
    std::get<StateFrame>(first.body).about = {{"method", "ddp"}, {"model", "lenet"}};
    ListenedRun::Options options;
    options.files = RecordedFiles{"rank 0, at 1 us", 0};
    auto run = ListenedRun::open(loop, clock, options, {}, first);
    REQUIRE(run);
    const RunFolder folder = (*run)->folder();
    (*run)->takeLine(0, encode(first));
    Frame later = first;
    later.rseq = 1;
    StateFrame &training = later.body.emplace<StateFrame>();
    training.state = RunState::Training;
    training.about = {{"batch_size", "128"}, {"model", "mlp"}};
    clock.ns += 2'000'000'000; // so that the record is written
    (*run)->takeLine(0, encode(later));
    run->reset(); // waits for the disk
    const auto record = readRunRecord(folder);
    REQUIRE((record && record->config));
    CHECK(record->config->batchSize == 128);
    CHECK(record->config->model == "lenet"); // what was said first
    CHECK(record->machines.size() == 1);
    CHECK(isStartedElsewhere(*record));
    RunRecord startedHere;
    startedHere.machines = {takeMachineRecord(0, 1, nullptr)};
    CHECK_FALSE(isStartedElsewhere(startedHere));
}

TEST_CASE("ranks that were started elsewhere and were stopped leave a summary of the epochs that they ended") {
    const TestHome home;
    HandClock clock;
    EventLoop loop;
    ListenedRun::Options options;
    options.worldSize = 1;
    options.files = RecordedFiles{"rank 0, at 1 us", 0};
    ListenedRun::Handlers handlers;
    handlers.onServed = [&] { loop.quit(); };
    auto run = ListenedRun::open(loop, clock, options, handlers, beginOf(0, "host"));
    REQUIRE(run);
    const RunFolder folder = (*run)->folder();
    Frame frame = beginOf(0, "host");
    (*run)->takeLine(0, encode(frame));
    frame.rseq = 1;
    frame.wallUs = 2'000'001;
    EpochFrame &epoch = frame.body.emplace<EpochFrame>();
    epoch.durationS = 1;
    epoch.samples = 640;
    epoch.steps = 10;
    (*run)->takeLine(0, encode(frame));
    frame.rseq = 2;
    frame.body.emplace<StateFrame>().state = RunState::Stopped;
    (*run)->takeLine(0, encode(frame));
    (*run)->extendTo(frame.wallUs);
    (*run)->checkOver();
    loop.after(lockstep::test::hangLimit, [&] { loop.quit(); });
    loop.run();
    const RunResult result = resultOf(folder);
    CHECK((result.state == RunState::Stopped));
    REQUIRE(result.summary);
    CHECK(result.summary->epochs.size() == 1);
    CHECK(result.summary->totalTrainingTimeS == 1.0);
}
