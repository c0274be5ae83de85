// SPDX-License-Identifier: MIT
#include "app/ui/widgets/first_rows.h"

#include <QObject>
#include <QStringList>

#include <algorithm>

#include "ipc/printable.h"
#include "ipc/thousands.h"

namespace lockstep::ui {

QString firstRowsText(qsizetype shown, qsizetype all) {
    return shown == all ? QString()
                        : QObject::tr("The first %1 of %2 are shown")
                              .arg(QString::fromStdString(thousands(shown)), QString::fromStdString(thousands(all)));
}

QString sentenceLines(const std::vector<std::string> &sentences) {
    constexpr std::size_t mostLines = 100, mostBytes = 32 * 1024, longestLine = 4 * 1024;
    QStringList lines;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < std::min(sentences.size(), mostLines); ++i) {
        const std::string line = cutInside(sentences[i], longestLine);
        bytes += line.size();
        if (bytes > mostBytes)
            break;
        lines.append(QStringLiteral("• ") + QString::fromStdString(line));
    }
    if (const QString first = firstRowsText(lines.size(), qsizetype(sentences.size())); !first.isEmpty())
        lines.append(first);
    return lines.join(QLatin1Char('\n'));
}

} // namespace lockstep::ui
