// SPDX-License-Identifier: MIT
#include "app/ui/charts/name_lines.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <utility>

#include "ipc/run_title.h"

namespace lockstep::ui {
namespace {

/// The number of characters on the name's first line, without the space at the break; 0: the name is one long word.
qsizetype breakOf(const QString &name, const QFontMetricsF &metrics, double width) {
    qsizetype fits = 0, comma = 0, space = 0;
    while (fits < name.size() && metrics.horizontalAdvance(name.left(fits + 1)) <= width) {
        ++fits;
        if (fits < name.size() && name[fits] == u' ')
            (name[fits - 1] == u',' ? comma : space) = fits;
    }
    constexpr char16_t firstHan = 0x2e80; // from there on lines break anywhere
    const bool anywhere = fits > 0 && fits < name.size() && name[fits].unicode() >= firstHan;
    return comma > 0 ? comma : space > 0 ? space : anywhere ? fits : 0;
}

} // namespace

QString paintedName(const QString &name) {
    return QString::fromStdString(shortTitle(name.toStdString()));
}

QStringList nameLines(const QString &name, const QFontMetricsF &metrics, double width) {
    if (metrics.horizontalAdvance(name) <= width)
        return {name};
    const qsizetype at = breakOf(name, metrics, width);
    if (at == 0)
        return {metrics.elidedText(name, Qt::ElideRight, width)};
    return {metrics.elidedText(name.left(at), Qt::ElideRight, width),
            metrics.elidedText(name.mid(at).trimmed(), Qt::ElideRight, width)};
}

QStringList sentenceLines(const QString &text, const QFontMetricsF &metrics, double width, int most) {
    QStringList lines;
    QString line;
    const QStringList words = text.split(u' ');
    for (qsizetype i = 0; i < words.size(); ++i) {
        const QString longer = line.isEmpty() ? words[i] : line + u' ' + words[i];
        if (line.isEmpty() || metrics.horizontalAdvance(longer) <= width) {
            line = longer;
            continue;
        }
        if (lines.size() + 1 == most) { // the last one takes the rest, cut short
            line = (QStringList(line) + words.mid(i)).join(u' ');
            break;
        }
        lines.append(line);
        line = words[i];
    }
    lines.append(line);
    for (QString &one : lines)
        one = metrics.elidedText(one, Qt::ElideRight, width);
    return lines;
}

void paintName(QPainter *painter, const QRectF &box, const QString &name) {
    const QFontMetricsF metrics(painter->font());
    constexpr int flags = int(Qt::AlignVCenter | Qt::AlignLeft) | Qt::TextDontClip | Qt::TextSingleLine;
    QStringList lines = nameLines(name, metrics, box.width());
    if (box.height() < double(lines.size()) * nameLine)
        lines = {metrics.elidedText(name, Qt::ElideRight, box.width())};
    double y = box.center().y() - double(lines.size()) * nameLine / 2;
    for (const QString &line : std::as_const(lines)) {
        painter->drawText(QRectF(box.left(), y, box.width() + 1, nameLine), flags, line);
        y += nameLine;
    }
}

} // namespace lockstep::ui
