// SPDX-License-Identifier: MIT
#include "tests/agent/agent_process.h"

#include <dirent.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "ipc/log.h"
#include "ipc/process_stat.h"

extern char **environ;

using namespace lockstep;
using namespace std::chrono_literals;

TestHome::TestHome() {
    char name[] = "/tmp/lockstep-test-XXXXXX";
    m_path = ::mkdtemp(name);
    ::setenv("LOCKSTEP_HOME", m_path.c_str(), 1);
    ::setenv("LOCKSTEP_TRAINER", fakeRank().c_str(), 1);
    ::unsetenv("FAKE_RANK");
}

TestHome::~TestHome() {
    std::error_code ignored;
    if (const auto sockets = socketFolder())
        std::filesystem::remove_all(*sockets, ignored);
    std::filesystem::remove_all(m_path, ignored);
}

std::vector<std::string> TestHome::runs() const {
    std::vector<std::string> ids;
    std::error_code ignored;
    for (const auto &entry : std::filesystem::directory_iterator(m_path + "/runs", ignored))
        ids.push_back(entry.path().filename());
    return ids;
}

Child::Child(const std::vector<std::string> &command, const Environment &environment) {
    int in[2], out[2], err[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0)
        FAIL("no pipes");
    std::vector<std::string> variables;
    for (const auto &[name, value] : environment)
        variables.push_back(name + "=" + value);
    for (char **entry = environ; *entry; ++entry) {
        const std::string text = *entry;
        if (!environment.contains(text.substr(0, text.find('='))))
            variables.push_back(text);
    }
    std::vector<char *> arguments, pointers;
    for (const std::string &word : command)
        arguments.push_back(const_cast<char *>(word.c_str()));
    for (std::string &variable : variables)
        pointers.push_back(variable.data());
    arguments.push_back(nullptr);
    pointers.push_back(nullptr);
    m_pid = ::fork();
    if (m_pid == 0) {
        ::dup2(in[0], 0);
        ::dup2(out[1], 1);
        ::dup2(err[1], 2);
        for (const int signal : {SIGINT, SIGHUP}) // the test may be a shell's job in the background
            ::signal(signal, SIG_DFL);
        ::execve(arguments[0], arguments.data(), pointers.data());
        ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    ::close(err[1]);
    m_in = Fd(in[1]);
    m_out = Fd(out[0]);
    m_err = Fd(err[0]);
}

Child::Child(Child &&other) noexcept
    : m_pid(std::exchange(other.m_pid, 0)), m_in(std::move(other.m_in)), m_out(std::move(other.m_out)),
      m_err(std::move(other.m_err)), m_buffer(std::move(other.m_buffer)), m_code(other.m_code) {}

Child::~Child() {
    if (m_pid > 0 && !m_code) {
        ::kill(m_pid, SIGKILL);
        ::waitpid(m_pid, nullptr, 0);
    }
}

void Child::write(const std::string &text) {
    (void)!::write(m_in.get(), text.data(), text.size());
}

std::optional<std::string> Child::readLine(std::chrono::milliseconds patience) {
    const auto until = std::chrono::steady_clock::now() + patience;
    for (;;) {
        if (const auto end = m_buffer.find('\n'); end != std::string::npos) {
            const std::string line = m_buffer.substr(0, end);
            m_buffer.erase(0, end + 1);
            return line;
        }
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        pollfd poll{m_out.get(), POLLIN, 0};
        char bytes[65536];
        if (left.count() <= 0 || ::poll(&poll, 1, static_cast<int>(left.count())) <= 0)
            return std::nullopt;
        const ssize_t n = ::read(m_out.get(), bytes, sizeof bytes);
        if (n <= 0)
            return std::nullopt;
        m_buffer.append(bytes, static_cast<std::size_t>(n));
    }
}

namespace {
std::string readToEnd(int fd) {
    std::string text;
    char bytes[65536];
    for (ssize_t n = 1; n > 0 || (n < 0 && errno == EINTR);) {
        n = ::read(fd, bytes, sizeof bytes);
        if (n > 0)
            text.append(bytes, static_cast<std::size_t>(n));
    }
    return text;
}
} // namespace

std::string Child::readAll() {
    return std::exchange(m_buffer, {}) + readToEnd(m_out.get());
}
std::string Child::errors() {
    return readToEnd(m_err.get());
}
void Child::kill(int signal) {
    ::kill(m_pid, signal);
}

int Child::wait(std::chrono::milliseconds patience) {
    int status = 0;
    const auto gone = [&] { return ::waitpid(m_pid, &status, WNOHANG) == m_pid; };
    if (!m_code && eventually(gone, patience))
        m_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return m_code.value_or(-1);
}

std::string agentBinary() {
    return AGENT_BINARY;
}
std::string fakeRank() {
    return FAKE_RANK_BINARY;
}

std::string launchRequest(int devices, bool detach, const std::string &runId, double hangAfterS) {
    LaunchRequest request;
    request.detach = detach;
    request.record.run = runId;
    RunConfig config;
    config.method = devices > 1 ? Method::Ddp : Method::Baseline;
    config.devices.clear();
    for (int i = 0; i < devices; ++i)
        config.devices.push_back(std::to_string(i));
    config.batchSize = 32 * devices;
    config.oversubscribe = true;
    config.hangAfter = hangAfterS;
    request.record.config = config;
    return toJson(request);
}

ServedRun::ServedRun(ServedRun &&other) noexcept
    : runId(std::move(other.runId)), socket(std::move(other.socket)), agent(std::exchange(other.agent, 0)),
      folder(std::move(other.folder)) {}

ServedRun::~ServedRun() {
    // By its lock, so that a number used again hurts nobody.
    if (agent > 0 && FileLock::isHeld(folder.lock(0)))
        ::kill(agent, SIGKILL);
}

ServedRun serve(int ranks, const Child::Environment &environment, double hangAfterS, std::vector<std::string> before) {
    return serveRequest(launchRequest(ranks, true, {}, hangAfterS), environment, std::move(before));
}

ServedRun serveRequest(const std::string &request, const Child::Environment &environment,
                       std::vector<std::string> before) {
    before.insert(before.end(), {agentBinary(), "serve"});
    Child agent(before, environment);
    agent.write(request + "\n");
    agent.closeInput();
    const std::string answer = agent.readLine().value_or("");
    const int code = agent.wait();
    REQUIRE_MESSAGE(code == 0, answer);
    const auto value = [&](const std::string &key) {
        const auto at = answer.find("\"" + key + "\":");
        REQUIRE(at != std::string::npos);
        std::string text = answer.substr(at + key.size() + 3);
        text = text.substr(0, text.find_first_of(",}"));
        return text.front() == '"' ? text.substr(1, text.size() - 2) : text;
    };
    ServedRun run;
    run.runId = value("run");
    run.socket = value("socket");
    run.agent = std::stoi(value("pid"));
    run.folder = runFolder(run.runId);
    return run;
}

bool eventually(const std::function<bool()> &condition, std::chrono::milliseconds patience) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until)
            return false;
        std::this_thread::sleep_for(5ms);
    }
    return true;
}

bool isAlive(pid_t pid) {
    const auto stat = processStatOf(pid);
    return stat && stat->state != 'Z' && stat->state != 'X';
}

std::vector<Frame> framesOf(const RunFolder &folder) {
    std::vector<Frame> frames;
    Decoder decoder;
    (void)readLog(folder.log(0), 0, [&](std::string_view line) {
        if (auto frame = decoder.decode(line))
            frames.push_back(std::move(*frame));
    });
    return frames;
}

std::map<int, pid_t> rankPids(const RunFolder &folder, int count) {
    std::map<int, pid_t> pids;
    const bool all = eventually([&] {
        for (const Frame &frame : framesOf(folder))
            if (const auto *state = std::get_if<StateFrame>(&frame.body); state && state->pid && frame.rank)
                pids[*frame.rank] = static_cast<pid_t>(*state->pid);
        return static_cast<int>(pids.size()) == count;
    });
    REQUIRE(all);
    return pids;
}

RunResult resultOf(const RunFolder &folder, std::chrono::milliseconds patience) {
    REQUIRE_MESSAGE(eventually([&] { return std::filesystem::exists(folder.result()); }, patience),
                    contentsOf(folder.agentConsole()));
    auto result = runResultFromJson(contentsOf(folder.result()));
    REQUIRE(result);
    return *result;
}

int countIn(const std::string &folder) {
    int count = 0;
    if (DIR *dir = ::opendir(folder.c_str())) {
        while (::readdir(dir))
            ++count;
        ::closedir(dir);
    }
    return count;
}

std::string contentsOf(const std::string &path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

double secondsSince(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

pid_t keeperOf(pid_t agent) {
    const std::string children = "/proc/" + std::to_string(agent) + "/task/" + std::to_string(agent) + "/children";
    std::istringstream text(contentsOf(children));
    for (pid_t child = 0; text >> child;)
        if (contentsOf("/proc/" + std::to_string(child) + "/comm") == "lockstep-keeper\n")
            return child;
    return 0;
}

double mostMemoryMiB(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/status");
    for (std::string word; file >> word;)
        if (word == "VmHWM:") {
            double kib = 0;
            file >> kib;
            return kib / 1024;
        }
    return 0;
}
