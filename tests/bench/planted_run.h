// SPDX-License-Identifier: MIT
#pragma once
// Run folders with made-up figures, as an agent leaves them, for benchmarks of what reads them.
#include <QFile>
#include <QString>

#include "ipc/file_system.h"
#include "ipc/run_folder.h"

namespace lockstep::bench {

/// By rename, without waiting for the disk.
inline bool putFile(const std::string &path, const std::string &text) {
    QFile file(QString::fromStdString(path + ".tmp"));
    return file.open(QIODevice::WriteOnly) && file.write(text.data(), qint64(text.size())) == qint64(text.size()) &&
           file.rename(QString::fromStdString(path));
}

/// A finished run: config, result with its summary, the lock that nobody holds. The log is left out.
inline bool plantRun(const RunRecord &record, const RunResult &result) {
    const RunFolder folder = runFolder(record.run);
    return realFileSystem().makeFolders(folder.path).has_value() && putFile(folder.config(), toJson(record)) &&
           putFile(folder.lock(0), "") && putFile(folder.result(), toJson(result));
}

} // namespace lockstep::bench
