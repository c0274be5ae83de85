// SPDX-License-Identifier: MIT
#include "app/ui/widgets/name_lines.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QRegularExpression>
#include <QSet>
#include <QTextBoundaryFinder>

#include <algorithm>
#include <utility>

#include "ipc/run_title.h"

namespace lockstep::ui {
namespace {

/// Where a line ends at most in a name without spaces, as a file's: after "_" or "/", or a "." before a letter; 0: nowhere.
qsizetype partBreakOf(const QString &name, const QFontMetricsF &metrics, double width) {
    qsizetype out = 0;
    for (qsizetype at = 1; at < name.size() && metrics.horizontalAdvance(name.left(at)) <= width; ++at)
        if (const QChar end = name[at - 1]; end == u'_' || end == u'/' || (end == u'.' && name[at].isLetter()))
            out = at;
    return out;
}

/// Where the name's first line ends: after a comma if possible; 0: nowhere.
qsizetype breakOf(const QString &name, const QFontMetricsF &metrics, double width) {
    QTextBoundaryFinder finder(QTextBoundaryFinder::Line, name);
    qsizetype comma = 0, any = 0;
    for (qsizetype at = finder.toNextBoundary(); at > 0 && at < name.size(); at = finder.toNextBoundary()) {
        const QString line = name.left(at).trimmed();
        if (metrics.horizontalAdvance(line) > width)
            break;
        (line.endsWith(u',') || line.endsWith(u'，') ? comma : any) = at;
    }
    return comma > 0 ? comma : any > 0 ? any : partBreakOf(name, metrics, width);
}

/// " #2" of "DDP on 2 devices #2"
QString repeatOf(const QString &name) {
    static const QRegularExpression repeat(QStringLiteral(" #\\d+$"));
    return repeat.match(name).captured();
}

/// How many letters of a name are whole words, with their spaces, that another run's begins with, too. Repeats are one run.
qsizetype sharedWords(const QString &name, const QString &other) {
    const QString run = name.chopped(repeatOf(name).size()), beside = other.chopped(repeatOf(other).size());
    const auto alike = std::ranges::mismatch(run, beside).in1 - run.begin();
    return alike < run.size() && run != beside ? run.left(alike).lastIndexOf(u' ') + 1 : 0;
}

} // namespace

QString paintedName(const QString &name) {
    return QString::fromStdString(shortTitle(name.toStdString()));
}

QString elidedName(const QString &name, const QFontMetricsF &metrics, double width) {
    if (metrics.horizontalAdvance(name) <= width)
        return name;
    const QString painted = paintedName(name);
    if (metrics.horizontalAdvance(painted) <= width)
        return painted;
    const QString repeat = repeatOf(painted);
    // Of "… 64, lr 0.1" the beginning, which others share, is left out already: what tells it apart comes first.
    const Qt::TextElideMode mode = painted.startsWith(u'…') ? Qt::ElideRight : Qt::ElideMiddle;
    return metrics.elidedText(painted.chopped(repeat.size()), mode, width - metrics.horizontalAdvance(repeat)) + repeat;
}

QStringList toldApart(const QStringList &names, const QFontMetricsF &metrics, double width) {
    QStringList out = names;
    for (QString &name : out) {
        if (metrics.horizontalAdvance(name) <= width)
            continue;
        qsizetype words = 0;
        for (const QString &other : names)
            words = std::max(words, sharedWords(name, other));
        name = words > 0 ? u'…' + name.mid(words) : name;
    }
    return QSet<QString>(out.begin(), out.end()).size() == QSet<QString>(names.begin(), names.end()).size() ? out
                                                                                                            : names;
}

QStringList nameLines(const QString &name, const QFontMetricsF &metrics, double width) {
    if (metrics.horizontalAdvance(name) <= width)
        return {name};
    const qsizetype at = breakOf(name, metrics, width);
    if (at == 0)
        return {elidedName(name, metrics, width)};
    return {name.left(at).trimmed(), elidedName(name.mid(at), metrics, width)};
}

bool isCutShort(const QString &name, const QFontMetricsF &metrics, double width) {
    return nameLines(name, metrics, width).join(QString()).remove(u' ') != QString(name).remove(u' ');
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
        lines = {elidedName(name, metrics, box.width())};
    double y = box.center().y() - double(lines.size()) * nameLine / 2;
    for (const QString &line : std::as_const(lines)) {
        painter->drawText(QRectF(box.left(), y, box.width() + 1, nameLine), flags, line);
        y += nameLine;
    }
}

} // namespace lockstep::ui
