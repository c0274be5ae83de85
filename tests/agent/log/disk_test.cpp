// SPDX-License-Identifier: MIT
// A disk that fails or does not answer: the user is told, nothing is lost, and a stop stops.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "ipc/log.h"
#include "tests/agent/agent_process.h"
#include "tests/agent/follow_client.h"
#include "trainer/agent/log/log_disk.h"

using namespace lockstep;
using namespace std::chrono_literals;

namespace {

/// Faults that are switched on and off while an agent runs.
class BadDisk {
public:
    explicit BadDisk(const TestHome &home) : m_folder(home.path() + "-disk") {
        std::filesystem::create_directories(m_folder);
    }
    ~BadDisk() { std::filesystem::remove_all(m_folder); }
    void begin(const std::string &fault) const { std::ofstream(m_folder + "/" + fault) << "on"; }
    void end(const std::string &fault) const { std::filesystem::remove(m_folder + "/" + fault); }
    [[nodiscard]] Child::Environment environment(const std::string &fakeRank) const {
        return {{"LD_PRELOAD", FAKE_DISK_LIBRARY}, {"FAKE_DISK", m_folder}, {"FAKE_RANK", fakeRank}};
    }

private:
    std::string m_folder;
};

bool told(const RunFolder &folder, const std::string &kind) {
    const auto alerts = bodiesOf<AlertFrame>(framesOf(folder));
    return std::ranges::any_of(alerts, [&](const AlertFrame &alert) { return alert.kind == kind; });
}

/// A file whose next `failures` syncs fail, and whose unsynced bytes are lost then, as Linux does it.
class LosingFile final : public AppendFile {
public:
    explicit LosingFile(std::string &bytes, int failures) : m_bytes(bytes), m_failures(failures) {}
    Result<void> append(std::string_view bytes) override {
        m_bytes += bytes;
        return {};
    }
    Result<void> sync() override {
        if (m_failures-- > 0) {
            std::fill(m_bytes.begin() + static_cast<std::ptrdiff_t>(m_safe), m_bytes.end(), '\0');
            return fail(Error::system("can't sync it", EIO));
        }
        m_safe = m_bytes.size();
        return {};
    }
    Result<void> truncate(std::uint64_t size) override {
        m_bytes.resize(size);
        return {};
    }
    [[nodiscard]] std::uint64_t size() const override { return m_bytes.size(); }

private:
    std::string &m_bytes;
    int m_failures;
    std::size_t m_safe = 0;
};

} // namespace

TEST_CASE(
    "lines and consoles are written between the pieces of long work on the disk, and its end does not wait for it") {
    const TestHome home;
    const std::string console = home.path() + "/console.txt";
    std::string answered;
    {
        agent::LogDisk disk;
        const auto text = disk.openText(console);
        std::promise<void> begun, go;
        auto gone = go.get_future().share();
        int pieces = 0;
        disk.askInPieces([&, gone]() -> std::optional<std::function<void()>> {
            if (pieces++ == 0) {
                begun.set_value();
                gone.wait(); // what is asked for meanwhile comes before the next piece
                return std::nullopt;
            }
            std::ifstream file(console);
            return [&answered, found = std::string(std::istreambuf_iterator<char>(file), {})] { answered = found; };
        });
        begun.get_future().wait();
        disk.write(text, "a line\n");
        go.set_value();
        for (int i = 0; i < 2; ++i)
            disk.run([] {}).wait(); // the second one comes after the second piece
        disk.deliver();
        disk.askInPieces([]() -> std::optional<std::function<void()>> { return std::nullopt; }); // would never end
    }
    CHECK(answered == "a line\n");
}

TEST_CASE("lines whose sync has failed are written again") {
    std::string bytes, all;
    {
        agent::LogDisk disk;
        const auto log = disk.add(LineFile(std::make_unique<LosingFile>(bytes, 3), 0));
        for (std::uint64_t i = 1; i <= 40; ++i) {
            const std::string line = "line " + std::to_string(i) + "\n";
            CHECK(disk.append(log, line));
            all += line;
            if (i % 10 != 0)
                continue;
            disk.requestSync(log, i, true);
            disk.run([] {}).wait();
            CHECK(disk.state(log).syncError.empty() == (i == 40));
            CHECK(disk.state(log).durable == (i == 40 ? 40 : 0));
            CHECK(bytes == all); // readers have them all the time
        }
    }
    CHECK(bytes == all);
}

TEST_CASE("a console that the disk refuses for a while is whole afterwards, or says how many bytes are missing") {
    const TestHome home;
    for (const std::size_t more : {std::size_t(0), std::size_t(1'100'000)}) {
        const std::string folder = dataHome() + "/later" + std::to_string(more), path = folder + "/rank-0.log";
        {
            agent::LogDisk disk;
            const auto console = disk.openText(path);
            disk.write(console, "one\n");
            disk.write(console, std::string(more, 'x'));
            disk.write(console, "two\n");
            disk.run([] {}).wait();
            std::filesystem::create_directories(folder);
            disk.write(console, "three\n");
        }
        std::ifstream file(path);
        const std::string text(std::istreambuf_iterator<char>(file), {});
        const std::size_t room = 1'048'576 - 4, missing = more > room ? more - room + 4 : 0;
        CHECK(text == "one\n" + std::string(std::min(more, room), 'x') +
                          (missing > 0 ? "\n[lockstep: " + std::to_string(missing) +
                                             " bytes are missing here: No such file or directory]\nthree\n"
                                       : "two\nthree\n"));
    }
}

TEST_CASE(
    "what the consoles of many ranks hold for a disk that refuses them is bounded, and each says what is missing") {
    const TestHome home;
    const std::string folder = dataHome() + "/later";
    const auto pathOf = [&](std::size_t i) { return folder + "/rank-" + std::to_string(i) + ".log"; };
    constexpr std::size_t bytes = 1 << 20, whole = 64;
    const std::string text(bytes, 'x');
    agent::LogDisk disk;
    std::vector<std::shared_ptr<agent::LogDisk::Text>> consoles;
    for (std::size_t i = 0; i < whole + 6; ++i) {
        consoles.push_back(disk.openText(pathOf(i), false));
        disk.write(consoles.back(), text);
    }
    const auto retryAll = [&] {
        disk.run([] {}).wait();
        std::filesystem::create_directories(folder);
        for (const auto &console : consoles)
            disk.retry(console);
        disk.run([] {}).wait();
    };
    retryAll();
    const std::string missing = "\n[lockstep: 1048576 bytes are missing here: No such file or directory]\n";
    for (std::size_t i = 0; i < consoles.size(); ++i) {
        const bool right = contentsOf(pathOf(i)) == (i < whole ? text : missing);
        CHECK_MESSAGE(right, i);
    }
    std::filesystem::remove_all(folder);
    disk.write(consoles.back(), text); // there is room for it now
    retryAll();
    const bool right = contentsOf(pathOf(consoles.size() - 1)) == text;
    CHECK(right);
}

TEST_CASE("files of which there may be thousands are closed between two writes") {
    const TestHome home;
    std::filesystem::create_directories(dataHome());
    agent::LogDisk disk;
    disk.run([] {}).wait();
    const int before = countIn("/proc/self/fd");
    std::vector<std::shared_ptr<agent::LogDisk::Text>> texts;
    for (int i = 0; i < 50; ++i) {
        texts.push_back(disk.openText(dataHome() + "/rank-" + std::to_string(i) + ".bad", false));
        disk.write(texts.back(), "one\n");
    }
    disk.run([] {}).wait();
    CHECK(countIn("/proc/self/fd") == before);
    disk.write(texts[7], "two\n");
    disk.run([] {}).wait();
    CHECK(contentsOf(dataHome() + "/rank-7.bad") == "one\ntwo\n");
}

TEST_CASE("a pipe in a console's place, which nobody reads, holds up nothing that is written after it") {
    const TestHome home;
    const std::string folder = dataHome(), path = folder + "/rank-0.bad", other = folder + "/rank-1.log";
    std::filesystem::create_directories(folder);
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    {
        agent::LogDisk disk;
        disk.write(disk.openText(path), "one\n");
        disk.write(disk.openText(other), "two\n");
        CHECK(disk.run([] {}).wait_for(lockstep::test::hangLimit) == std::future_status::ready);
    }
    CHECK(contentsOf(other) == "two\n");
}

TEST_CASE("a log that is removed during the run is a sentence in result.json") {
    const TestHome home;
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1;steps=300;step_ms=20"}});
    std::this_thread::sleep_for(2s); // it has been looked at
    REQUIRE(std::filesystem::remove(run.folder.log(0)));
    const RunResult result = resultOf(run.folder);
    CHECK((result.state == RunState::Done));
    REQUIRE(result.warnings.size() == 1);
    CHECK(result.warnings[0].find(run.folder.log(0) + " was removed or replaced during the run") != std::string::npos);
}

TEST_CASE("a log that can't be synced is an alert at once and a sentence in result.json, and training goes on") {
    const TestHome home;
    const BadDisk disk(home);
    const ServedRun run = serve(1, disk.environment("epochs=1;steps=300;step_ms=20"));
    disk.begin("sync_fails");
    CHECK(eventually([&] { return told(run.folder, "log_unsynced"); }));
    CHECK_FALSE(std::filesystem::exists(run.folder.result())); // it did not wait for the end
    const RunResult result = resultOf(run.folder);
    CHECK((result.state == RunState::Done));
    REQUIRE(result.warnings.size() == 1);
    CHECK(result.warnings[0].find(run.folder.log(0)) != std::string::npos);
    CHECK(result.warnings[0].find("Input/output error") != std::string::npos);
    const auto report = readLog(run.folder.log(0), 0, [](std::string_view) {});
    REQUIRE(report);
    CHECK(report->gaps.empty());
    CHECK(report->lines == result.logLines);
}

TEST_CASE("once a sync succeeds again that is said, and the result carries no warning") {
    const TestHome home;
    const BadDisk disk(home);
    const ServedRun run = serve(1, disk.environment("epochs=1;steps=100000;step_ms=20"));
    disk.begin("sync_fails");
    CHECK(eventually([&] { return told(run.folder, "log_unsynced"); }));
    disk.end("sync_fails");
    CHECK(eventually([&] { return told(run.folder, "log_synced"); }));
    FollowClient client(run.socket, 0);
    client.send(encode(Control{"stop", "the test", {}}) + "\n");
    const RunResult result = resultOf(run.folder);
    CHECK((result.state == RunState::Stopped));
    CHECK(result.warnings.empty());
}

TEST_CASE("a disk that does not answer holds up neither a stop nor the followers") {
    const TestHome home;
    const BadDisk disk(home);
    const ServedRun run = serve(2, disk.environment("epochs=1;steps=100000;step_ms=20;print=10"));
    const auto ranks = rankPids(run.folder, 2);
    FollowClient follower(run.socket, 0);
    disk.begin("hangs");
    Child watcher({agentBinary(), "attach", run.runId, "--from-seq", "0"});
    for (auto line = watcher.readLine(); line; line = watcher.readLine())
        if (line->find("\"disk_silent\"") != std::string::npos)
            break;
    follower.send(encode(Control{"stop", "the test", {}}) + "\n");
    for (const auto &[rank, pid] : ranks)
        CHECK(eventually([pid = pid] { return !isAlive(pid); }));
    CHECK_FALSE(std::filesystem::exists(run.folder.result()));
    CHECK(isAlive(run.agent)); // it waits for the disk, and the result is not lost
    disk.end("hangs");
    const RunResult result = resultOf(run.folder);
    CHECK((result.state == RunState::Stopped));
    const auto report = readLog(run.folder.log(0), 0, [](std::string_view) {});
    REQUIRE(report);
    CHECK(report->gaps.empty());
    CHECK(report->lines == result.logLines);
}

TEST_CASE("who asks a silent disk for old lines waits alone, and has them all once it answers") {
    const TestHome home;
    const BadDisk disk(home);
    const ServedRun run = serve(1, disk.environment("epochs=1;steps=100000;step_ms=20;flood=40000"));
    const auto ranks = rankPids(run.folder, 1);
    // Memory keeps the last 4 MB only.
    CHECK(eventually([&] { return std::filesystem::file_size(run.folder.log(0)) > 6'000'000; }));
    disk.begin("hangs");
    FollowClient late(run.socket, 1);
    FollowClient stopper(run.socket, late.agent().nextSeq);
    stopper.send(encode(Control{"stop", "the test", {}}));
    CHECK(eventually([&] { return !isAlive(ranks.at(0)); }));
    CHECK_FALSE(std::filesystem::exists(run.folder.result()));
    disk.end("hangs");
    const std::string lines = late.readToEnd();
    CHECK((resultOf(run.folder).state == RunState::Stopped));
    const bool whole = lines == logFrom(contentsOf(run.folder.log(0)), 1);
    CHECK(whole);
}
