// SPDX-License-Identifier: MIT
#include "nodes/document_lock.h"

#include <thread>

namespace lockstep::core {

Result<FileLock> lockOfDocument(const std::string &path, Patience patience) {
    constexpr Patience pause{10};
    auto lock = FileLock::acquire(path + ".lock");
    for (Patience waited{0}; !lock && waited < patience; waited += pause) {
        std::this_thread::sleep_for(pause);
        lock = FileLock::acquire(path + ".lock");
    }
    return lock;
}

} // namespace lockstep::core
