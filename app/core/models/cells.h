// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

#include <QString>
#include <QVariant>

#include "base/format.h"

namespace lockstep::core {

inline QString qs(const std::string &text) {
    return QString::fromStdString(text);
}
inline QString qs(std::string_view text) {
    return QString::fromUtf8(text.data(), qsizetype(text.size()));
}

/// A cell's text, value and tooltip; unknown is "-" and an invalid value.
struct TableCell {
    QString text;
    QVariant value;
    bool number = false;
    QString hint = {};

    static TableCell ofText(const QString &text) { return {text.isEmpty() ? QStringLiteral("-") : text, text, false}; }
    static TableCell ofText(const std::string &text) { return ofText(qs(text)); }
    /// Text, which may be empty.
    static TableCell ofWords(const QString &text) { return {text, text, false}; }
    /// A time in Unix microseconds, shown as local clock time.
    static TableCell ofClock(std::int64_t wallUs) { return {clockTime(wallUs), qlonglong(wallUs), false}; }
    static TableCell ofNumber(std::optional<double> value, const QString &text) {
        return {text, value ? QVariant(*value) : QVariant(), true};
    }
    static TableCell ofNumber(std::optional<double> value) { return ofNumber(value, significant(value)); }
    static TableCell ofCount(std::optional<int> value) {
        return {value ? QString::number(*value) : QStringLiteral("-"), value ? QVariant(*value) : QVariant(), true};
    }
};

} // namespace lockstep::core
