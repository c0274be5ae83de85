// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include <QString>

namespace lockstep::core {

/// A piece of a filter line; places count QString's characters from 0.
struct FilterToken {
    enum class Kind { Word, Operator, Open, Close };
    Kind kind = Kind::Word;
    qsizetype from = 0, length = 0; ///< with its quotes
    QString text;                   ///< without them
    bool quoted = false;
    bool closed = true; ///< false: the second quote is missing

    [[nodiscard]] qsizetype end() const { return from + length; }
    /// "and", "or", "not", unquoted
    [[nodiscard]] bool is(const char *word) const {
        return kind == Kind::Word && !quoted && text.compare(QLatin1String(word), Qt::CaseInsensitive) == 0;
    }
};

/// Never fails: the parser reports mistakes. Operators: = != ~ !~ < <= > >=
[[nodiscard]] std::vector<FilterToken> filterTokens(const QString &line);

} // namespace lockstep::core
