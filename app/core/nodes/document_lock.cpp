// SPDX-License-Identifier: MIT
#include "nodes/document_lock.h"

namespace lockstep::core {

Result<FileLock> lockOfDocument(const std::string &path, Patience patience) {
    return FileLock::acquire(path + ".lock", patience);
}

} // namespace lockstep::core
