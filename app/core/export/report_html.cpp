// SPDX-License-Identifier: MIT
#include <algorithm>

#include "analysis/compare/verdict.h"
#include "base/xml_text.h"
#include "export/report.h"
#include "export/svg_chart.h"

namespace lockstep::core {
namespace {

constexpr std::string_view style = R"css(
:root { color-scheme: light dark; --text: #1f2937; --quiet: #6b7280; --line: #e5e7eb; --page: #f6f7f9; --card: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e5e7eb; --quiet: #9ca3af; --line: #374151; --page: #111827; --card: #1f2937; } }
body { font: 14px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); margin: 0 auto; padding: 24px;
  max-width: 1280px; }
h1 { font-size: 18px; margin: 0; } h2 { font-size: 14px; margin: 32px 0 8px; }
.verdict { font-size: 24px; line-height: 1.35; margin: 16px 0 8px; } .quiet, figcaption { color: var(--quiet); margin: 0; }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { text-align: left; padding: 8px 10px; border-bottom: 1px solid var(--line); } tr:last-child td { border: 0; }
th { font-size: 12px; color: var(--quiet); white-space: normal; vertical-align: bottom; } .n { text-align: right; }
td { white-space: normal; } td.n, td:first-child { white-space: nowrap; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(460px, 1fr)); gap: 16px; }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 8px; }
figure svg { width: 100%; height: auto; display: block; } figcaption { padding: 4px 8px; }
.reservation { border-left: 3px solid var(--quiet); padding-left: 12px; margin: 8px 0; }
li { margin: 4px 0; } summary { cursor: pointer; margin: 32px 0 8px; }
@media print { body { background: none; padding: 0; } .scroll { overflow: visible; } details { display: none; } }
)css";

/// The svg element alone, without XML declaration and doctype, which are not allowed inside a page.
std::string_view svgElement(std::string_view svg) {
    const std::size_t begin = svg.find("<svg");
    return begin == std::string_view::npos ? std::string_view() : svg.substr(begin);
}

} // namespace

std::string htmlText(std::string_view text) {
    std::string out;
    for (const char c : allowedInXml(text)) // the svg elements are written as files, too
        switch (c) {
        case '&':
            out += "&amp;";
            break;
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '"':
            out += "&quot;";
            break;
        default:
            out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
        }
    return out;
}

std::string htmlTable(const TextTable &table) {
    const auto line = [&](const std::vector<std::string> &cells, const std::string &tag) {
        std::string out = "<tr>";
        for (std::size_t i = 0; i < cells.size(); ++i)
            out += "<" + tag + (table.numbers[i] ? " class=\"n\">" : ">") + htmlText(cells[i]) + "</" + tag + ">";
        return out + "</tr>\n";
    };
    std::string out = "<table>\n<thead>" + line(table.heads, "th") + "</thead>\n<tbody>\n";
    for (const auto &row : table.rows)
        out += line(row, "td");
    return out + "</tbody>\n</table>\n";
}

namespace {

std::string figure(const std::string &svg, const std::string &caption) {
    return svg.empty() ? std::string()
                       : "<figure>" + std::string(svgElement(svg)) + "<figcaption>" + htmlText(caption) +
                             "</figcaption></figure>\n";
}

std::string charts(const Report &report, const std::vector<ReportPicture> &pictures) {
    std::string out =
        figure(speedUpSvg(report.table, report.judgement), "Speed-up, with 95 % intervals where there are three "
                                                           "repeats; published figures are dotted");
    for (const PairJudgement &pair : report.judgement.pairs)
        if (pair.attribution)
            out += figure(waterfallSvg(*pair.attribution, methodOf(report.table, pair.reference),
                                       methodOf(report.table, pair.run)),
                          "Where the difference between " + pair.reference + " and " + pair.run + " comes from");
    out += figure(anatomySvg(report.anatomies),
                  "A mean step of DP, device by device, beside DDP's, rank by rank; lines are waiting, dashed is "
                  "communication. Where no other row has a bar, device 0 of DP works alone");
    out += figure(lossSvg(report.table, report.curves), "Training loss over steps, the first repeat of each run");
    out += figure(epochSvg(report.table), "Duration of each epoch, without evaluation; medians over repeats");
    for (const ReportPicture &picture : pictures)
        out += figure(picture.svg, picture.title);
    return out.empty() ? out : "<h2>Charts</h2>\n<div class=\"charts\">\n" + out + "</div>\n";
}

std::string fairnessTable(const Judgement &judgement) {
    TextTable table{{"weight", "pair", "what differs", "reference", "run", "what it means", "control"},
                    std::vector<bool>(7, false),
                    {}};
    for (const FairnessWeight weight : {FairnessWeight::Decisive, FairnessWeight::Notable, FairnessWeight::Minor})
        for (const PairJudgement &pair : judgement.pairs)
            for (const FairnessFinding &finding : pair.fairness)
                if (finding.weight == weight)
                    table.rows.push_back({std::string(toString(weight)), pair.run + " against " + pair.reference,
                                          finding.label, finding.reference, finding.run, finding.sentence,
                                          finding.control ? finding.control->name : "-"});
    return table.rows.empty() ? std::string() : "<div class=\"scroll\">\n" + htmlTable(table) + "</div>\n";
}

std::string boundsList(const Judgement &judgement) {
    std::string out = "<ul>\n";
    for (const Bottleneck &each : judgement.bottlenecks) {
        out +=
            "<li><b>" + htmlText(each.run) + "</b>: " + htmlText(toString(each.bound)) + ". " + htmlText(each.evidence);
        for (const SuggestedRun &tip : each.tips)
            out += "<br>Try " + htmlText(tip.name) + ": " + htmlText(tip.why);
        out += "</li>\n";
    }
    return out + "</ul>\n";
}

std::string htmlList(const std::vector<std::string> &lines) {
    std::string out = "<ul>\n";
    for (const std::string &line : lines)
        out += "<li>" + htmlText(line) + "</li>\n";
    return out + "</ul>\n";
}

/// Sections that HTML shows better than as lines.
std::string htmlSection(const ReportSection &section, const Judgement &judgement) {
    std::string out = "<h2>" + htmlText(section.title) + "</h2>\n";
    if (!section.said.empty())
        out += "<p" + std::string(section.table.rows.empty() ? "" : " class=\"quiet\"") + ">" + htmlText(section.said) +
               "</p>\n";
    if (section.key == "fairness")
        return out + fairnessTable(judgement);
    if (section.key == "bounds")
        return out + boundsList(judgement);
    if (!section.table.rows.empty())
        out += "<div class=\"scroll\">\n" + htmlTable(section.table) + "</div>\n";
    return section.lines.empty() ? out : out + htmlList(section.lines);
}

} // namespace

std::string htmlReport(const Report &report, const std::vector<ReportPicture> &pictures) {
    const ResultTable &table = report.table;
    const VerdictText verdict = verdictText(table);
    const std::string title = htmlText(table.title);
    std::string out =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width, initial-scale=1\">\n<meta name=\"generator\" content=\"Lockstep\">\n"
        "<title>" +
        title + "</title>\n<style>" + std::string(style) + "</style>\n</head>\n<body>\n<h1>" + title + "</h1>\n";
    if (!table.datasetNote.empty())
        out += "<p class=\"quiet\">" + htmlText(table.datasetNote) + "</p>\n";
    out += "<p class=\"verdict\">" + htmlText(verdict.sentence.empty() ? noVerdictText(table) : verdict.sentence) +
           "</p>\n";
    if (!verdict.spread.empty())
        out += "<p class=\"quiet\">" + htmlText(verdict.spread) + "</p>\n";
    if (const TextTable lines = verdictTable(report.judgement); !lines.rows.empty())
        out += "<div class=\"scroll\">\n" + htmlTable(lines) + "</div>\n";
    for (const std::string &reservation : table.reservations)
        out += "<p class=\"reservation\">" + htmlText(reservation) + "</p>\n";
    out +=
        "<h2>Results</h2>\n<div class=\"scroll\">\n" + htmlTable(textTable(table, TextColumns::Reading)) + "</div>\n";
    out += charts(report, pictures);
    for (const ReportSection &section : reportSections(report))
        out += htmlSection(section, report.judgement);
    if (const auto notes = noteLines(table); !notes.empty())
        out += "<h2>Keep in mind</h2>\n" + htmlList(notes);
    out += "<details><summary>All columns</summary>\n<div class=\"scroll\">\n" +
           htmlTable(textTable(table, TextColumns::All)) + "</div></details>\n";
    return out + "</body>\n</html>\n";
}

} // namespace lockstep::core
