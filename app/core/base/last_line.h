// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include <QByteArray>
#include <QString>

namespace lockstep::core {

/// The last line that is not blank of what a program has said, which is mostly why it ended; empty: it has said nothing.
[[nodiscard]] inline QString lastLine(const QByteArray &text) {
    return QString::fromUtf8(text).trimmed().section(u'\n', -1);
}
[[nodiscard]] inline std::string lastLine(const std::string &text) {
    return lastLine(QByteArray::fromStdString(text)).toStdString();
}

} // namespace lockstep::core
