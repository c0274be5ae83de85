// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ipc/frames.h"
#include "ipc/run_folder.h"
#include "ipc/unix_socket.h"
#include "tests/hang_limit.h"

/// A home of its own for one test: LOCKSTEP_HOME of this process and all it starts. Removed at the end, with its sockets.
class TestHome {
public:
    TestHome();
    ~TestHome();
    [[nodiscard]] const std::string &path() const { return m_path; }
    [[nodiscard]] std::vector<std::string> runs() const; ///< run ids there are

private:
    std::string m_path;
};

/// A child process with pipes; killed when the test forgets it.
class Child {
public:
    using Environment = std::map<std::string, std::string>;
    explicit Child(const std::vector<std::string> &command, const Environment &environment = {});
    ~Child();
    Child(Child &&other) noexcept;

    [[nodiscard]] pid_t pid() const { return m_pid; }
    void write(const std::string &text);
    void closeInput() { m_in.close(); }
    /// The next line of stdout (without newline); nothing at the end or after the time.
    std::optional<std::string> readLine(std::chrono::milliseconds patience = lockstep::test::hangLimit);
    std::string readAll(); ///< stdout to its end
    std::string errors();  ///< stderr to its end
    void kill(int signal);
    /// Exit code, or 128 + signal; -1 when it still runs after the time.
    int wait(std::chrono::milliseconds patience = lockstep::test::hangLimit);

private:
    pid_t m_pid = 0;
    lockstep::Fd m_in, m_out, m_err;
    std::string m_buffer;
    std::optional<int> m_code;
};

[[nodiscard]] std::string agentBinary();
[[nodiscard]] std::string fakeRank();

/// A launch request for `serve`: ddp over CPU devices that may share cores, unless the JSON says otherwise.
[[nodiscard]] std::string launchRequest(int devices, bool detach = true, const std::string &runId = {},
                                        double hangAfterS = 0);

/// A detached run of fake ranks; FAKE_RANK words by rank, "" for all.
struct ServedRun {
    ServedRun() = default;
    ServedRun(ServedRun &&other) noexcept;
    ~ServedRun(); ///< kills the agent if it still lives
    std::string runId, socket;
    pid_t agent = 0;
    lockstep::RunFolder folder;
};
/// `before`: words in front of the agent's command, e.g. unshare.
[[nodiscard]] ServedRun serveRequest(const std::string &request, const Child::Environment &environment,
                                     std::vector<std::string> before = {});
[[nodiscard]] ServedRun serve(int ranks, const Child::Environment &environment, double hangAfterS = 0,
                              std::vector<std::string> before = {});

[[nodiscard]] bool eventually(const std::function<bool()> &condition,
                              std::chrono::milliseconds patience = lockstep::test::hangLimit);
[[nodiscard]] bool isAlive(pid_t pid);         ///< a zombie is not
[[nodiscard]] pid_t keeperOf(pid_t agent);     ///< 0: it has none
[[nodiscard]] double mostMemoryMiB(pid_t pid); ///< the most that the process has had so far
/// Every good frame of the run's log so far.
[[nodiscard]] std::vector<lockstep::Frame> framesOf(const lockstep::RunFolder &folder);
/// pid of each rank by its `init` state frame; waits until `count` have come.
[[nodiscard]] std::map<int, pid_t> rankPids(const lockstep::RunFolder &folder, int count);
/// The result, waited for; fails the test when none comes.
[[nodiscard]] lockstep::RunResult resultOf(const lockstep::RunFolder &folder,
                                           std::chrono::milliseconds patience = lockstep::test::hangLimit);
[[nodiscard]] std::string contentsOf(const std::string &path);
[[nodiscard]] int countIn(const std::string &folder); ///< entries, "." and ".." included
[[nodiscard]] double secondsSince(std::chrono::steady_clock::time_point start);

template <class Body> std::vector<Body> bodiesOf(const std::vector<lockstep::Frame> &frames) {
    std::vector<Body> bodies;
    for (const lockstep::Frame &frame : frames)
        if (const auto *body = std::get_if<Body>(&frame.body))
            bodies.push_back(*body);
    return bodies;
}
