// SPDX-License-Identifier: MIT
#pragma once
// Runs real lockstep-trainer processes in a folder of their own.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "ipc/frames.h"
#include "ipc/run_folder.h"
#include "tests/trainer/loaded_trainer/loaded_trainer.h"
#include "tests/trainer/temp_folder.h"

namespace lockstep::trainer::test {

using Environment = std::map<std::string, std::string>;

inline std::string trainerBinary() {
    return LOCKSTEP_BIN_DIR "/lockstep-trainer";
}

struct Ended {
    std::optional<int> code; ///< absent: killed by a signal, or by us after the limit
    std::string out, err;
    [[nodiscard]] std::size_t sentences() const {
        return static_cast<std::size_t>(std::count(err.begin(), err.end(), '\n'));
    }
};

/// One program, started at once; killed if it still runs when its owner goes.
class Process {
public:
    Process(const std::string &program, const std::vector<std::string> &arguments, const Environment &more = {})
        : m_out(m_folder / "out"), m_err(m_folder / "err") {
        std::vector<std::string> texts{program};
        texts.insert(texts.end(), arguments.begin(), arguments.end());
        std::vector<std::string> settings = environment(more);
        m_pid = startLoaded({m_out, m_err, texts, settings}, more);
        if (m_pid > 0)
            return;
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_addopen(&files, 1, m_out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        posix_spawn_file_actions_addopen(&files, 2, m_err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        auto argv = pointersTo(texts), envp = pointersTo(settings);
        if (::posix_spawn(&m_pid, program.c_str(), &files, nullptr, argv.data(), envp.data()) != 0)
            m_pid = -1;
        posix_spawn_file_actions_destroy(&files);
    }
    ~Process() {
        if (m_pid > 0) {
            ::kill(m_pid, SIGKILL);
            ::waitpid(m_pid, nullptr, 0);
        }
    }
    Process(const Process &) = delete;
    Process &operator=(const Process &) = delete;

    [[nodiscard]] pid_t pid() const { return m_pid; }
    void signal(int number) const { ::kill(m_pid, number); }

    Ended wait(std::chrono::seconds limit = std::chrono::seconds(100)) {
        const auto deadline = std::chrono::steady_clock::now() + limit;
        Ended ended;
        while (m_pid > 0) {
            int status = 0;
            if (::waitpid(m_pid, &status, WNOHANG) == m_pid) {
                m_pid = -1;
                if (WIFEXITED(status))
                    ended.code = WEXITSTATUS(status);
                break;
            }
            if (std::chrono::steady_clock::now() > deadline)
                break;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        ended.out = readFile(m_out);
        ended.err = readFile(m_err);
        return ended;
    }

private:
    /// Ours without what a launcher above the tests may have set.
    static std::vector<std::string> environment(const Environment &more) {
        std::vector<std::string> settings;
        for (char **it = environ; *it; ++it) {
            const std::string setting = *it, name = setting.substr(0, setting.find('='));
            if (!isLaunchers(name) && !more.contains(name))
                settings.push_back(setting);
        }
        for (const auto &[name, value] : more)
            settings.push_back(name + "=" + value);
        return settings;
    }
    /// A trainer's process; -1 if it has to be loaded for itself: with a setting that a library may read meanwhile, or with a descriptor
    /// that it inherits.
    static pid_t startLoaded(const StartRequest &request, const Environment &more) {
        if (request.arguments.front() != trainerBinary())
            return -1;
        for (const auto &[name, value] : more)
            if ((!name.starts_with("LOCKSTEP_") && !isLaunchers(name)) || name.ends_with("_FD"))
                return -1;
        static LoadedTrainer trainer(trainerBinary());
        return trainer.start(request);
    }
    static bool isLaunchers(const std::string &name) {
        return name == "RANK" || name == "LOCAL_RANK" || name == "WORLD_SIZE" || name == "LOCAL_WORLD_SIZE" ||
               name == "LOCKSTEP_FRAMES" || name.starts_with("MASTER_") || name.starts_with("SLURM_") ||
               name.starts_with("OMPI_") || name.starts_with("TORCHELASTIC_");
    }

    TempFolder m_folder;
    std::string m_out, m_err;
    pid_t m_pid = -1;
};

/// Adds "--flag=value" where that flag isn't given.
inline void addByDefault(std::vector<std::string> &arguments, const std::string &more) {
    const std::string flag = more.substr(0, more.find('='));
    if (std::none_of(arguments.begin(), arguments.end(),
                     [&](const std::string &a) { return a.substr(0, a.find('=')) == flag; }))
        arguments.push_back(more);
}

/// "--data-dir=" of 19,200 images to train on and 301 to test on. Made at the first call, and gone when the program ends.
const std::string &smallDataOption();

/// Small, quick, on shared cores if there are too few. The whole data set: `--data-dir=`.
inline std::vector<std::string> withSmallRun(std::vector<std::string> arguments) {
    for (const std::string &more : {std::string("--train-samples=640"), std::string("--epochs=1"),
                                    std::string("--oversubscribe"), smallDataOption()})
        addByDefault(arguments, more);
    return arguments;
}

/// The ranks of one run of DDP (or of the method that the arguments name), with rendezvous in a file.
class DdpRun {
public:
    DdpRun(int ranks, const std::vector<std::string> &arguments, const Environment &more = {}) {
        for (int rank = 0; rank < ranks; ++rank) {
            auto own = withSmallRun(arguments);
            own.push_back("--init-method=file://" + (m_folder / "store"));
            addByDefault(own, "--method=ddp");
            const std::string r = std::to_string(rank), n = std::to_string(ranks);
            Environment environment{{"RANK", r}, {"LOCAL_RANK", r}, {"WORLD_SIZE", n}, {"LOCAL_WORLD_SIZE", n}};
            environment.insert(more.begin(), more.end());
            m_ranks.push_back(std::make_unique<Process>(trainerBinary(), own, environment));
        }
    }
    [[nodiscard]] Process &rank(std::size_t r) { return *m_ranks.at(r); }
    std::vector<Ended> wait() {
        std::vector<Ended> all;
        for (auto &rank : m_ranks)
            all.push_back(rank->wait());
        return all;
    }

private:
    TempFolder m_folder;
    std::vector<std::unique_ptr<Process>> m_ranks;
};

inline std::vector<Frame> readFrames(const std::string &path) {
    std::vector<Frame> frames;
    Decoder decoder;
    std::istringstream text(readFile(path));
    for (std::string line; std::getline(text, line);)
        if (auto frame = decoder.decode(line))
            frames.push_back(std::move(*frame));
    return frames;
}

template <class Body> std::vector<Body> bodiesOf(const std::vector<Frame> &frames, std::optional<int> rank = {}) {
    std::vector<Body> bodies;
    for (const Frame &frame : frames)
        if (const auto *body = std::get_if<Body>(&frame.body); body && (!rank || frame.rank == rank))
            bodies.push_back(*body);
    return bodies;
}

inline Summary readSummary(const std::string &path) {
    return summaryFromJson(readFile(path)).value_or(Summary());
}

/// Waits until the file has this text.
inline bool appears(const std::string &path, const std::string &text,
                    std::chrono::seconds limit = std::chrono::seconds(60)) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < deadline) {
        if (readFile(path).find(text) != std::string::npos)
            return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

} // namespace lockstep::trainer::test
