// SPDX-License-Identifier: MIT
#include "base/whole_file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <QSaveFile>

#include "ipc/run_folder.h"

namespace lockstep::core {

bool isAmongRuns(const std::string &path) {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::path whole = fs::weakly_canonical(fs::absolute(path, error), error);
    for (const std::string &folder : {runsFolder(), experimentsFolder()}) {
        const fs::path root = fs::weakly_canonical(folder, error);
        if (!root.empty() && std::mismatch(root.begin(), root.end(), whole.begin(), whole.end()).first == root.end())
            return true;
    }
    return false;
}

std::string writeWhole(const std::string &path, std::string_view bytes) {
    if (isAmongRuns(path))
        return whyNotAmongRuns;
    struct stat there {};
    if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode))
        return "it is a pipe, a socket or a device, which a file would take the place of";
    QSaveFile file(QString::fromStdString(path));
    errno = 0;
    // Small files are still in QSaveFile's buffer, and commit() says that all went well even if writing the buffer fails.
    if (file.open(QIODevice::WriteOnly) && file.write(bytes.data(), qint64(bytes.size())) == qint64(bytes.size()) &&
        file.flush() && ::fsync(file.handle()) == 0 && file.commit())
        return {};
    const int why = errno;
    const bool known = file.error() != QFileDevice::NoError && file.errorString() != QStringLiteral("Unknown error");
    return (known || why == 0 ? file.errorString() : qt_error_string(why)).toStdString();
}

} // namespace lockstep::core
