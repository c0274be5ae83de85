// SPDX-License-Identifier: MIT
#include "base/whole_file.h"

#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

#include <QSaveFile>

namespace lockstep::core {

std::string writeWhole(const std::string &path, std::string_view bytes) {
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
