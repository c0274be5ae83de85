// SPDX-License-Identifier: MIT
#include "analysis/history/run_filter_tokens.h"

namespace lockstep::core {
namespace {

bool beginsOperator(const QString &line, qsizetype at) {
    const QChar c = line[at];
    if (c == u'!')
        return at + 1 < line.size() && (line[at + 1] == u'=' || line[at + 1] == u'~');
    return c == u'=' || c == u'~' || c == u'<' || c == u'>';
}

FilterToken quotedWord(const QString &line, qsizetype at) {
    FilterToken token;
    token.from = at;
    token.quoted = true;
    const qsizetype end = line.indexOf(u'"', at + 1);
    token.closed = end >= 0;
    token.length = (token.closed ? end + 1 : line.size()) - at;
    token.text = line.mid(at + 1, token.length - (token.closed ? 2 : 1));
    return token;
}

FilterToken plain(const QString &line, qsizetype at, qsizetype length, FilterToken::Kind kind) {
    FilterToken token;
    token.kind = kind;
    token.from = at;
    token.length = length;
    token.text = line.mid(at, length);
    return token;
}

} // namespace

std::vector<FilterToken> filterTokens(const QString &line) {
    using Kind = FilterToken::Kind;
    std::vector<FilterToken> out;
    for (qsizetype at = 0; at < line.size();) {
        const QChar c = line[at];
        if (c.isSpace()) {
            ++at;
            continue;
        }
        if (c == u'"') {
            out.push_back(quotedWord(line, at));
        } else if (c == u'(' || c == u')') {
            out.push_back(plain(line, at, 1, c == u'(' ? Kind::Open : Kind::Close));
        } else if (beginsOperator(line, at)) {
            const bool two = at + 1 < line.size() && (line[at + 1] == u'=' || (c == u'!' && line[at + 1] == u'~'));
            out.push_back(plain(line, at, two ? 2 : 1, Kind::Operator));
        } else {
            qsizetype end = at;
            while (end < line.size() && !line[end].isSpace() && line[end] != u'"' && line[end] != u'(' &&
                   line[end] != u')' && !beginsOperator(line, end))
                ++end;
            out.push_back(plain(line, at, end - at, Kind::Word));
        }
        at = out.back().end();
    }
    return out;
}

} // namespace lockstep::core
