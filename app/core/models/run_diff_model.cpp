#include "models/run_diff_model.h"

#include <QStringList>

#include "models/roles.h"

namespace lockstep::core {

namespace {
constexpr int headLine = -1, foldLine = -2;
}

RunDiffModel::RunDiffModel(QObject *parent) : QAbstractTableModel(parent) {}

void RunDiffModel::setDiff(const RunDiff &diff) {
    if (diff == m_diff)
        return;
    beginResetModel();
    m_diff = diff;
    rebuild();
    endResetModel();
}

void RunDiffModel::toggle(int row) {
    if (row < 0 || row >= rowCount() || m_rows[std::size_t(row)].line >= 0)
        return;
    const QString title = m_diff.sections[std::size_t(m_rows[std::size_t(row)].section)].title;
    beginResetModel();
    if (!m_open.insert(title).second)
        m_open.erase(title);
    rebuild();
    endResetModel();
}

void RunDiffModel::setAllOpen(bool open) {
    beginResetModel();
    m_open.clear();
    if (open)
        for (const DiffSection &section : m_diff.sections)
            m_open.insert(section.title);
    rebuild();
    endResetModel();
}

void RunDiffModel::rebuild() {
    m_rows.clear();
    for (int s = 0; s < int(m_diff.sections.size()); ++s) {
        const DiffSection &section = m_diff.sections[std::size_t(s)];
        const bool open = m_open.contains(section.title);
        m_rows.push_back({s, headLine});
        for (int i = 0; i < int(section.lines.size()); ++i)
            if (open || !section.lines[std::size_t(i)].same)
                m_rows.push_back({s, i});
        if (section.differing() < int(section.lines.size()))
            m_rows.push_back({s, foldLine});
    }
}

const DiffLine *RunDiffModel::lineAt(const Row &row) const {
    return row.line < 0 ? nullptr : &m_diff.sections[std::size_t(row.section)].lines[std::size_t(row.line)];
}

QString RunDiffModel::foldText(const DiffSection &section) const {
    const int equal = int(section.lines.size()) - section.differing();
    if (m_open.contains(section.title))
        return tr("▾ fold what is equal");
    return equal == 1 ? tr("▸ 1 more is equal") : tr("▸ %1 more are equal").arg(equal);
}

int RunDiffModel::rowCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : int(m_rows.size());
}
int RunDiffModel::columnCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant RunDiffModel::data(const QModelIndex &index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const Row &row = m_rows[std::size_t(index.row())];
    const DiffSection &section = m_diff.sections[std::size_t(row.section)];
    if (role == HeadRole || role == FoldRole)
        return row.line == (role == HeadRole ? headLine : foldLine);
    if (role == Qt::TextAlignmentRole)
        return int((index.column() == Change ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    const DiffLine *line = lineAt(row);
    if (!line) {
        if (role != Qt::DisplayRole || index.column() != What)
            return {};
        return row.line == headLine ? section.title : foldText(section);
    }
    const QString texts[] = {line->label, line->a, line->b, line->change};
    if (role == Qt::DisplayRole)
        return texts[index.column()];
    if (role == Qt::ToolTipRole)
        return index.column() == What          ? line->help
               : index.column() == Change      ? (line->change.startsWith(u'×') ? tr("B ÷ A") : tr("B − A"))
               : texts[index.column()] == u"-" ? tr("not known of this run")
                                               : texts[index.column()];
    return {};
}

QVariant RunDiffModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation == Qt::Vertical)
        return role == Qt::DisplayRole ? QVariant(section + 1) : QVariant();
    const QString heads[] = {QString(), tr("A: %1").arg(m_diff.nameA), tr("B: %1").arg(m_diff.nameB), tr("B to A")};
    if (role != Qt::DisplayRole || section < 0 || section >= ColumnCount)
        return {};
    return heads[section];
}

QString RunDiffModel::text() const {
    QStringList lines = {QStringLiteral("\tA\tB\tB to A"),
                         QStringLiteral("run\t%1\t%2\t").arg(m_diff.runA, m_diff.runB)};
    for (const Row &row : m_rows)
        if (const DiffLine *line = lineAt(row))
            lines.append(QStringList{line->label, line->a, line->b, line->change}.join(u'\t'));
    return lines.join(u'\n') + u'\n';
}

} // namespace lockstep::core
