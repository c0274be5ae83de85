// SPDX-License-Identifier: MIT
#include <algorithm>
#include <initializer_list>
#include <map>

#include "analysis/compare/verdict.h"
#include "export/report.h"

namespace lockstep::core {
namespace {

const std::map<char, const char *> &asciiEscapes() {
    static const std::map<char, const char *> all = {{'&', "\\&"},
                                                     {'%', "\\%"},
                                                     {'$', "\\$"},
                                                     {'#', "\\#"},
                                                     {'_', "\\_"},
                                                     {'{', "\\{"},
                                                     {'}', "\\}"},
                                                     {'~', "\\textasciitilde{}"},
                                                     {'^', "\\textasciicircum{}"},
                                                     {'\\', "\\textbackslash{}"},
                                                     {'<', "\\textless{}"},
                                                     {'>', "\\textgreater{}"},
                                                     {'|', "\\textbar{}"},
                                                     {'"', "{\\char34}"},
                                                     {'`', "\\textasciigrave{}"},
                                                     {'[', "{[}"}, // after \\ it would be an argument
                                                     {']', "{]}"},
                                                     {'*', "{*}"}};
    return all;
}

/// Characters that pdfTeX's fonts lack or set badly as text, as UTF-8.
const std::map<std::string_view, const char *> &unicodeEscapes() {
    static const std::map<std::string_view, const char *> all = {
        {"×", "$\\times$"},      {"÷", "$\\div$"}, {"±", "$\\pm$"}, {"−", "$-$"},
        {"≤", "$\\leq$"},        {"≥", "$\\geq$"}, {"µ", "$\\mu$"}, {"…", "\\ldots{}"},
        {"→", "$\\rightarrow$"}, {"·", "$\\cdot$"}};
    return all;
}

std::size_t lengthOf(unsigned char lead) {
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

std::string cellOf(const std::string &cell) {
    return cell == "-" ? "--" : latexText(cell);
}

/// Breaks a long head into two lines; otherwise its column would be wider than its figures.
std::string headOf(const std::string &head) {
    constexpr std::size_t longest = 9;
    const std::size_t blank = head.find(' ', head.size() / 2 - 2);
    if (head.size() <= longest || blank == std::string::npos)
        return cellOf(head);
    return "\\shortstack[r]{" + latexText(head.substr(0, blank)) + "\\\\" + latexText(head.substr(blank + 1)) + "}";
}

std::string rowOf(const std::vector<std::string> &cells, std::string (*write)(const std::string &)) {
    std::string line;
    for (const std::string &cell : cells)
        line += (line.empty() ? "" : " & ") + write(cell);
    return line + " \\\\\n";
}

} // namespace

std::string latexText(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        const char c = text[i];
        const std::string_view letter = text.substr(i, lengthOf(static_cast<unsigned char>(c)));
        i += letter.size();
        if (const auto known = unicodeEscapes().find(letter); known != unicodeEscapes().end())
            out += known->second;
        else if (const auto ascii = asciiEscapes().find(c); ascii != asciiEscapes().end())
            out += ascii->second;
        else if (c == '-' && !out.empty() && out.back() == '-')
            out += "{}-"; // two in a row are a ligature
        else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            out += ' ';
        else
            out += letter;
    }
    return out;
}

namespace {

/// `lineBefore`: the row before which a line is drawn; the number of rows: none.
std::string latexTable(const TextTable &table, const std::string &caption, const std::string &label,
                       std::size_t lineBefore) {
    std::string columns;
    for (const bool number : table.numbers)
        columns += number ? 'r' : 'l';
    std::string out = "\\begin{table}\n\\centering\n\\caption{" + latexText(caption) + "}\n\\label{tab:" + label +
                      "}\n\\medskip\n\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n" +
                      "\\begin{tabular}{" + columns + "}\n\\toprule\n" + rowOf(table.heads, headOf) + "\\midrule\n";
    for (std::size_t i = 0; i < table.rows.size(); ++i)
        out += (i == lineBefore && i > 0 ? "\\midrule\n" : "") + rowOf(table.rows[i], cellOf);
    return out + "\\bottomrule\n\\end{tabular}}\n";
}

std::string latexList(const std::vector<std::string> &lines) {
    if (lines.empty())
        return {};
    std::string out = "\\begin{itemize}\\footnotesize\\setlength{\\itemsep}{0pt}\n";
    for (const std::string &line : lines)
        out += "\\item {}" + latexText(line) + "\n";
    return out + "\\end{itemize}\n";
}

std::string sentences(std::initializer_list<std::string> all) {
    std::string out;
    for (const std::string &one : all)
        if (!one.empty())
            out += (out.empty() ? "" : out.ends_with('.') || out.ends_with('?') ? " " : ". ") + one;
    return out;
}

std::string latexSection(const ReportSection &section) {
    if (!section.table.rows.empty())
        return "\n" +
               latexTable(section.table, sentences({section.title, section.said}), "lockstep-" + section.key,
                          section.table.rows.size()) +
               "\\end{table}\n";
    return "\n\\paragraph{" + latexText(section.title) + "} " + latexText(section.said) + "\n" +
           latexList(section.lines);
}

} // namespace

std::string latexReport(const Report &report) {
    const ResultTable &table = report.table;
    const VerdictText verdict = verdictText(table);
    const auto published = std::ranges::find_if(table.rows, &ResultRow::published);
    std::string out =
        "% Written by Lockstep. In the preamble: \\usepackage{booktabs,graphicx}; then \\input this file.\n" +
        latexTable(textTable(table, TextColumns::Paper),
                   sentences({table.title, table.datasetNote, verdict.sentence, verdict.spread}), "lockstep",
                   std::size_t(published - table.rows.begin())) +
        "\n" + latexList(noteLines(table)) + "\\end{table}\n";
    if (const TextTable lines = verdictTable(report.judgement); !lines.rows.empty())
        out += "\n" + latexTable(lines, "Is it worth it?", "lockstep-verdict", lines.rows.size()) + "\\end{table}\n";
    for (const ReportSection &section : reportSections(report))
        out += latexSection(section);
    return out;
}

} // namespace lockstep::core
