// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <QTemporaryDir>

namespace lockstep::test {

/// A fresh folder, in memory where there is such a place: hundreds of fdatasyncs are the test, not the disk's speed.
inline std::unique_ptr<QTemporaryDir> makeFolder() {
    auto folder = std::make_unique<QTemporaryDir>("/dev/shm/lockstep-XXXXXX");
    return folder->isValid() ? std::move(folder) : std::make_unique<QTemporaryDir>();
}

} // namespace lockstep::test
