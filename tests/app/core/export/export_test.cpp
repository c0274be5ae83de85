// SPDX-License-Identifier: MIT
// The results as LaTeX and HTML, each read back.
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <QXmlStreamReader>

#include "base/whole_file.h"
#include "core_support.h"
#include "export/cell_text.h"
#include "export/export.h"
#include "export/report.h"
#include "export/svg_chart.h"
#include "tests/qt_test.h"

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
    reference.trainingTimes = {{10}, {11}};
    reference.totalTrainingTimeS = 10.5;
    reference.speedUpTraining = 1;
    reference.testAccuracy = 0.8934;
    out.rows.push_back(reference);
    ResultRow other = reference;
    other.name = nasty;
    other.method = "ddp";
    other.reference = false;
    other.trainingTimes = {{5}, {5.5}};
    other.totalTrainingTimeS = 5.25;
    other.speedUpTraining = 2;
    other.testAccuracy.reset();
    other.notes = {"50 % of " + nasty};
    out.rows.push_back(other);
    ResultRow published;
    published.name = "DDP on 2 devices";
    published.published = true;
    published.kind = "published, 8 × H100";
    published.state = "published";
    published.publishedTimeS = 117.07;
    out.rows.push_back(published);
    out.reference = "baseline";
    out.notes = {"a note of the table"};
    return out;
}

/// From 12 to 7 seconds, with one setting told apart and one control missing.
Attribution attribution() {
    Attribution out;
    out.reference = "baseline";
    out.run = nasty;
    out.referenceS = 12;
    out.runS = 7;
    const std::pair<Cause, double> bars[] = {{Cause::DataLoading, -4},    {Cause::Compute, -2},
                                             {Cause::Communication, 0.5}, {Cause::Imbalance, 0.25},
                                             {Cause::StartUp, 0.25},      {Cause::Unattributed, 0}};
    for (const auto &[cause, change] : bars)
        out.bars.push_back({cause, change, {}, {}});
    out.bars.front().low = -4.2;
    out.bars.front().high = -3.8;
    out.factors = {{"workers", "4 loading workers instead of 0", -3, -3.5, -2.5, {"baseline, 4 workers"}}};
    out.missing = {{"DDP on 2 devices, 0 workers", "It has the method without the workers.", {}}};
    return out;
}

StepAnatomy anatomy() {
    DpAnatomy step;
    step.stages = {{"load", 0.01, false}, {"parallel_forward", 0.02, true}, {"optimizer", 0.01, false}};
    step.devices = {{"cpu:0", {}, {}, {{"parallel_forward", 0.02}}, {}},
                    {"cpu:1", {}, {}, {{"parallel_forward", 0.015}}, {}}};
    step.stepS = 0.04;
    step.parallelS = 0.02;
    return {"DP on 2 devices", "dp", step};
}

/// The table judged: all that a verdict can have.
Report whole() {
    const SuggestedRun control{"baseline, 4 workers", "What do the workers do by themselves?", {}};
    PairJudgement pair;
    pair.reference = "baseline";
    pair.run = nasty;
    pair.training = SpeedUp{2, 1.9, 2.1, IntervalMethod::Welch, 0.001, 3, 3, 1, true};
    pair.fairness = {{"seed", "Seed", "1", "2", FairnessWeight::Minor, "Other seeds.", std::nullopt},
                     {"workers", "Loading workers", "0", "4", FairnessWeight::Decisive,
                      "Loading workers 4 instead of 0: it loads with 4.", control}};
    pair.attribution = attribution();
    Report out;
    out.judgement.reference = "baseline";
    out.judgement.sentence = "It is twice as fast.";
    out.judgement.pairs = {pair};
    VerdictLine line;
    line.run = nasty;
    line.against = "baseline";
    line.outcome = Outcome::WorthIt;
    line.speedUp = pair.training;
    line.reason = "80 % of the time saved is data loading";
    out.judgement.lines = {line};
    out.judgement.bottlenecks = {{"baseline", Bound::Input, 0.5, "Loading takes half.", {control}}};
    out.table = judged(table(), out.judgement);
    out.anatomies = {anatomy()};
    out.target = Target{Target::Kind::Accuracy, 0.88};
    TimeToTarget time;
    time.group = "baseline";
    time.repeats.resize(3);
    time.reached = 3;
    time.seconds = 8;
    time.fastest = 7.5;
    time.slowest = 9;
    time.how = "by the end of epoch 1";
    out.times = {time};
    return out;
}

nlohmann::json readPage(const std::string &path) {
    QProcess reader;
    reader.start(QStringLiteral("python3"),
                 {QStringLiteral(LOCKSTEP_SOURCE "/tests/app/read_html.py"), QString::fromStdString(path)});
    if (!reader.waitForFinished(test::hangLimitMs) || reader.exitCode() != 0)
        qFatal("%s", reader.readAllStandardError().constData());
    return nlohmann::json::parse(reader.readAllStandardOutput().toStdString());
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
    void aRowOfVeryManyPhasesIsWrittenToo() {
        ResultTable many = table();
        for (int i = 0; i < 300'000; ++i)
            many.rows.front().phasesS["phase" + std::to_string(i)] = i;
        const auto json = nlohmann::json::parse(exportResults({many, {}}, ExportFormat::Json));
        QCOMPARE(json["rows"][0]["phases_s"].size(), std::size_t(300'000));
        QCOMPARE(json["rows"][0]["phases_s"]["phase7"].get<double>(), 7.0);
        QVERIFY(json["rows"][1]["phases_s"].is_object());
    }

    void howManyRepeatsWereAskedForIsInEveryExport() {
        ResultTable some = table();
        some.rows.front().planned = 3;
        const auto json = nlohmann::json::parse(exportResults({some, {}}, ExportFormat::Json));
        QCOMPARE(json["rows"][0]["repeats"].get<int>(), 2);
        QCOMPARE(json["rows"][0]["repeats_planned"].get<int>(), 3);
        for (const ExportFormat format : {ExportFormat::Markdown, ExportFormat::Latex, ExportFormat::Html})
            QVERIFY(exportResults({some, {}}, format).find("2/3") != std::string::npos);
        QVERIFY(exportResults({table(), {}}, ExportFormat::Markdown).find("2/2") == std::string::npos);
    }

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
        write(folder.filePath(QStringLiteral("table.tex")).toStdString(), exportResults(whole(), ExportFormat::Latex));
        write(folder.filePath(QStringLiteral("page.tex")).toStdString(),
              "\\documentclass{article}\\usepackage{booktabs,graphicx}\\begin{document}\\input{table}\\end{document}");
        QProcess process;
        process.setWorkingDirectory(folder.path());
        process.start(program, {QStringLiteral("-halt-on-error"), QStringLiteral("-interaction=nonstopmode"),
                                QStringLiteral("page.tex")});
        QVERIFY(process.waitForFinished(test::hangLimitMs));
        QVERIFY2(process.exitCode() == 0, process.readAllStandardOutput().constData());
    }

    void aBrowserOpensThePageAndFindsItWhole() {
        const QString browser = QStandardPaths::findExecutable(QStringLiteral("chromium"));
        if (browser.isEmpty())
            QSKIP("chromium is not installed: the page was parsed, not opened");
        QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("page.html"));
        write(path.toStdString(), exportResults(whole(), ExportFormat::Html));
        QProcess process;
        process.start(browser,
                      {QStringLiteral("--headless=new"), QStringLiteral("--no-sandbox"),
                       QStringLiteral("--disable-gpu"), QStringLiteral("--user-data-dir=") + folder.filePath("b"),
                       QStringLiteral("--dump-dom"), QStringLiteral("file://") + path});
        QVERIFY(process.waitForFinished(test::hangLimitMs));
        const QByteArray dom = process.readAllStandardOutput();
        QVERIFY2(dom.contains("<p class=\"verdict\">"), dom.left(500).constData());
        QCOMPARE(dom.count("<svg"), 3); // speed-ups, waterfall, DP's step device by device
        QCOMPARE(dom.count("<svg"), dom.count("</svg>"));
        QVERIFY(dom.contains("aria-label=\"From baseline to a &amp; b_c"));
        QVERIFY(dom.contains("aria-label=\"Where a step goes, device by device\""));
        for (const char *said : {"data loading", "−4.00 ± 0.20 s", "2.00 (1.90-2.10)", "One setting at a time",
                                 "Missing controls", "Time to target"})
            QVERIFY2(dom.contains(said), said);
        QVERIFY(dom.contains("<details>"));
    }

    void htmlIsOneWholePageThatLoadsNothing() {
        QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("page.html")).toStdString();
        const std::string svg =
            "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"><title>t</title></svg>";
        ResultTable shown = table();
        shown.verdict = "It is twice as fast.";
        write(path, htmlReport({shown, {}}, {{"loss & time", svg}, {"devices", svg}}));
        const auto page = readPage(path);
        QCOMPARE(page["title"].get<std::string>(), table().title);
        QCOMPARE(page["unbalanced"].dump(), std::string("[]"));
        QCOMPARE(page["loads"].dump(), std::string("[]"));
        QCOMPARE(page["svg"].get<int>(), 3);
        QCOMPARE(page["paragraphs"]["verdict"][0].get<std::string>(), shown.verdict);
        QCOMPARE(page["notes"].get<std::vector<std::string>>(), noteLines(table()));
        for (const int which : {0, 1}) {
            const TextTable text = textTable(table(), which == 0 ? TextColumns::Reading : TextColumns::All);
            QCOMPARE(page["tables"][which][0].get<std::vector<std::string>>(), text.heads);
            for (std::size_t row = 0; row < text.rows.size(); ++row)
                QCOMPARE(page["tables"][which][row + 1].get<std::vector<std::string>>(), text.rows[row]);
        }
    }

    void thePageHasTheFiguresOfItsChartsAsText() {
        QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("page.html")).toStdString();
        write(path, exportResults(whole(), ExportFormat::Html));
        const auto page = readPage(path);
        QCOMPARE(page["unbalanced"].dump(), std::string("[]"));
        QCOMPARE(page["loads"].dump(), std::string("[]"));
        QCOMPARE(page["svg"].get<int>(), 3);
        using Rows = std::vector<std::vector<std::string>>;
        const auto &tables = page["tables"]; // verdict, results, causes, settings, fairness, target, all columns
        QCOMPARE(tables.size(), std::size_t(7));
        QVERIFY((tables[0].get<Rows>() ==
                 Rows{{"Run", "Verdict", "Speed-up (95 %)", "Why"},
                      {nasty, "worth it", "2.00× (1.90-2.10)", "80 % of the time saved is data loading"}}));
        QVERIFY(
            (tables[2].get<Rows>() ==
             Rows{{"Run", "Reference's time", "data loading", "device compute", "communication", "imbalance",
                   "outside training", "unattributed", "Run's time"},
                  {nasty, "12.0 s", "−4.00 ± 0.20 s", "−2.00 s", "+0.50 s", "+0.25 s", "+0.25 s", "0 s", "7.00 s"}}));
        QVERIFY((tables[3].get<Rows>()[1] == std::vector<std::string>{nasty, "4 loading workers instead of 0",
                                                                      "baseline, 4 workers", "−3.00 s", "−3.50 s",
                                                                      "−2.50 s"}));
        QCOMPARE(tables[4][1][0].get<std::string>(), std::string("decisive")); // heaviest first
        QCOMPARE(tables[4][2][0].get<std::string>(), std::string("minor"));
        QVERIFY((tables[5].get<Rows>()[1] == std::vector<std::string>{"baseline", "by the end of epoch 1", "8.00",
                                                                      "7.50", "9.00", "3 of 3", "-", "-"}));
        const auto notes = page["notes"].get<std::vector<std::string>>();
        QVERIFY(
            std::ranges::find(notes, nasty + ": DDP on 2 devices, 0 workers. It has the method without the workers.") !=
            notes.end());
    }

    void markdownAndLatexHaveTheWholeVerdict() {
        const std::string markdown = exportResults(whole(), ExportFormat::Markdown);
        for (const char *said :
             {"| worth it | 2.00× (1.90-2.10) | 80 % of the time saved is data loading |", "| 2.00 (1.90-2.10) |",
              "## Where the differences come from\n",
              "| −4.00 ± 0.20 s | −2.00 s | +0.50 s | +0.25 s | +0.25 s | 0 s | 7.00 s |", "## One setting at a time\n",
              "| −3.00 s | −3.50 s | −2.50 s |", "## Missing controls\n",
              ": DDP on 2 devices, 0 workers. It has the method without the workers.\n", "## Is the comparison fair?\n",
              "decisive: Loading workers 4 instead of 0: it loads with 4. Control: baseline, 4 workers.\n",
              "- baseline: input-bound. Loading takes half. Try baseline, 4 workers: What do the workers do by "
              "themselves?\n",
              "Training time to test accuracy 88.00 %", "| by the end of epoch 1 | 8.00 | 7.50 | 9.00 | 3 of 3 | - |"})
            QVERIFY2(markdown.find(said) != std::string::npos, (said + ("\n" + markdown)).c_str());
        QVERIFY(markdown.find("decisive: ") < markdown.find("minor: "));

        const QString latex = QString::fromStdString(exportResults(whole(), ExportFormat::Latex));
        for (const char *said :
             {"2.00 (1.90-2.10)", "& worth it & 2.00$\\times$ (1.90-2.10) & 80 \\% of the time saved",
              "\\caption{Where the differences come from. ", "$-$4.00 $\\pm$ 0.20 s & $-$2.00 s & +0.50 s",
              "\\caption{One setting at a time. ", "\\paragraph{Missing controls}",
              "\\paragraph{Is the comparison fair?}", "Loading takes half. Try baseline, 4 workers: ",
              "\\caption{Time to target. Training time to test accuracy 88.00 \\%"})
            QVERIFY2(latex.contains(QString::fromUtf8(said)), (said + ("\n" + latex.toStdString())).c_str());
        QCOMPARE(latex.count(QLatin1String("\\begin{table}")), 5); // results, verdict, causes, settings, target
        QCOMPARE(latex.count(QLatin1String("\\begin{")), latex.count(QLatin1String("\\end{")));
    }

    void aSpreadsheetComputesNothingOfATable() {
        for (const char *formula :
             {"=HYPERLINK(\"http://x\")", "@SUM(A1)", "-2+3", "+1+cmd|' /C calc'!A0", "\t=1", "+x"})
            QVERIFY2(cellText(formula) == std::string("'") + formula, formula);
        for (const char *plain :
             {"", "-", "baseline", "-3.5", "+0.25", "-1e-05", "+0.50 ± 0.20 s", "a=b", "DDP on 2 devices"})
            QVERIFY2(cellText(plain) == plain, plain);
        QCOMPARE(csvField("=1,2"), std::string("\"'=1,2\""));
        Report report = whole();
        report.table.rows[1].name = "=1+1";
        const std::string csv = exportResults(report, ExportFormat::Csv);
        QVERIFY2(csv.find("\n'=1+1,") != std::string::npos, csv.c_str());
        report.table.rows[1].metrics["=1,2"] = 1;
        const std::string head = exportResults(report, ExportFormat::Csv);
        QVERIFY2(head.substr(0, head.find('\r')).ends_with(",\"'=1,2\""), head.c_str());
        QCOMPARE(csvField("a;=1+1"), std::string("\"a;=1+1\"")); // to those that separate by semicolons
    }

    void whatIsNoFileIsNotReplacedByOne() {
        const QTemporaryDir folder;
        const std::string pipe = folder.filePath("pipe").toStdString();
        QCOMPARE(::mkfifo(pipe.c_str(), 0600), 0);
        const std::string why = writeWhole(pipe, "a");
        QVERIFY2(why.find("a pipe, a socket or a device") != std::string::npos, why.c_str());
        struct stat there {};
        QVERIFY(::stat(pipe.c_str(), &there) == 0 && S_ISFIFO(there.st_mode));
    }

    void nothingInMarkdownIsMarkup() {
        Report report = whole();
        report.table.title = "a *b* [c](d) `e`";
        const std::string markdown = exportResults(report, ExportFormat::Markdown);
        QVERIFY2(markdown.starts_with("# a \\*b\\* \\[c\\](d) \\`e\\`\n"), markdown.c_str());
        QVERIFY(markdown.find("<i>") == std::string::npos); // as nothing of a run's name is
        QVERIFY(markdown.find("\\\\z") != std::string::npos);
    }

    void aFairPairIsSaidToBeFair() {
        Report report = whole();
        report.judgement.pairs.front().fairness.clear();
        const std::string said = "No unintended difference found.";
        for (const ExportFormat format : {ExportFormat::Markdown, ExportFormat::Latex, ExportFormat::Html})
            QVERIFY2(exportResults(report, format).find(said) != std::string::npos,
                     qPrintable(QString::number(int(format))));
        QVERIFY(exportResults({table(), {}}, ExportFormat::Html).find(said) == std::string::npos);
    }

    void aWaterfallsReferenceHasTheColourOfItsMethod() {
        const std::string grey(methodColorName("baseline")), blue(methodColorName("ddp"));
        const std::string fromDdp = waterfallSvg(attribution(), "ddp", "ddp");
        QVERIFY(fromDdp.find(grey) == std::string::npos && fromDdp.find(blue) != std::string::npos);
        QVERIFY(waterfallSvg(attribution(), "baseline", "ddp").find(grey) != std::string::npos);
    }

    void namesWithCharactersThatXmlForbidsBreakNoChart() {
        ResultTable odd = table();
        odd.rows[0].name = "a\x01z\uFFFE!\uFFFF?\uFFFD";
        const std::string svg = speedUpSvg(odd, {});
        QXmlStreamReader reader(QString::fromStdString(svg));
        while (!reader.atEnd())
            reader.readNext();
        QVERIFY2(!reader.hasError(), qPrintable(reader.errorString()));
        QVERIFY2(svg.find("a z ! ?\uFFFD") != std::string::npos, svg.c_str());
    }

    void namesThatBeginAlikeStayApartInAChart() {
        ResultTable alike = table();
        alike.rows[0].name = "baseline, workers 0, augmented, item";
        alike.rows[1].name = "baseline, workers 0, augmented, batch";
        const std::string svg = speedUpSvg(alike, {});
        QVERIFY(svg.find("<title>baseline, workers 0, augmented, item</title>") != std::string::npos);
        QVERIFY2(svg.find("…mented, item</text>") != std::string::npos, svg.c_str());
        QVERIFY2(svg.find("…ented, batch</text>") != std::string::npos, svg.c_str());
    }

    void aRunOfOtherWorkHasNoSpeedUpAndItsChartSaysWhy() {
        ResultTable less = table();
        less.rows[1].name = "few epochs";
        PairJudgement pair;
        pair.reference = "baseline";
        pair.run = "few epochs";
        pair.training.emplace();
        pair.training->factor = 2;
        Judgement judgement;
        judgement.reference = "baseline";
        judgement.pairs = {pair};
        const auto bars = [&] {
            const QString svg = QString::fromStdString(speedUpSvg(judged(less, judgement), judgement));
            return std::pair(svg.count(QStringLiteral("<rect ")), svg.count(QStringLiteral(">other work</text>")));
        };
        QVERIFY(bars() == std::pair(qsizetype(2), qsizetype(0)));
        judgement.pairs[0].otherWork = true;
        QVERIFY2(bars() == std::pair(qsizetype(1), qsizetype(1)), "the reference's bar alone");
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
        QCOMPARE(paper.rows[2].front(), std::string("DDP on 2 devices (published)"));
        QVERIFY(has(reading, "Training time (s)") && has(reading, "Published time (s)"));
        QCOMPARE(reading.rows.size(), table().rows.size());
    }

    void aFormatThatIsNoneNamesThemAll() {
        QVERIFY((*exportFormatFrom("tex") == ExportFormat::Latex));
        const auto refused = exportFormatFrom("docx");
        QVERIFY(!refused);
        QVERIFY2(refused.error().message().find(resultFormatNames()) != std::string::npos,
                 refused.error().message().c_str());
        QVERIFY(!exportCurves({}, ExportFormat::Html).has_value());
    }
};

QTEST_GUILESS_MAIN(CoreExportTest)
#include "export_test.moc"
