// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include "tests/trainer/loaded_trainer/request.h"

namespace lockstep::trainer::test {

/// lockstep-trainer with its libraries loaded, once for all processes that a test starts: loading libtorch is half of what a short run
/// costs. Each process is a real one of the real program, in memory of its own; it has only not been loaded by exec().
class LoadedTrainer {
public:
    explicit LoadedTrainer(const std::string &program);
    ~LoadedTrainer();
    LoadedTrainer(const LoadedTrainer &) = delete;
    LoadedTrainer &operator=(const LoadedTrainer &) = delete;

    /// A child of this process; -1 if none could be started.
    [[nodiscard]] pid_t start(const StartRequest &request);

private:
    pid_t m_pid = -1;
    int m_socket = -1;
};

} // namespace lockstep::trainer::test
