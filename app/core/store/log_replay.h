// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <string_view>

#include <QByteArray>
#include <QFile>

namespace lockstep::core {

/// Reads a log file's whole lines in slices, going on where it stopped: the file may still grow.
class LogReplay {
public:
    void open(const QString &path);
    [[nodiscard]] bool isOpen() const { return m_file.isOpen(); }
    /// Reads about 1 MiB. Returns false when there is no more whole line for now.
    bool slice(const std::function<void(std::string_view)> &onLine);

private:
    QFile m_file;
    QByteArray m_partial;
};

} // namespace lockstep::core
