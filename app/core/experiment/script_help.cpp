// SPDX-License-Identifier: MIT
#include "experiment/script_help.h"

#include <algorithm>

#include <QRegularExpression>
#include <QString>

namespace lockstep::core {

std::vector<ScriptFlag> flagsFromHelp(std::string_view help) {
    // "  -b N, --batch-size N  per process", "  --amp                 use autocast", "  --mode {a,b}"
    static const QRegularExpression flag(
        QStringLiteral(R"(^ {1,8}(?:-\w(?: [^\s,]+)?, )?--([A-Za-z][\w.-]*)(?:[ =](\{[^}]*\}|\[?[A-Z][\w.-]*\]?))?)"));
    std::vector<ScriptFlag> out;
    const QString text = QString::fromUtf8(help.data(), qsizetype(help.size()));
    for (const QString &line : text.split(u'\n')) {
        const QRegularExpressionMatch match = flag.match(line);
        if (!match.hasMatch() || match.captured(1) == QLatin1String("help"))
            continue;
        ScriptFlag one{match.captured(1).toStdString(), match.hasCaptured(2), {}};
        if (const QString value = match.captured(2); value.startsWith(u'{'))
            for (const QString &choice : value.mid(1, value.size() - 2).split(u','))
                one.choices.push_back(choice.trimmed().toStdString());
        if (std::ranges::find(out, one.name, &ScriptFlag::name) == out.end())
            out.push_back(std::move(one));
    }
    return out;
}

} // namespace lockstep::core
