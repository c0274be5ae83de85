// SPDX-License-Identifier: MIT
// A disk that is read-only or full. It needs a file system of its own.
#include <doctest/doctest.h>
#include <sys/mount.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "ipc/clock.h"
#include "ipc/disk_space.h"
#include "ipc/file_system.h"
#include "ipc/log.h"
#include "ipc/socket_folder.h"
#include "tests/agent/agent_process.h"
#include "trainer/agent/listen/listened_run.h"
#include "trainer/agent/log/log_disk.h"

using namespace lockstep;

namespace {

constexpr int skipped = 77;

/// A tmpfs of its own. Where this user may not mount one, the whole test counts as skipped.
class SmallDisk {
public:
    explicit SmallDisk(const std::string &path, const char *options) : m_path(path) {
        std::filesystem::create_directories(path);
        if (::mount("lockstep-test", path.c_str(), "tmpfs", 0, options) == 0)
            return;
        std::puts("skipped: this user may not mount a tmpfs");
        std::filesystem::remove_all(std::filesystem::path(path).parent_path()); // the test's home
        std::exit(skipped);
    }
    ~SmallDisk() { ::umount2(m_path.c_str(), MNT_DETACH); }
    void grow() const { ::mount("lockstep-test", m_path.c_str(), "tmpfs", MS_REMOUNT, "size=64m"); }
    void makeReadOnly() const { ::mount("lockstep-test", m_path.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, ""); }

private:
    std::string m_path;
};

/// Exit code, and what it says on stderr.
std::pair<int, std::string> outcomeOf(Child child) {
    child.closeInput();
    (void)child.readAll();
    std::string errors = child.errors();
    return {child.wait(), std::move(errors)};
}

} // namespace

TEST_CASE("a read-only home is one sentence, exit 2, nothing left, nothing started") {
    const TestHome home;
    const SmallDisk disk(home.path() + "/ro", "size=1m");
    disk.makeReadOnly();
    Child child({agentBinary(), "serve"}, {{"LOCKSTEP_HOME", home.path() + "/ro"}});
    child.write(launchRequest(1) + "\n");
    const auto [code, errors] = outcomeOf(std::move(child));
    CHECK(code == 2);
    CHECK(errors.find("can't be written") != std::string::npos);
    CHECK(std::count(errors.begin(), errors.end(), '\n') == 1);
    CHECK(std::filesystem::is_empty(home.path() + "/ro"));
    // A file where the folder should be is no better.
    const auto [blocked, words] =
        outcomeOf(Child({agentBinary(), "run", "--", "/bin/true"}, {{"LOCKSTEP_HOME", "/dev/null"}}));
    CHECK(blocked == 2);
    CHECK(std::count(words.begin(), words.end(), '\n') == 1);
}

TEST_CASE("with a full disk training goes on, viewers are told and miss nothing, and room made later makes all whole") {
    const TestHome home;
    const std::string folder = home.path() + "/small", ballast = folder + "/ballast";
    const SmallDisk disk(folder, "size=16m");
    ::setenv("LOCKSTEP_HOME", folder.c_str(), 1);
    {
        std::ofstream(ballast) << std::string(15u << 20, 'x');
        const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1;steps=300;flood=20000"}});
        Child follower({agentBinary(), "attach", run.runId, "--from-seq", "0"});
        LineChecker checker;
        std::string all;
        const auto take = [&](const std::string &line) {
            REQUIRE((checker.check(line) == LineChecker::Verdict::Good));
            all += line + "\n";
        };
        for (auto line = follower.readLine(); line; line = follower.readLine()) {
            take(*line);
            if (line->find("\"result_unwritten\"") != std::string::npos)
                break;
        }
        CHECK(all.find("\"state\":\"done\"") != std::string::npos); // it trained to its end
        CHECK(all.find("\"log_behind\"") != std::string::npos);
        CHECK(all.find("\"disk_low\"") != std::string::npos);
        CHECK(std::filesystem::file_size(run.folder.log(0)) < all.size());
        CHECK((readRunStatus(run.folder).kind == RunStatus::Kind::Running)); // not "agent died"

        std::filesystem::remove(ballast);
        for (auto line = follower.readLine(); line; line = follower.readLine())
            take(*line);
        CHECK(checker.gaps().empty());
        CHECK((resultOf(run.folder).state == RunState::Done));
        const bool whole = contentsOf(run.folder.log(0)) == all;
        CHECK(whole);
        CHECK(eventually([&] { return !isAlive(run.agent); }));
        if (const auto sockets = socketFolder())
            std::filesystem::remove_all(*sockets);
    }
    ::setenv("LOCKSTEP_HOME", home.path().c_str(), 1);
}

TEST_CASE("logs that can be left out leave a part of a disk free, and are whole once there is more room") {
    const TestHome home;
    const std::string folder = home.path() + "/small", path = folder + "/node-1.ndjson";
    const SmallDisk small(folder, "size=16m");
    agent::LogDisk disk(folder);
    auto file = realFileSystem().openAppend(path);
    REQUIRE(file);
    const auto log = disk.add(LineFile(std::move(*file), 0));
    std::string all;
    const auto append = [&](int lines) {
        for (int i = 0; i < lines; ++i) {
            const std::string line = std::string(1000, static_cast<char>('a' + i % 26)) + "\n";
            REQUIRE(disk.append(log, line));
            all += line;
        }
        disk.run([] {}).wait();
    };
    append(1000);
    CHECK(contentsOf(path) == all);
    append(20'000);
    const auto space = diskSpace(folder);
    REQUIRE(space);
    CHECK(space->freeBytes > 0.9 * reservedBytes(*space)); // files take whole pages
    CHECK(all.starts_with(contentsOf(path)));
    CHECK(disk.state(log).writeError.find("the disk under " + folder + " is nearly full") != std::string::npos);
    small.grow();
    append(1);
    const bool whole = contentsOf(path) == all;
    CHECK(whole);
    CHECK(disk.state(log).writeError.empty());
}

TEST_CASE("the log and the console of a run that others report leave a part of a disk free") {
    const TestHome home;
    const std::string folder = home.path() + "/small";
    const SmallDisk small(folder, "size=16m");
    ::setenv("LOCKSTEP_HOME", folder.c_str(), 1);
    {
        const SystemClock clock;
        agent::EventLoop loop;
        Frame frame;
        frame.rank = 0;
        frame.rseq = 0;
        frame.body = StateFrame{};
        auto run = agent::ListenedRun::open(loop, clock, {}, {}, frame);
        REQUIRE(run);
        const RunFolder kept = (*run)->folder();
        (*run)->takeLine(0, encode(frame));
        frame.body = LogFrame{"info", std::string(30'000, 'x'), "trainer"};
        for (std::uint64_t i = 1; i <= 600; ++i) { // 18 MB, which the log and the console take each
            frame.rseq = i;
            (*run)->takeLine(0, encode(frame));
        }
        run->reset(); // waits for the disk
        const auto space = diskSpace(folder);
        REQUIRE(space);
        CHECK(space->freeBytes > 0.9 * reservedBytes(*space)); // files take whole pages
        CHECK(std::filesystem::file_size(kept.log(0)) + std::filesystem::file_size(kept.console(0)) > 10'000'000);
        if (const auto sockets = socketFolder())
            std::filesystem::remove_all(*sockets);
    }
    ::setenv("LOCKSTEP_HOME", home.path().c_str(), 1);
}
