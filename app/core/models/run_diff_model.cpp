// SPDX-License-Identifier: MIT
#include "models/run_diff_model.h"

#include <QStringList>

namespace lockstep::core {
namespace {

using Kind = RunDiffRow::Kind;

RunDiffRow labelRow(Kind kind, const DiffSection &section, const QString &label) {
    RunDiffRow row{kind, section.title, {}};
    row.line.label = label;
    return row;
}

} // namespace

RunDiffModel::RunDiffModel(QObject *parent) : TableModel({}, parent) {
    rebuild();
}

void RunDiffModel::setDiff(const RunDiff &diff) {
    if (diff == m_diff)
        return;
    m_diff = diff;
    rebuild();
}

void RunDiffModel::toggle(int row) {
    if (row < 0 || row >= rowCount() || rowAt(row).kind == Kind::Line)
        return;
    const QString title = rowAt(row).section;
    if (!m_open.insert(title).second)
        m_open.erase(title);
    rebuild();
}

void RunDiffModel::setAllOpen(bool open) {
    m_open.clear();
    if (open)
        for (const DiffSection &section : m_diff.sections)
            m_open.insert(section.title);
    rebuild();
}

void RunDiffModel::rebuild() {
    std::vector<RunDiffRow> rows;
    for (const DiffSection &section : m_diff.sections) {
        const bool open = m_open.contains(section.title);
        rows.push_back(labelRow(Kind::Head, section, section.title));
        for (const DiffLine &line : section.lines)
            if (open || !line.same)
                rows.push_back({Kind::Line, section.title, line});
        if (section.differing() < int(section.lines.size()))
            rows.push_back(labelRow(Kind::Fold, section, foldText(section)));
    }
    resetTable(columns(), std::move(rows));
}

std::vector<TableColumn<RunDiffRow>> RunDiffModel::columns() const {
    const auto side = [](QString DiffLine::*text) {
        return [text](const RunDiffRow &row) {
            const QString &value = row.line.*text;
            return TableCell{value, value, false, value == u"-" ? tr("not known of this run") : value};
        };
    };
    const auto change = [](const RunDiffRow &row) {
        const QString &value = row.line.change;
        const QString hint = value.endsWith(QStringLiteral("points")) ? tr("B − A") : ratioHead();
        return TableCell{value, value, true, row.kind == Kind::Line ? hint : QString()};
    };
    return {{{},
             [](const RunDiffRow &row) {
                 return TableCell{row.line.label, row.line.label, false, row.line.help};
             }},
            {tr("A: %1").arg(m_diff.nameA), side(&DiffLine::a), m_diff.nameA},
            {tr("B: %1").arg(m_diff.nameB), side(&DiffLine::b), m_diff.nameB},
            {ratioHead(), change}};
}

QString RunDiffModel::ratioHead() {
    return tr("B ÷ A");
}

QString RunDiffModel::foldText(const DiffSection &section) const {
    const int equal = int(section.lines.size()) - section.differing();
    if (m_open.contains(section.title))
        return tr("▾ fold what is equal");
    return equal == 1 ? tr("▸ 1 more is equal") : tr("▸ %1 more are equal").arg(equal);
}

QVariant RunDiffModel::rowData(const RunDiffRow &row, int role) const {
    if (role == HeadRole || role == FoldRole)
        return row.kind == (role == HeadRole ? Kind::Head : Kind::Fold);
    return {};
}

QString RunDiffModel::text() const {
    QStringList lines = {QStringLiteral("\tA\tB\t") + ratioHead(),
                         QStringLiteral("run\t%1\t%2\t").arg(m_diff.runA, m_diff.runB)};
    for (const RunDiffRow &row : rows())
        if (row.kind == Kind::Line)
            lines.append(QStringList{row.line.label, row.line.a, row.line.b, row.line.change}.join(u'\t'));
    return lines.join(u'\n') + u'\n';
}

} // namespace lockstep::core

#include "moc_run_diff_model.cpp"
