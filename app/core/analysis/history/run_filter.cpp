// SPDX-License-Identifier: MIT
#include "analysis/history/run_filter.h"

#include <algorithm>
#include <functional>
#include <vector>

#include <QDateTime>
#include <QRegularExpression>
#include <QStringList>

#include "analysis/history/run_columns.h"
#include "analysis/history/run_filter_tokens.h"
#include "analysis/history/run_filter_values.h"
#include "base/format.h"
#include "base/json_lines.h"
#include "ipc/run_title.h"

namespace lockstep::core {

struct RunFilter::Node {
    enum class Kind { All, Any, Not, Test };
    Kind kind = Kind::All;
    std::vector<Node> parts;
    std::function<bool(const IndexedRun &)> test;

    [[nodiscard]] bool accepts(const IndexedRun &run) const {
        const auto part = [&](const Node &node) { return node.accepts(run); };
        switch (kind) {
        case Kind::All:
            return std::all_of(parts.begin(), parts.end(), part);
        case Kind::Any:
            return std::any_of(parts.begin(), parts.end(), part);
        case Kind::Not:
            return !part(parts.front());
        case Kind::Test:
            return test(run);
        }
        return false;
    }
};

namespace {

using Node = RunFilter::Node;
using Test = std::function<bool(const IndexedRun &)>;
using ValueTest = std::function<bool(const ColumnValue &)>;
constexpr int deepest = 50;

[[noreturn]] void mistake(qsizetype at, qsizetype length, std::string what, std::string wayOut = {}) {
    throw FilterMistake{at, length, Error::badArgument(std::move(what), std::move(wayOut))};
}
[[noreturn]] void mistake(const FilterToken &token, std::string what, std::string wayOut = {}) {
    mistake(token.from, token.length, std::move(what), std::move(wayOut));
}

std::string quoted(const QString &text) {
    return "\"" + text.left(60).toStdString() + "\"";
}

bool contains(const std::string &text, const QString &part) {
    return QString::fromStdString(text).contains(part, Qt::CaseInsensitive);
}

/// A filter may be as old as a script: it asks for runs by the names that they had then.
QString presentName(const QString &text) {
    return QString::fromStdString(presentTitle(text.toStdString()));
}

Test wordTest(const QString &written) {
    const QString word = presentName(written);
    return [word](const IndexedRun &run) {
        return contains(run.name, word) || contains(run.givenName, word) || contains(run.recipe, word) ||
               contains(run.tags, word) || contains(run.note, word) || contains(run.run, word);
    };
}

// --- one comparison -------------------------------------------------------------------------------------------------

bool isUnknown(const ColumnValue &value) {
    return std::holds_alternative<std::monostate>(value);
}

std::string comparableText(const RunColumn &column) {
    return column.choices.empty() ? "any text" : [&] {
        std::string all;
        for (const std::string &choice : column.choices)
            all += (all.empty() ? "" : ", ") + choice;
        return all;
    }();
}

/// One alternative of a text: whatever the case, * for anything.
ValueTest textIs(const RunColumn &column, const QString &wanted, const FilterToken &token) {
    if (wanted == u"-")
        return isUnknown;
    const bool pattern = wanted.contains(u'*');
    if (!column.choices.empty() && !column.open && !pattern &&
        std::none_of(column.choices.begin(), column.choices.end(), [&](const std::string &choice) {
            return wanted.compare(QString::fromStdString(choice), Qt::CaseInsensitive) == 0;
        }))
        mistake(token, column.key + " is never " + quoted(wanted), "use " + comparableText(column));
    QStringList pieces;
    for (const QString &piece : wanted.split(u'*'))
        pieces.append(QRegularExpression::escape(piece));
    const QRegularExpression shape(QRegularExpression::anchoredPattern(pieces.join(QStringLiteral(".*"))),
                                   QRegularExpression::CaseInsensitiveOption);
    const bool words = column.kind == ColumnKind::Words;
    return [wanted, pattern, shape, words](const ColumnValue &value) {
        const auto *text = std::get_if<std::string>(&value);
        if (!text)
            return false;
        const QString whole = QString::fromStdString(*text);
        const QStringList parts = words ? whole.split(QStringLiteral(", ")) : QStringList(whole);
        return std::any_of(parts.begin(), parts.end(), [&](const QString &part) {
            return pattern ? shape.match(part).hasMatch() : part.compare(wanted, Qt::CaseInsensitive) == 0;
        });
    };
}

FilterQuantity quantity(const RunColumn &column, const QString &text, const FilterToken &token) {
    const auto found = filterQuantity(column.kind, text, QDateTime::currentMSecsSinceEpoch() * 1000);
    if (!found)
        mistake(token, quoted(text) + " can't be compared with " + column.key, "give " + quantityExamples(column.kind));
    if (column.kind == ColumnKind::Share && (found->exact > 1 || found->exact < 0))
        mistake(token, column.key + " is a share from 0 to 1, not " + text.toStdString(),
                found->exact <= 100 && found->exact > 0 && !text.endsWith(u'%') ? "write " + text.toStdString() + "%"
                                                                                : "write 0.88 or 88%");
    if (column.kind == ColumnKind::Bytes && found->exact != 0 && !text.back().isLetter()) // it is shown in MiB
        mistake(token, column.key + " needs a unit, and " + text.toStdString() + " has none",
                "write " + text.toStdString() + "MiB, or " + text.toStdString() + "B for bytes");
    return *found;
}

bool within(double value, double low, double high, bool time) {
    return value >= low && (time ? value < high : value <= high);
}

/// One alternative of a number: 2, 2..4, - .
ValueTest numberIs(const RunColumn &column, const QString &wanted, const FilterToken &token) {
    if (wanted == u"-")
        return isUnknown;
    double low = 0, high = 0;
    bool time = false;
    if (const qsizetype dots = wanted.indexOf(QStringLiteral("..")); dots >= 0) {
        const FilterQuantity from = quantity(column, wanted.left(dots), token);
        const FilterQuantity to = quantity(column, wanted.mid(dots + 2), token);
        low = from.time ? from.low : from.exact;
        high = to.time ? to.high : to.exact;
        time = from.time;
    } else {
        const FilterQuantity one = quantity(column, wanted, token);
        const bool span = column.measured || one.time; // what was set or counted is meant exactly
        low = span ? one.low : one.exact;
        high = span ? one.high : one.exact;
        time = one.time;
    }
    return [low, high, time](const ColumnValue &value) {
        const auto *number = std::get_if<double>(&value);
        return number && within(*number, low, high, time);
    };
}

/// A figure, or a range of two, whose digits stand in groups, as lists show them: its comma may also part two values.
void refuseGroups(const FilterToken &value) {
    const auto isInGroups = [](const QString &end) {
        const QString plain = withoutGroups(end);
        return plain != end && inGroups(plain) == end;
    };
    QStringList ends = value.text.split(QStringLiteral(".."));
    if (ends.size() > 2 || std::ranges::none_of(ends, isInGroups))
        return;
    std::ranges::transform(ends, ends.begin(), withoutGroups);
    mistake(value, quoted(value.text) + " may be one number or several",
            "write " + ends.join(QStringLiteral("..")).toStdString() + ", or a comparison for each of several");
}

ValueTest anyOf(const RunColumn &column, const FilterToken &value) {
    if (column.measured && !value.quoted)
        refuseGroups(value);
    std::vector<ValueTest> tests;
    const QStringList alternatives = value.quoted ? QStringList(value.text) : value.text.split(u',');
    for (const QString &one : alternatives) {
        if (one.isEmpty())
            mistake(value, "a value is missing beside a comma in " + quoted(value.text), "write it as a,b");
        tests.push_back(isNumeric(column.kind) ? numberIs(column, one, value)
                                               : textIs(column, presentName(one), value));
    }
    return [tests](const ColumnValue &found) {
        return std::any_of(tests.begin(), tests.end(), [&](const ValueTest &test) { return test(found); });
    };
}

ValueTest ordered(const RunColumn &column, const QString &sign, const FilterToken &token, const FilterToken &value) {
    if (!isNumeric(column.kind) || column.kind == ColumnKind::Flag)
        mistake(token, column.key + " has no order, so " + quoted(sign) + " says nothing of it",
                column.kind == ColumnKind::Flag ? "use =" : "use =, !=, ~ or !~");
    const FilterQuantity to = quantity(column, value.text, value);
    const bool above = sign.startsWith(u'>'), with = sign.endsWith(u'=');
    // A day is a span: later than it begins at its end, and up to it includes all of it.
    const double edge = !to.time ? to.exact : above != with ? to.high : to.low;
    const bool includes = to.time ? above : with;
    return [edge, above, includes](const ColumnValue &found) {
        const auto *number = std::get_if<double>(&found);
        return number && ((above ? *number > edge : *number < edge) || (includes && *number == edge));
    };
}

ValueTest comparison(const RunColumn &column, const FilterToken &op, const FilterToken &value) {
    const QString sign = op.text == u"==" ? QStringLiteral("=") : op.text;
    if (sign == u"=" || sign == u"!=")
        return anyOf(column, value);
    if (sign != u"~" && sign != u"!~")
        return ordered(column, sign, op, value);
    if (isNumeric(column.kind))
        mistake(op, column.key + " is a number, in which " + quoted(sign) + " can't search",
                "use =, !=, <, <=, > or >=");
    return [part = presentName(value.text)](const ColumnValue &found) {
        const auto *text = std::get_if<std::string>(&found);
        return text && contains(*text, part);
    };
}

// --- the expression -------------------------------------------------------------------------------------------------

class Parser {
public:
    Parser(const QString &line, std::span<const RunColumn> invented)
        : m_tokens(filterTokens(line)), m_end(line.size()), m_invented(invented) {}

    Node parse() {
        Node node = any(0);
        if (m_at < m_tokens.size())
            mistake(m_tokens[m_at], "a bracket is closed that was never opened", "remove it");
        return node;
    }
    [[nodiscard]] bool nothing() const { return m_tokens.empty(); }

private:
    using Kind = FilterToken::Kind;

    [[nodiscard]] const FilterToken *token() const { return m_at < m_tokens.size() ? &m_tokens[m_at] : nullptr; }

    Node any(int depth) {
        Node node{Node::Kind::Any, {all(depth)}, {}};
        while (token() && token()->is("or")) {
            ++m_at;
            node.parts.push_back(all(depth));
        }
        return node.parts.size() == 1 ? std::move(node.parts.front()) : node;
    }

    Node all(int depth) {
        Node node{Node::Kind::All, {one(depth)}, {}};
        while (token() && token()->kind != Kind::Close && !token()->is("or")) {
            if (token()->is("and"))
                ++m_at;
            node.parts.push_back(one(depth));
        }
        return node.parts.size() == 1 ? std::move(node.parts.front()) : node;
    }

    Node one(int depth) {
        const FilterToken *at = token();
        if (!at || at->kind == Kind::Close || at->is("or") || at->is("and"))
            missing(at);
        if (depth > deepest)
            mistake(*at, "the filter is nested more than " + std::to_string(deepest) + " deep", "simplify it");
        if (at->is("not")) {
            ++m_at;
            return Node{Node::Kind::Not, {one(depth + 1)}, {}};
        }
        if (at->kind == Kind::Open) {
            ++m_at;
            Node node = any(depth + 1);
            if (!token())
                mistake(*at, "a bracket is opened and never closed", "close it with )");
            ++m_at;
            return node;
        }
        if (at->kind == Kind::Operator)
            mistake(*at, "a column's name is missing before " + quoted(at->text),
                    "write it as devices" + at->text.toStdString() + "2");
        return term();
    }

    [[noreturn]] void missing(const FilterToken *at) const {
        const std::string after = m_at > 0 ? " after " + quoted(m_tokens[m_at - 1].text) : std::string();
        mistake(at ? at->from : m_end, at ? at->length : 0, "something is missing" + after,
                "write a word, or a comparison like devices>=2");
    }

    Node term() {
        const FilterToken word = m_tokens[m_at++];
        if (!word.closed)
            mistake(word, "a quote is opened and never closed", "close it with \"");
        const FilterToken *op = token();
        if (!op || op->kind != Kind::Operator)
            return Node{Node::Kind::Test, {}, wordTest(word.text)};
        const RunColumn *column = findRunColumn(word.text.toStdString(), m_invented);
        if (!column) {
            const Error error = unknownColumn(word.text.toStdString(), m_invented);
            mistake(word, error.what, error.wayOut);
        }
        const FilterToken sign = *op;
        ++m_at;
        const FilterToken *value = token();
        if (!value || value->kind != Kind::Word)
            mistake(value ? value->from : m_end, value ? value->length : 0,
                    "a value is missing after " + quoted(word.text + sign.text),
                    "give " + (isNumeric(column->kind) ? quantityExamples(column->kind) : comparableText(*column)));
        if (!value->closed)
            mistake(*value, "a quote is opened and never closed", "close it with \"");
        ++m_at;
        return compare(*column, sign, *value);
    }

    static Node compare(const RunColumn &column, const FilterToken &sign, const FilterToken &value) {
        const ValueTest test = comparison(column, sign, value);
        const bool not_ = sign.text.startsWith(u'!');
        return Node{
            Node::Kind::Test, {}, [found = column.value, other = column.otherValue, test, not_](const IndexedRun &run) {
                return (test(found(run)) || (other && test(other(run)))) != not_;
            }};
    }

    std::vector<FilterToken> m_tokens;
    std::size_t m_at = 0;
    qsizetype m_end;
    std::span<const RunColumn> m_invented;
};

} // namespace

std::string FilterMistake::message() const {
    return "at " + std::to_string(at + 1) + ": " + error.message();
}

tl::expected<RunFilter, FilterMistake> RunFilter::parse(const QString &line, std::span<const RunColumn> invented) {
    RunFilter filter;
    Parser parser(line, invented);
    if (parser.nothing())
        return filter;
    try {
        filter.m_root = std::make_shared<const Node>(parser.parse());
    } catch (const FilterMistake &mistake) {
        return tl::unexpected(mistake);
    }
    return filter;
}

bool RunFilter::accepts(const IndexedRun &run) const {
    return !m_root || m_root->accepts(run);
}

} // namespace lockstep::core
