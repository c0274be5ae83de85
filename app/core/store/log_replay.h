// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <string_view>

#include <QByteArray>
#include <QFile>

namespace lockstep::core {

/// Reads a log file's whole lines in slices; each call continues where the last one stopped, since the file may still grow.
class LogReplay {
public:
    void open(const QString &path);
    [[nodiscard]] bool isOpen() const { return m_file.isOpen(); }
    /// Reads about so many bytes. False: there is no further whole line for now.
    bool slice(const std::function<void(std::string_view)> &onLine, std::size_t bytes = sliceBytes);

    static constexpr std::size_t sliceBytes = 1 << 20;

private:
    QFile m_file;
    QByteArray m_partial;
};

} // namespace lockstep::core
