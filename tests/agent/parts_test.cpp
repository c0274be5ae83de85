// SPDX-License-Identifier: MIT
// The agent's pure parts: tables of input and outcome.
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "ipc/file_system.h"
#include "ipc/log.h"
#include "tests/agent/agent_process.h"
#include "tests/agent/follow_client.h"
#include "tests/hang_limit.h"
#include "trainer/agent/devices/nvml.h"
#include "trainer/agent/devices/proc_files.h"
#include "trainer/agent/devices/use_history.h"
#include "trainer/agent/log/frame_gate.h"
#include "trainer/agent/log/node_log.h"
#include "trainer/agent/log/run_journal.h"
#include "trainer/agent/log/slurm_origin.h"
#include "trainer/agent/log/trace_merge.h"
#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/net/peer_tcp_state.h"
#include "trainer/agent/nodes/discovery_host.h"
#include "trainer/agent/nodes/trace_transfer.h"
#include "trainer/agent/ranks/console_tap.h"
#include "trainer/agent/ranks/launch_plan.h"
#include "trainer/agent/ranks/master_port.h"
#include "trainer/agent/ranks/supervised_rank.h"

using namespace lockstep;
using namespace lockstep::agent;

TEST_CASE("a console line is cleaned of what a screen would not show") {
    struct Case {
        std::string raw, clean;
    };
    for (const Case &c :
         {Case{"plain", "plain"},
          {"tab\tkept\a", "tab\tkept"},
          {"10%\r55%\r100%", "100%"},
          {"done\r", "done"},
          {"\x1b[1;31mred\x1b[0m", "red"},
          {"\x1b]0;title\amore", "more"},
          {"bad \xC3(", "bad \xEF\xBF\xBD("},
          {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
          {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
          {"csi \xC2\x9B[2J, rub\x7Fout", "csi \xEF\xBF\xBD[2J, rubout"},
          {"turned \xE2\x80\xAE\xE2\x81\xA6\xE2\x80\x8F", "turned \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
          {"\xC2\xA0\xE2\x82\xAC", "\xC2\xA0\xE2\x82\xAC"},
          {"cut \xE2\x82", "cut \xEF\xBF\xBD\xEF\xBF\xBD"}})
        CHECK(cleanLine(c.raw) == c.clean);
    CHECK(cleanLine(std::string(10'000, 'x')).size() < 4200);
}

TEST_CASE("a warning on a console is known from an error") {
    for (const char *warning :
         {"/a b/train.py:12: UserWarning: careful", "a.py:3: Warning: x", "/x/lr.py:1: my.OwnWarning: y",
          "[W1130 15:00:00.123 socket.cpp:207] [c10d] The hostname can't be retrieved",
          "[rank1]:[W1130 15:00:00.123 x.cpp:1] y", "W1130 15:00:00.123000 42 run.py:803] y"})
        CHECK_MESSAGE(isWarning(warning), warning);
    for (const char *error :
         {"RuntimeWarning: an error of the script's own", "train.py: error: Warning: x",
          "ValueError: a.py:3: no Warning", "UserWarning", "E1130 15:00:00.123000 42 api.py:869] failed (exitcode: -9)",
          "W113 is no date", "W1130", "W", "[rank0]: ValueError: x", "[rank", ""})
        CHECK_MESSAGE(!isWarning(error), error);
}

TEST_CASE("busy share comes from ticks between two readings, unknown when none passed") {
    const auto before = parseProcStat(
        "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 100 0 100 800 0 0 0 0 0 0\ncpu1 0 0 0 1000 0 0 0 0 0 0\nintr 5\n");
    const auto after = parseProcStat(
        "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 130 0 120 850 0 0 0 0 0 0\ncpu1 10 0 0 1080 0 0 0 10 0 0\nintr 5\n");
    CHECK(busyShare(before, after, {0}) == doctest::Approx(0.5));
    CHECK(busyShare(before, after, {1}) == doctest::Approx(0.1)); // stolen time passed, but was not busy
    CHECK(busyShare(before, after, {0, 1}) == doctest::Approx(0.3));
    CHECK_FALSE(busyShare(before, before, {0}));
    CHECK_FALSE(busyShare(before, after, {7}));
}

TEST_CASE("an epoch's use is weighted by time, and absent where nothing was measured") {
    UseHistory history;
    history.add(0, 100, 0.0, 10.0);
    history.add(100, 200, 1.0, 30.0);
    history.add(200, 300, 0.5, std::nullopt);
    const auto whole = history.over("cpu:0", 0, 300);
    CHECK(*whole.utilizationMean == doctest::Approx(0.5));
    CHECK(*whole.utilizationMax == doctest::Approx(1.0));
    CHECK(*whole.memoryMeanBytes == doctest::Approx(20.0));
    const auto part = history.over("cpu:0", 120, 290);
    CHECK(*part.utilizationMean == doctest::Approx((80 * 1.0 + 90 * 0.5) / 170));
    const auto inside = history.over("cpu:0", 110, 120); // shorter than a sample
    CHECK(*inside.utilizationMean == doctest::Approx(1.0));
    CHECK(*inside.utilizationMax == doctest::Approx(1.0));
    CHECK_FALSE(history.over("cpu:0", 1000, 2000).utilizationMean);
}

TEST_CASE("a long history stays bounded and keeps means and maxima") {
    UseHistory history(100);
    for (int i = 0; i < 10'000; ++i)
        history.add(i * 10, i * 10 + 10, i == 5000 ? 1.0 : 0.25, 1.0);
    CHECK(history.size() <= 101);
    const auto whole = history.over("cpu:0", 0, 100'000);
    CHECK(*whole.utilizationMean == doctest::Approx((0.25 * 9999 + 1.0) / 10'000));
    CHECK(*whole.utilizationMax == doctest::Approx(1.0));
}

TEST_CASE("a member is added to an encoded frame without touching its other bytes") {
    CHECK(withMember(R"({"type":"epoch","x":1e-3,"y":"}"})", "devices", "[1]") ==
          R"({"type":"epoch","x":1e-3,"y":"}","devices":[1]})");
    CHECK(devicesJson({{"cpu:0", 0.5, std::nullopt, std::nullopt, 12.0}}) ==
          R"([{"device":"cpu:0","utilization_mean":0.5,"memory_max_bytes":12.0}])");
}

TEST_CASE("the gate lets a rank's own gapless frames through, once, and nothing else") {
    std::vector<std::string> good, bad;
    std::vector<std::uint64_t> gaps;
    FrameGate gate({[&](int, std::string_view line, const Frame &) { good.emplace_back(line); },
                    [&](int, std::string_view, const Error &why) { bad.push_back(why.what); },
                    [&](int, std::uint64_t expected, std::uint64_t got) { gaps.push_back(got - expected); }});
    const auto frame = [](int rank, int rseq, const std::string &more = "") {
        return R"({"type":"heartbeat","rank":)" + std::to_string(rank) + ",\"rseq\":" + std::to_string(rseq) +
               ",\"mono_ns\":1,\"wall_us\":2" + more + "}";
    };
    gate.take(0, frame(0, 0));
    gate.take(0, frame(0, 0)); // again, after a reconnection
    gate.take(0, frame(0, 3)); // two are lost
    gate.take(0, frame(0, 4, R"(,"unheard_of":{"a":[1]})"));
    CHECK(good.size() == 3);
    CHECK(gaps == std::vector<std::uint64_t>{2});
    CHECK(bad.empty());
    gate.take(0, frame(1, 5));
    gate.take(0, frame(0, 5, R"(,"node":0)"));
    gate.take(0, frame(0, 5, R"(,"crc":"00000000")"));
    gate.take(0, frame(0, 5, R"(,"node":null)"));
    gate.take(0, frame(0, 5, R"(,"seq":null)"));
    gate.take(0, frame(0, 5, R"(, "crc":"00000000")"));
    gate.take(0, R"({"crc":"x","type":"heartbeat","rank":0,"rseq":5,"mono_ns":1,"wall_us":2})");
    gate.take(0, R"({"type":"heartbeat","rank":0,"mono_ns":1,"wall_us":2})");
    gate.take(0, R"({"type":"exit","rank":0,"rseq":5,"mono_ns":1,"wall_us":2,"pid":1,"host":"h"})");
    gate.take(0, R"({"type":"link","rank":0,"rseq":5,"mono_ns":1,"wall_us":2,"of_node":1,"link":"lost"})");
    gate.take(0, R"({"type":"node","rank":0,"rseq":5,"mono_ns":1,"wall_us":2,"what":"failed","reason":"invented"})");
    gate.take(0, frame(0, 5, ",\"padding\":\"" + std::string(maxFrameBytes - 120, 'x') + "\""));
    gate.take(0, "not JSON");
    CHECK(bad.size() == 13);
    CHECK(good.size() == 3);
    gate.take(0, "");
    CHECK(bad.size() == 13);
}

TEST_CASE("the seq of a sealed line is read from its end, whatever its texts say") {
    CHECK(seqOfSealedLine(R"({"message":",\"seq\":5,","node":0,"seq":17,"crc":"89abcdef"})") == 17);
    CHECK_FALSE(seqOfSealedLine(R"({"seq":17})"));
    CHECK_FALSE(seqOfSealedLine(""));
}

TEST_CASE("a follower reads the same bytes from the file as from memory, from any number on") {
    const TestHome home;
    const SystemClock clock;
    const std::string path = home.path() + "/node-0.ndjson";
    auto journal = RunJournal::open(realFileSystem(), clock, path, 0, makeRunId(), "host");
    REQUIRE(journal);
    for (int i = 0; i < 40'000; ++i) // about 8 MB, of which memory keeps the last 4
        (*journal)->append(LogFrame{"info", std::string(static_cast<std::size_t>(i % 97), 'x'), "agent"});
    (*journal)->disk().run([] {}).wait(); // all is written
    const std::string log = contentsOf(path);
    for (const std::uint64_t from : {0, 1, 255, 256, 300, 20'000, 39'999, 40'001}) {
        CAPTURE(from);
        RunJournal::Position position;
        position.nextSeq = from;
        std::string all;
        while (position.nextSeq < (*journal)->nextSeq()) {
            std::string some;
            (*journal)->read(position, some, 5000);
            all += some;
            if (some.empty() && position.asked.valid())
                position.asked.wait();
        }
        const bool same = all == logFrom(log, from);
        CHECK(same);
        CHECK(position.nextSeq == 40'001);
    }
}

TEST_CASE("a gap of millions of lines in another node's log takes no memory, and its followers pass over it") {
    const TestHome home;
    LogDisk disk;
    LogFileReader reader;
    const std::string path = home.path() + "/node-1.ndjson";
    auto log = NodeLog::open(realFileSystem(), disk, reader, path, 1, false);
    REQUIRE(log);
    const auto take = [&](std::uint64_t seq) {
        Frame frame;
        frame.body = LogFrame{"info", "line " + std::to_string(seq), "agent"};
        return (*log)->take(sealLine(encode(frame), 1, seq));
    };
    std::vector<std::uint64_t> seqs;
    for (std::uint64_t block = 0; block < 200; ++block)
        for (const std::uint64_t seq : {block * 9'000'000, block * 9'000'000 + 1})
            seqs.push_back(seq);
    for (const std::uint64_t seq : seqs)
        REQUIRE(take(seq) == NodeLog::Verdict::Taken);
    CHECK((*log)->nextSeq() == seqs.back() + 1);
    for (const std::uint64_t from : {std::uint64_t(0), std::uint64_t(5'000'000), seqs.back()}) {
        LogWindow::Position position;
        position.nextSeq = from;
        std::string all;
        while (position.nextSeq < (*log)->nextSeq()) {
            std::string some;
            (*log)->window().read(position, some, 5000);
            all += some;
        }
        CHECK(std::ranges::count(all, '\n') ==
              std::ranges::count_if(seqs, [from](std::uint64_t seq) { return seq >= from; }));
    }
    CHECK(take(seqs.back() + 20'000'000) == NodeLog::Verdict::Damaged);
}

TEST_CASE("another node's log with ten thousand gaps is damaged at the next one, and whole lines still follow") {
    const TestHome home;
    LogDisk disk;
    LogFileReader reader;
    auto log = NodeLog::open(realFileSystem(), disk, reader, home.path() + "/node-1.ndjson", 1, false);
    REQUIRE(log);
    const auto take = [&](std::uint64_t seq) { return (*log)->take(sealLine(R"({"a":1})", 1, seq)); };
    const auto leaveOut = [&](std::uint64_t seq) { return (*log)->leaveOut(sealLine(R"({"a":1})", 1, seq)); };
    std::uint64_t seq = 0;
    for (int gap = 0; gap < 10'000; ++gap)
        REQUIRE((gap % 2 == 0 ? take(seq += 256) : leaveOut(seq += 256)) == NodeLog::Verdict::Taken);
    CHECK(take(seq + 2) == NodeLog::Verdict::Damaged);
    CHECK(leaveOut(seq + 2) == NodeLog::Verdict::Damaged);
    CHECK(take(seq + 1) == NodeLog::Verdict::Taken);
}

TEST_CASE("CUDA_VISIBLE_DEVICES is read as CUDA does") {
    const std::vector<Nvml::Gpu> all = {
        {0, "GPU-aaaa", "", {}, false}, {1, "GPU-bbbb", "", {}, false}, {2, "GPU-cccc", "", {}, false}};
    const auto uuids = [&](const char *list) {
        std::string text;
        for (const auto &gpu : visibleGpus(all, list))
            text += gpu.uuid.substr(4, 1);
        return text;
    };
    CHECK(uuids(nullptr) == "abc");
    CHECK(uuids("") == "");
    CHECK(uuids("2,0") == "ca");
    CHECK(uuids("GPU-b") == "b");
    CHECK(uuids("1, 9, 0") == "b"); // ends at the first that names nothing
    CHECK(uuids("-1") == "");
}

TEST_CASE("throttle reasons are words; idle clocks are none") {
    CHECK(throttleWords(0).empty());
    CHECK(throttleWords(1).empty());
    CHECK(throttleWords(0x4 | 0x40) == std::vector<std::string>{"software power cap", "hardware thermal slowdown"});
}

TEST_CASE("a trainer's arguments are understood, and left to the trainer when they have a mistake") {
    const auto config =
        configFromArguments({"--method", "ddp", "--devices=0,1", "--batch-size", "128", "--oversubscribe"});
    REQUIRE(config);
    CHECK((config->method == Method::Ddp));
    CHECK(config->batchSize == 128);
    CHECK(config->oversubscribe);
    CHECK_FALSE(configFromArguments({"--batch-size", "many"}));
    CHECK_FALSE(configFromArguments({"--no-such-flag"}));
    CHECK_FALSE(configFromArguments({"--epochs"}));
}

TEST_CASE("a trace goes over in pieces, begins anew after a cut, and is refused when damaged, out of order or of no "
          "rank there") {
    std::string text;
    for (int i = 0; text.size() < 100'000; ++i)
        text += "{\"line\":" + std::to_string(i) + "}\n";
    TraceOutbox out;
    out.add(3, text);
    TraceInbox in;
    CHECK(!in.take(*out.next(), {3}));
    out.startOver();
    std::optional<TraceInbox::Whole> whole;
    while (const auto piece = out.next()) {
        const auto there = decodeNodeMessage(encode(*piece));
        REQUIRE(there);
        REQUIRE_FALSE(whole);
        whole = in.take(*there, {3});
    }
    REQUIRE(whole);
    CHECK(whole->good);
    CHECK(whole->text == text);
    CHECK(!out.empty());
    NodeMessage kept;
    kept.rank = 3;
    kept.crc = whole->crc;
    out.kept(kept);
    CHECK(out.empty());

    out.add(3, text);
    auto first = *out.next();
    CHECK(!in.take(first, {2}));
    CHECK(!in.take(*out.next(), {3})); // its beginning is missing
    TraceOutbox three;
    three.add(3, text.substr(0, 40'000));
    const auto one = *three.next(), two = *three.next(), last = *three.next();
    CHECK_FALSE(in.take(one, {3}));
    CHECK_FALSE(in.take(last, {3}));
    CHECK_FALSE(in.take(two, {3}));
    first.total = std::size_t(1) << 40;
    CHECK(!in.take(first, {3}));
    first.total = first.text.size();
    first.text[5] ^= 1;
    CHECK_FALSE(in.take(first, {3})->good);
}

TEST_CASE(
    "of traces that are never finished a node can make agent 0 hold 256 MiB, and those that fit are not lost by it") {
    TraceInbox in;
    const std::set<int> ranks = {0, 1, 2, 3, 4};
    NodeMessage piece;
    piece.total = largestTrace;
    const auto send = [&](int rank, std::size_t offset, std::size_t size) {
        piece.rank = rank;
        piece.offset = offset;
        piece.text.assign(size, 'x');
        return in.take(piece, ranks);
    };
    const std::size_t most = largestTrace - 1;
    for (const int rank : ranks)
        CHECK_FALSE(send(rank, 0, most));
    CHECK_FALSE(send(4, most, 1)); // there was no room for its beginning
    for (int rank = 0; rank < 4; ++rank)
        CHECK(send(rank, most, 1));
    CHECK_FALSE(send(4, 0, most));
    CHECK(send(4, most, 1));
}

TEST_CASE("a node that answers is alive, one that owes an answer for seconds is gone, and where nothing is owed nobody "
          "knows") {
    using std::chrono::milliseconds;
    CHECK((judge({}) == PeerVerdict::Unknown));
    CHECK((judge({3, 0, milliseconds(40)}) == PeerVerdict::Alive));
    CHECK((judge({3, 1, milliseconds(40)}) == PeerVerdict::Alive)); // on its way
    CHECK((judge({3, 1, milliseconds(3000)}) == PeerVerdict::Unknown));
    CHECK((judge({3, 1, milliseconds(6100)}) == PeerVerdict::Gone));
    CHECK((judge({3, 0, milliseconds(60'000)}) == PeerVerdict::Unknown)); // the ranks have nothing to say to each other
    CHECK(addressOfPeer("10.0.0.2:51234") == "10.0.0.2");
    CHECK(addressOfPeer("[fe80::1%eth0]:51234") == "fe80::1");
    CHECK(addressOfPeer("[::ffff:10.0.0.2]:51234") == "10.0.0.2");
}

TEST_CASE("the kernel reports that a living connection is answered") {
    auto port = bindMasterPort("127.0.0.1", 0);
    REQUIRE(port);
    const Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port->port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(client.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) == 0);
    const Fd server(::accept4(port->listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    REQUIRE(::send(client.get(), "x", 1, 0) == 1);
    const PeerTcpState state = readPeerTcpState("127.0.0.1");
    CHECK(state.connections >= 2);
    REQUIRE(state.lastHeard);
    CHECK(*state.lastHeard < lockstep::test::hangLimit);
    CHECK_FALSE(readPeerTcpState("203.0.113.7").lastHeard);
}

TEST_CASE("what is said by a rank that has lost another one is known from a failure of its own") {
    for (const char *lost :
         {"[enforce fail] ... Connection closed by peer [10.77.1.12]:4711", "Gloo failed to recv, rank 1",
          "NCCL error: remote process exited or there was a network error", "Broken pipe"})
        CHECK_MESSAGE(saysPeerLost(lost), lost);
    for (const char *own : {"CUDA out of memory", "rank 2 lost the others or failed: no kernel image",
                            "no space is left on the device", ""})
        CHECK_MESSAGE(!saysPeerLost(own), own);
}

TEST_CASE("of the addresses that node 0 offers, the first that all nodes have reached is taken") {
    CHECK(commonOffer(3, {{0, 1, 2}, {1, 2}}) == 1);
    CHECK(commonOffer(3, {{2, 0}}) == 0);
    CHECK(commonOffer(3, {{0}, {1}}) == -1);
    CHECK(commonOffer(3, {{0, 1}, {}}) == -1);
}

TEST_CASE("a run in a Slurm job says how often the job was requeued before") {
    const TestHome home;
    ::setenv("SLURM_JOB_ID", "12", 1);
    ::setenv("SLURMD_NODENAME", "n1", 1);
    const auto restarts = [&] {
        writeSlurmOrigin(RunFolder{home.path()});
        return nlohmann::json::parse(*realFileSystem().readAll(home.path() + "/origin.json"))["restarts"];
    };
    CHECK(restarts() == 0);
    ::setenv("SLURM_RESTART_COUNT", "2", 1);
    CHECK(restarts() == 2);
    for (const char *name : {"SLURM_JOB_ID", "SLURMD_NODENAME", "SLURM_RESTART_COUNT"})
        ::unsetenv(name);
}

TEST_CASE("an event loop that was stopped and goes on, does go on, whatever its handlers have done meanwhile") {
    const pid_t child = ::fork();
    if (child == 0) {
        EventLoop loop;
        int beats = 0;
        loop.every(std::chrono::milliseconds(20), [&] {
            errno = EPIPE; // as a closed connection leaves it
            if (++beats == 40)
                loop.quit();
        });
        loop.run();
        ::_exit(beats == 40 ? 0 : 1);
    }
    for (int i = 0; i < 5; ++i) {
        ::usleep(50'000);
        ::kill(child, SIGSTOP);
        ::usleep(50'000);
        ::kill(child, SIGCONT);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}
