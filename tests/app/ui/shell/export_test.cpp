// SPDX-License-Identifier: MIT
// What leaves the window: the page as HTML and PDF, tables and charts by the clipboard, event files beside the runs.
#include <QAction>
#include <QClipboard>
#include <QDesktopServices>
#include <QHeaderView>
#include <QImage>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMimeData>
#include <QProcess>
#include <QPushButton>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QSvgRenderer>
#include <QTableView>
#include <QTimer>
#include <QToolButton>

#include "analysis/compare/verdict.h"
#include "app/ui/charts/chart_menu.h"
#include "app/ui/charts/line_chart.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/pages/verdict/verdict_page.h"
#include "app/ui/shell/export_banner.h"
#include "app/ui/shell/export_job.h"
#include "app/ui/shell/export_menu.h"
#include "app/ui/shell/exporter.h"
#include "app/ui/shell/main_window.h"
#include "app/ui/shell/status_strip.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "export/report.h"
#include "tests/qt_test.h"
#include "window_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

QByteArray bytesOf(const QString &path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

const QMimeData &clipboard() {
    return *QGuiApplication::clipboard()->mimeData();
}

/// Instead of a file manager.
class OpenedUrls : public QObject {
    Q_OBJECT
public:
    QList<QUrl> all;
    Q_INVOKABLE void open(const QUrl &url) { all.append(url); }
};

} // namespace

class ExportTest : public QObject, uitest::WindowFixture {
    Q_OBJECT
    uitest::Home m_home;
    std::string m_id;
    QTemporaryDir m_folder;

    [[nodiscard]] const core::ResultTable &table() const { return m_workspace->results().table(); }

public:
    ExportTest() : WindowFixture(ThemeMode::Dark) {}

private:
    /// Why the results could not be written there; empty: they were.
    QString save(const QString &path) {
        std::optional<QString> why;
        QObject context;
        connect(m_window->exportMenu(), &ExportMenu::began, &context, [&](ExportJob *job) {
            connect(job, &ExportJob::finished, &context, [&] { why.emplace(); });
            connect(job, &ExportJob::failed, &context, [&](const Error &error) { why = error.message().c_str(); });
        });
        connect(m_window->exportMenu(), &ExportMenu::failed, &context, [&](const QString &words) { why = words; });
        m_window->exportMenu()->save(path);
        (void)QTest::qWaitFor([&] { return why.has_value(); }, test::hangLimitMs);
        return why.value_or(QStringLiteral("it never ended"));
    }
    QAction *action(const QString &words) {
        for (QAction *one : m_window->exportMenu()->actions())
            if (one->text().contains(words))
                return one;
        return nullptr;
    }

private Q_SLOTS:
    void initTestCase() {
        m_id = uitest::writeExperimentOnDisk({.epochs = 2, .repeats = 2});
        QVERIFY(!m_id.empty());
    }
    void init() {
        openWindow();
        QVERIFY(m_workspace->open(QString::fromStdString(m_id)));
        QTRY_VERIFY(m_workspace->complete() && m_workspace->settled());
        m_window->showPage(Page::Verdict);
        QGuiApplication::clipboard()->clear();
    }
    void cleanup() { closeWindow(); }

    void thePageHoldsVerdictTableAndEveryChart() {
        const QString path = m_folder.filePath(QStringLiteral("page.html"));
        QCOMPARE(save(path), QString());
        QProcess reader;
        reader.start(QStringLiteral("python3"), {QStringLiteral(LOCKSTEP_SOURCE "/tests/app/read_html.py"), path});
        QVERIFY(reader.waitForFinished(test::hangLimitMs));
        QVERIFY2(reader.exitCode() == 0, reader.readAllStandardError().constData());
        const QJsonObject page = QJsonDocument::fromJson(reader.readAllStandardOutput()).object();
        QCOMPARE(page["unbalanced"].toArray(), QJsonArray());
        QCOMPARE(page["loads"].toArray(), QJsonArray());
        // Speed-up, loss, durations, DP's step beside DDP's and a waterfall for each pair are drawn by the page itself.
        QCOMPARE(page["svg"].toInt(), int(m_window->charts().size()) - 6 + 6);
        QCOMPARE(page["paragraphs"].toObject()["verdict"].toArray()[0].toString(),
                 QString::fromStdString(core::verdictText(table()).sentence));
        QCOMPARE(page["tables"].toArray()[1].toArray().size(),
                 qsizetype(table().rows.size() + 1)); // the lines come first
        QVERIFY2(m_theme.mode() == ThemeMode::Dark, "the window keeps its colours");
        QVERIFY2(!bytesOf(path).contains("#1a1e25"), "a page in light colours holds no dark chart");
        QVERIFY2(!bytesOf(path).contains("#e8ebf0"), "nor marks in the ink of a dark window");
    }

    void thePdfHoldsVerdictTableAndChartsAsText() {
        const QString path = m_folder.filePath(QStringLiteral("page.pdf"));
        QCOMPARE(save(path), QString());
        const QByteArray pdf = bytesOf(path);
        QVERIFY(pdf.startsWith("%PDF-1."));
        QVERIFY(pdf.trimmed().endsWith("%%EOF"));
        const auto pages = QString::fromLatin1(pdf).count(QRegularExpression(QStringLiteral("/Type\\s*/Page\\b")));
        QVERIFY2(pages >= 2 && pages < 12, qPrintable(QString::number(pages)));
        const QString reader = QStandardPaths::findExecutable(QStringLiteral("pdftotext"));
        if (reader.isEmpty())
            QSKIP("pdftotext is not installed: only the header and the pages were looked at");
        QProcess process;
        process.start(reader, {QStringLiteral("-layout"), path, QStringLiteral("-")});
        QVERIFY(process.waitForFinished(test::hangLimitMs));
        const QString text = QString::fromUtf8(process.readAllStandardOutput())
                                 .simplified()
                                 .normalized(QString::NormalizationForm_KC); // fonts have ligatures
        QVERIFY2(text.contains(QString::fromStdString(core::verdictText(table()).sentence)), qPrintable(text));
        for (const core::ResultRow &row : table().rows)
            QVERIFY2(text.contains(QString::fromStdString(row.name)), row.name.c_str());
        QVERIFY2(text.contains(QLatin1String("speed-up, training time")), "the charts' words are text too");
        QVERIFY(QString(text).remove(QLatin1Char(' ')).contains(QStringLiteral("1/%1").arg(pages)));
    }

    void aFileThatCantBeWrittenIsNamed() {
        for (const char *suffix : {"pdf", "html", "tex"}) {
            const auto refused =
                saveResults(*m_workspace, {}, QStringLiteral("/proc/nowhere/page.") + QLatin1String(suffix));
            QVERIFY2(!refused && refused.error().message().find("/proc/nowhere/page.") != std::string::npos, suffix);
        }
        QVERIFY(!saveResults(*m_workspace, {}, m_folder.filePath(QStringLiteral("page.docx"))));
    }

    void anExportSaysHowFarItIsAndOpensItsFolder() {
        const QString folder = m_folder.filePath(QStringLiteral("all"));
        const ExportBanner *banner = m_window->exportBanner();
        QVERIFY(!banner->isVisible());
        QStringList said;
        int turns = 0, before = 0, shut = 0;
        QTimer other; // as keys are: served by the event loop
        connect(&other, &QTimer::timeout, this, [&] { ++turns; });
        other.start(0);
        connect(m_window->exportMenu(), &ExportMenu::began, &other, [&](ExportJob *job) {
            connect(job, &ExportJob::progressed, banner, [&](int done) {
                said.append(banner->text());
                shut += done > 0 && turns == before;
                before = turns;
            });
        });
        m_window->exportMenu()->saveAll(folder);
        QTRY_VERIFY(banner->isVisible() && banner->cancelButton()->isVisible());
        QVERIFY(!action(QStringLiteral("PDF"))->isEnabled());
        QTRY_VERIFY_WITH_TIMEOUT(banner->openButton()->isVisible(), test::hangLimitMs);
        for (const char *file : {"results.csv", "results.pdf", "curves.json", "loss.png", "devices.svg"}) {
            QVERIFY2(said.contains(QStringLiteral("Exporting ") + QLatin1String(file)), file);
            QVERIFY2(QFileInfo(folder + QLatin1Char('/') + QLatin1String(file)).size() > 0, file);
        }
        QCOMPARE(shut, 0); // the window had a turn between any two charts
        const auto files = QDir(folder).entryList(QDir::Files | QDir::Hidden).size();
        QCOMPARE(banner->text(), QStringLiteral("%1 files written into %2").arg(files).arg(folder));
        QVERIFY(action(QStringLiteral("PDF"))->isEnabled());
        uitest::picture(*m_window, m_theme, "exported");
        OpenedUrls opened;
        QDesktopServices::setUrlHandler(QStringLiteral("file"), &opened, "open");
        QTest::keyClick(m_window.get(), Qt::Key_L, Qt::ControlModifier | Qt::ShiftModifier);
        QTRY_COMPARE(opened.all.size(), 1); // a button that is pressed by its key is seen pressed first
        QDesktopServices::unsetUrlHandler(QStringLiteral("file"));
        QCOMPARE(opened.all, QList<QUrl>{QUrl::fromLocalFile(folder)});
        QTest::mouseClick(banner->dismissButton(), Qt::LeftButton);
        QVERIFY(!banner->isVisible());
    }

    void theWindowHasATurnBetweenAnyTwoPicturesThatAreDrawnForAnExport() {
        const auto parts = live()->drawing();
        QVERIFY(parts.size() > 6); // a card each
        int turns = 0, before = -1, drawn = 0;
        bool everyTime = true;
        QTimer other;
        connect(&other, &QTimer::timeout, this, [&] { ++turns; });
        other.start(0);
        std::vector<std::function<void()>> draw;
        for (const auto &part : parts)
            draw.push_back([&, part] {
                everyTime = everyTime && turns > before;
                before = turns;
                ++drawn;
                part();
            });
        const QString path = m_folder.filePath(QStringLiteral("turns.csv"));
        bool asked = false; // for the pictures, when all are up to date
        const auto job = resultsJob({*m_workspace,
                                     [&] {
                                         asked = drawn == int(parts.size());
                                         return m_window->charts();
                                     },
                                     nullptr, draw},
                                    path);
        QVERIFY(job);
        QCOMPARE(drawn, 0); // pressing Export draws nothing
        QVERIFY(waitFor(**job));
        QVERIFY(everyTime && asked);
        QCOMPARE(drawn, int(parts.size()));
    }

    void aCancelledExportIsSaidAndLeavesNothing() {
        const QString folder = m_folder.filePath(QStringLiteral("cancelled"));
        const ExportBanner *banner = m_window->exportBanner();
        m_window->exportMenu()->saveAll(folder);
        QTRY_VERIFY(banner->cancelButton()->isVisible());
        QTest::mouseClick(banner->cancelButton(), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(banner->text().contains(QLatin1String("cancelled")), test::hangLimitMs);
        QVERIFY(!QFileInfo::exists(folder) && !banner->openButton()->isVisible());
    }

    void anExportOfWhatIsNoLongerOpenIsRefused() {
        const std::string other = uitest::writeExperimentOnDisk({.epochs = 1, .firstRun = 40});
        const QString folder = m_folder.filePath(QStringLiteral("other"));
        m_window->exportMenu()->saveAll(folder);
        QVERIFY(m_workspace->open(QString::fromStdString(other)));
        QTRY_VERIFY_WITH_TIMEOUT(m_window->exportBanner()->text().contains(QLatin1String("another experiment")),
                                 test::hangLimitMs);
        QVERIFY(!QFileInfo::exists(folder));
    }

    void aChartsOwnExportGoesTheSameWay() {
        LineChart *chart = m_window->livePage()->lossChart();
        ChartExportEvent wanted(*chart, {400, 300}, m_folder.filePath(QStringLiteral("one.png")));
        QCoreApplication::sendEvent(m_window.get(), &wanted);
        QVERIFY(wanted.isAccepted());
        QTRY_COMPARE_WITH_TIMEOUT(m_window->exportBanner()->text(),
                                  QStringLiteral("one.png written into ") + m_folder.path(), test::hangLimitMs);
        QCOMPARE(QImage(m_folder.filePath(QStringLiteral("one.png"))).size(), QSize(800, 600));
    }

    void aTableIsCopiedAsTextAndAsATable() {
        QTableView *view = m_window->verdictPage()->table();
        view->setFocus();
        QTest::keyClick(view, Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
        const QStringList lines = clipboard().text().split(QLatin1Char('\n'), Qt::SkipEmptyParts);
        QCOMPARE(lines.size(), qsizetype(table().rows.size() + 1));
        QStringList heads;
        for (int visual = 0; visual < view->horizontalHeader()->count(); ++visual)
            if (const int column = view->horizontalHeader()->logicalIndex(visual); !view->isColumnHidden(column))
                heads.append(view->model()->headerData(column, Qt::Horizontal).toString());
        QCOMPARE(lines[0].split(QLatin1Char('\t')), heads); // in the order they are shown
        QCOMPARE(lines[1].split(QLatin1Char('\t')).first(), QString::fromStdString(table().rows[0].name));
        QCOMPARE(clipboard().html().count(QLatin1String("<tr>")), qsizetype(table().rows.size() + 1));

        view->selectRow(1);
        view->setColumnHidden(core::ResultModel::Kind, true);
        QTest::keyClick(view, Qt::Key_C, Qt::ControlModifier);
        const QStringList some = clipboard().text().split(QLatin1Char('\n'), Qt::SkipEmptyParts);
        QCOMPARE(some.size(), 2); // heads and the selected row
        QVERIFY(some[1].startsWith(QString::fromStdString(table().rows[1].name)));
        QCOMPARE(some[0].split(QLatin1Char('\t')).size(), heads.size() - 1); // what is hidden is not copied
        QCOMPARE(view->actions().size(), 2);                                 // and its menu offers both
    }

    void aChartIsCopiedAsPictureDrawingAndData() {
        m_window->showPage(Page::Live);
        m_window->livePage()->drawNow();
        LineChart *chart = m_window->livePage()->lossChart();
        QVERIFY(chart);
        chart->setFocus();
        QTest::keyClick(chart, Qt::Key_C, Qt::ControlModifier);
        QVERIFY(clipboard().hasImage());
        QCOMPARE(qvariant_cast<QImage>(clipboard().imageData()).size(), chart->size() * 2);
        QVERIFY(QSvgRenderer(clipboard().data(QStringLiteral("image/svg+xml"))).isValid());
        QTest::keyClick(chart, Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(clipboard().text(), chart->chartData());
        QCOMPARE(clipboard().html().count(QLatin1String("<tr>")), chart->chartData().count(QLatin1Char('\n')));
    }

    void theExportButtonOffersEveryFormat() {
        QCOMPARE(m_window->verdictPage()->exportButton()->menu(), m_window->exportMenu());
        for (const char *words : {"folder", "HTML", "PDF", "LaTeX", "CSV", "Markdown", "JSON", "Copy", "TensorBoard"})
            QVERIFY2(action(QLatin1String(words)), words);
        action(QStringLiteral("Copy"))->trigger();
        QVERIFY(clipboard().text().startsWith(QLatin1String("Run\tKind\t")));
    }

    void eventFilesAreWrittenForEveryRunThatIsOpen() {
        ExportMenu *menu = m_window->exportMenu();
        const QString folder = m_folder.filePath(QStringLiteral("events"));
        menu->writeEventFiles(folder);
        QVERIFY(menu->writesEventFiles() && action(QStringLiteral("TensorBoard"))->isChecked());
        QTRY_COMPARE(QDir(folder).entryList(QDir::Dirs | QDir::NoDotAndDotDot).size(), m_workspace->runs().count());
        for (const QString &run : QDir(folder).entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
            const QDir own(folder + QLatin1Char('/') + run + QStringLiteral("/rank0"));
            QVERIFY2(own.entryList(QDir::Files).value(0).contains(QLatin1String("tfevents")), qPrintable(run));
        }
        menu->writeEventFiles({});
        QVERIFY(!menu->writesEventFiles() && !action(QStringLiteral("TensorBoard"))->isChecked());
        QString said;
        connect(menu, &ExportMenu::failed, this, [&](const QString &sentence) { said = sentence; });
        menu->writeEventFiles(QStringLiteral("/proc/nowhere"));
        QVERIFY(said.contains(QLatin1String("/proc/nowhere")) && !menu->writesEventFiles());
    }
};

QTEST_MAIN(ExportTest)
#include "export_test.moc"
