// The results as LaTeX and HTML, each read back.
#include <nlohmann/json.hpp>
#include <QtTest>

#include "analysis/verdict.h"
#include "core_support.h"
#include "export/export.h"
#include "export/report.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

const std::string nasty = R"(a & b_c 100% $x$ #1 {y} ~ ^ \z <i>"q"</i> | [1] * -- `t` × ±2)";

ResultTable table() {
    ResultTable out;
    out.title = "LeNet & friends_2 <b>";
    out.datasetNote = "Fashion-MNIST, 12,800 samples";
    ResultRow reference;
    reference.name = "baseline";
    reference.method = "baseline";
    reference.kind = "measured here";
    reference.state = "done";
    reference.repeats = reference.planned = 2;
    reference.reference = true;
    reference.trainingTimesS = {10, 11};
    reference.totalTrainingTimeS = 10.5;
    reference.speedUpTraining = 1;
    reference.testAccuracy = 0.8934;
    out.rows.push_back(reference);
    ResultRow other = reference;
    other.name = nasty;
    other.method = "ddp";
    other.reference = false;
    other.trainingTimesS = {5, 5.5};
    other.totalTrainingTimeS = 5.25;
    other.speedUpTraining = 2;
    other.testAccuracy.reset();
    other.notes = {"50 % of " + nasty};
    out.rows.push_back(other);
    ResultRow published;
    published.name = "DDP ×2";
    published.published = true;
    published.kind = "published, 8 × H100";
    published.state = "published";
    published.publishedTimeS = 117.07;
    out.rows.push_back(published);
    out.reference = "baseline";
    out.notes = {"a note of the table"};
    return out;
}

/// The inverse of latexText, written from TeX's rules.
QString unescaped(QString text) {
    static const QRegularExpression stack(QStringLiteral(R"(^\\shortstack\[r\]\{(.*)\\\\(.*)\}$)"));
    text.replace(stack, QStringLiteral("\\1 \\2"));
    static const std::pair<const char *, const char *> commands[] = {{"\\textbackslash{}", "\x01"},
                                                                     {"\\textasciitilde{}", "~"},
                                                                     {"\\textasciicircum{}", "^"},
                                                                     {"\\textless{}", "<"},
                                                                     {"\\textgreater{}", ">"},
                                                                     {"\\textbar{}", "|"},
                                                                     {"{\\char34}", "\""},
                                                                     {"\\textasciigrave{}", "`"},
                                                                     {"{[}", "["},
                                                                     {"{]}", "]"},
                                                                     {"{*}", "*"},
                                                                     {"-{}-", "--"},
                                                                     {"$\\times$", "×"},
                                                                     {"$\\pm$", "±"},
                                                                     {"\\&", "&"},
                                                                     {"\\%", "%"},
                                                                     {"\\$", "$"},
                                                                     {"\\#", "#"},
                                                                     {"\\_", "_"},
                                                                     {"\\{", "{"},
                                                                     {"\\}", "}"}};
    for (const auto &[command, letter] : commands)
        text.replace(QString::fromUtf8(command), QString::fromUtf8(letter));
    return text.replace(QLatin1Char('\x01'), QLatin1Char('\\'));
}

/// The cells of a tabular: split at & and \\ that no backslash escapes.
QList<QStringList> cellsOf(const QString &latex) {
    QList<QStringList> out;
    const QString body = latex.section(QStringLiteral("\\toprule\n"), 1).section(QStringLiteral("\\bottomrule"), 0, 0);
    for (const QString &line : body.split(QLatin1Char('\n'), Qt::SkipEmptyParts)) {
        if (line == QLatin1String("\\midrule"))
            continue;
        QStringList row;
        for (const QString &cell : line.chopped(3).split(QRegularExpression(QStringLiteral("(?<!\\\\) & "))))
            row.append(unescaped(cell));
        out.append(row);
    }
    return out;
}

} // namespace

class CoreExportTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void latexReadsBackAsTheTable() {
        const QString latex = QString::fromStdString(exportResults({table(), {}}, ExportFormat::Latex));
        const TextTable text = textTable(table(), TextColumns::Paper);
        const QList<QStringList> cells = cellsOf(latex);
        QCOMPARE(cells.size(), qsizetype(text.rows.size() + 1));
        for (std::size_t row = 0; row <= text.rows.size(); ++row) {
            const auto &expected = row == 0 ? text.heads : text.rows[row - 1];
            QCOMPARE(cells[qsizetype(row)].size(), qsizetype(expected.size()));
            for (std::size_t i = 0; i < expected.size(); ++i)
                QCOMPARE(cells[qsizetype(row)][qsizetype(i)],
                         expected[i] == "-" ? QStringLiteral("--") : QString::fromStdString(expected[i]));
        }
        QVERIFY(latex.contains(QLatin1String("\\caption{LeNet \\& friends\\_2")));
        QCOMPARE(latex.count(QLatin1String("\\midrule")), 2); // published figures stand apart
        QVERIFY2(latex.contains(QStringLiteral("\\begin{tabular}{") + QString::fromStdString([&] {
                                    std::string columns;
                                    for (const bool number : text.numbers)
                                        columns += number ? 'r' : 'l';
                                    return columns;
                                }()) +
                                QLatin1Char('}')),
                 "figures are right-aligned");
    }

    void everyLetterThatTexReadsAsACommandIsEscaped() {
        for (int c = 0x20; c < 0x7f; ++c) {
            const std::string text(1, char(c)), escaped = latexText(text);
            QCOMPARE(unescaped(QString::fromStdString(escaped)), QString::fromStdString(text));
            const bool special = std::string_view("&%$#_{}~^\\").find(char(c)) != std::string_view::npos;
            QVERIFY2(!special || escaped.size() > 1, text.c_str());
        }
        QCOMPARE(latexText("a\nb\tc"), std::string("a b c"));
    }

    void pdflatexSetsIt() {
        const QString program = QStandardPaths::findExecutable(QStringLiteral("pdflatex"));
        if (program.isEmpty())
            QSKIP("pdflatex is not installed");
        QTemporaryDir folder;
        write(folder.filePath(QStringLiteral("table.tex")).toStdString(),
              exportResults({table(), {}}, ExportFormat::Latex));
        write(folder.filePath(QStringLiteral("page.tex")).toStdString(),
              "\\documentclass{article}\\usepackage{booktabs,graphicx}\\begin{document}\\input{table}\\end{document}");
        QProcess process;
        process.setWorkingDirectory(folder.path());
        process.start(program, {QStringLiteral("-halt-on-error"), QStringLiteral("-interaction=nonstopmode"),
                                QStringLiteral("page.tex")});
        QVERIFY(process.waitForFinished(60'000));
        QVERIFY2(process.exitCode() == 0, process.readAllStandardOutput().constData());
    }

    void aBrowserOpensThePageAndFindsItWhole() {
        const QString browser = QStandardPaths::findExecutable(QStringLiteral("chromium"));
        if (browser.isEmpty())
            QSKIP("chromium is not installed: the page was parsed, not opened");
        QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("page.html"));
        write(path.toStdString(), exportResults({table(), {}}, ExportFormat::Html));
        QProcess process;
        process.start(browser,
                      {QStringLiteral("--headless=new"), QStringLiteral("--no-sandbox"),
                       QStringLiteral("--disable-gpu"), QStringLiteral("--user-data-dir=") + folder.filePath("b"),
                       QStringLiteral("--dump-dom"), QStringLiteral("file://") + path});
        QVERIFY(process.waitForFinished(60'000));
        const QByteArray dom = process.readAllStandardOutput();
        QVERIFY2(dom.contains("<p class=\"verdict\">"), dom.left(500).constData());
        QCOMPARE(dom.count("<svg"), 1); // the speed-ups; a table alone has no more to draw
        QCOMPARE(dom.count("<svg"), dom.count("</svg>"));
        QVERIFY(dom.contains("<details>"));
    }

    void htmlIsOneWholePageThatLoadsNothing() {
        QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("page.html")).toStdString();
        const std::string svg =
            "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"><title>t</title></svg>";
        write(path, htmlReport({table(), {}}, {{"loss & time", svg}, {"devices", svg}}));
        QProcess reader;
        reader.start(QStringLiteral("python3"),
                     {QStringLiteral(LOCKSTEP_SOURCE "/tests/app/read_html.py"), QString::fromStdString(path)});
        QVERIFY(reader.waitForFinished(30'000));
        QVERIFY2(reader.exitCode() == 0, reader.readAllStandardError().constData());
        const auto page = nlohmann::json::parse(reader.readAllStandardOutput().toStdString());
        QCOMPARE(page["title"].get<std::string>(), table().title);
        QCOMPARE(page["unbalanced"].dump(), std::string("[]"));
        QCOMPARE(page["loads"].dump(), std::string("[]"));
        QCOMPARE(page["svg"].get<int>(), 3);
        QCOMPARE(page["paragraphs"]["verdict"][0].get<std::string>(), verdictText(table()).sentence);
        QCOMPARE(page["notes"].get<std::vector<std::string>>(), noteLines(table()));
        for (const int which : {0, 1}) {
            const TextTable text = textTable(table(), which == 0 ? TextColumns::Reading : TextColumns::All);
            QCOMPARE(page["tables"][which][0].get<std::vector<std::string>>(), text.heads);
            for (std::size_t row = 0; row < text.rows.size(); ++row)
                QCOMPARE(page["tables"][which][row + 1].get<std::vector<std::string>>(), text.rows[row]);
        }
    }

    void aReadingTableLeavesOutWhatNoRowKnows() {
        const TextTable all = textTable(table(), TextColumns::All), reading = textTable(table(), TextColumns::Reading);
        const auto has = [](const TextTable &text, const std::string &head) {
            return std::find(text.heads.begin(), text.heads.end(), head) != text.heads.end();
        };
        QVERIFY(has(all, "Run time (s)") && !has(reading, "Run time (s)"));
        QVERIFY(has(all, "Hosts") && !has(reading, "Hosts"));
        const TextTable paper = textTable(table(), TextColumns::Paper);
        QVERIFY(has(reading, "State") && !has(paper, "State") && has(paper, "Speed-up, training"));
        QCOMPARE(paper.rows[2].front(), std::string("DDP ×2 (published)"));
        QVERIFY(has(reading, "Training time (s)") && has(reading, "Published time (s)"));
        QCOMPARE(reading.rows.size(), table().rows.size());
    }

    void aFormatThatIsNoneNamesThemAll() {
        QVERIFY((*exportFormatFrom("tex") == ExportFormat::Latex));
        const auto refused = exportFormatFrom("docx");
        QVERIFY(!refused);
        QVERIFY2(refused.error().message().find("csv, json, md, tex or html") != std::string::npos,
                 refused.error().message().c_str());
        QVERIFY(!exportCurves({}, ExportFormat::Html).has_value());
    }
};

QTEST_GUILESS_MAIN(CoreExportTest)
#include "core_export_test.moc"
