#include <map>
#include <utility>

#include "analysis/verdict.h"
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

/// What pdfTeX's fonts lack or set badly as text, by its UTF-8.
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

/// A long head stands on two lines, or its column would be wider than its figures.
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

std::string latexTable(const ResultTable &table) {
    const TextTable text = textTable(table, TextColumns::Paper);
    const VerdictText verdict = verdictText(table);
    std::string columns;
    for (const bool number : text.numbers)
        columns += number ? 'r' : 'l';
    std::string caption = table.title;
    for (const std::string &more : {table.datasetNote, verdict.sentence, verdict.spread})
        if (!more.empty())
            caption += (caption.ends_with('.') ? " " : ". ") + more;
    std::string out =
        "% Written by Lockstep. In the preamble: \\usepackage{booktabs,graphicx}; then \\input this file.\n"
        "\\begin{table}\n\\centering\n\\caption{" +
        latexText(caption) + "}\n\\label{tab:lockstep}\n\\medskip\n\\resizebox{\\ifdim\\width>\\linewidth\\linewidth" +
        "\\else\\width\\fi}{!}{%\n\\begin{tabular}{" + columns + "}\n\\toprule\n" + rowOf(text.heads, headOf) +
        "\\midrule\n";
    bool published = false;
    for (std::size_t i = 0; i < text.rows.size(); ++i) {
        if (table.rows[i].published && !std::exchange(published, true) && i > 0)
            out += "\\midrule\n";
        out += rowOf(text.rows[i], cellOf);
    }
    out += "\\bottomrule\n\\end{tabular}}\n\n";
    const std::vector<std::string> notes = noteLines(table);
    if (!notes.empty())
        out += "\\begin{itemize}\\footnotesize\\setlength{\\itemsep}{0pt}\n";
    for (const std::string &note : notes)
        out += "\\item {}" + latexText(note) + "\n";
    if (!notes.empty())
        out += "\\end{itemize}\n";
    return out + "\\end{table}\n";
}

} // namespace lockstep::core
