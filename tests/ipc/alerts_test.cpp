// SPDX-License-Identifier: MIT
#include <QDirIterator>
#include <QFile>
#include <QRegularExpression>
#include <set>

#include "ipc/alerts.h"
#include "tests/qt_test.h"

using namespace lockstep;

namespace {

QString textOf(const QString &path) {
    QFile file(QStringLiteral(LOCKSTEP_SOURCE_DIR "/") + path);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

} // namespace

class AlertsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyKindStandsOnceAndSaysWhatToDo() {
        std::set<std::string_view> kinds;
        for (const AlertKind &row : alertTable) {
            QVERIFY2(kinds.insert(row.kind).second, row.kind.data());
            QVERIFY(row.severity == "warning" || row.severity == "error");
            for (const QString &from : QString::fromLatin1(row.from.data()).split(QStringLiteral(", ")))
                QVERIFY2(QStringLiteral("rank script agent viewer").split(u' ').contains(from), row.kind.data());
            QVERIFY2(!row.when.empty() && row.advice.ends_with('.'), row.kind.data());
        }
    }

    void anAlertHasTheSeverityOfItsKind() {
        const AlertFrame alert = makeAlert("rank_died", "rank 1 was killed", 7);
        QCOMPARE(alert.severity, std::string("error"));
        QCOMPARE(alert.kind, std::string("rank_died"));
        QVERIFY(alert.step == 7);
        QVERIFY(!adviceFor("rank_died").empty());
        QVERIFY(adviceFor("a_script_s_own").empty());
    }

    void theUsersPageShowsThisTable() {
        QString rows;
        for (const AlertKind &row : alertTable)
            rows += QStringLiteral("| `%1` | %2 | %3 | %4 | %5 |\n")
                        .arg(row.kind.data(), row.severity.data(), row.from.data(), row.when.data(), row.advice.data());
        const QString page = textOf(QStringLiteral("docs/alerts.md"));
        const qsizetype begin = page.indexOf(QStringLiteral("\n| `")) + 1;
        const QString shown = page.mid(begin, page.lastIndexOf(QStringLiteral("|\n")) + 2 - begin);
        if (shown != rows)
            qInfo("docs/alerts.md should have these rows:\n%s", qUtf8Printable(rows));
        QVERIFY(shown == rows);
    }

    void whatPythonSendsIsInTheTable() {
        const QRegularExpression sent(QStringLiteral(R"re("severity": "(\w+)", "kind": "(\w+)")re"));
        int found = 0;
        QDirIterator files(QStringLiteral(LOCKSTEP_SOURCE_DIR "/resources/python/lockstep"), {QStringLiteral("*.py")},
                           QDir::Files);
        while (files.hasNext())
            for (auto each = sent.globalMatch(
                     textOf(QStringLiteral("resources/python/lockstep/") + QFileInfo(files.next()).fileName()));
                 each.hasNext(); ++found) {
                const QRegularExpressionMatch match = each.next();
                const AlertKind *row = findAlert(match.captured(2).toStdString());
                QVERIFY2(row, qPrintable(match.captured(2)));
                QCOMPARE(match.captured(1).toStdString(), std::string(row->severity));
            }
        QVERIFY(found >= 4);
    }
};

QTEST_GUILESS_MAIN(AlertsTest)
#include "alerts_test.moc"
