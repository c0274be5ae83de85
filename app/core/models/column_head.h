#pragma once
#include <cstddef>

#include <QString>
#include <QVariant>

namespace lockstep::core {

/// What every table here answers for headerData(): the column's head, and rows counted from 1.
template <std::size_t Count>
[[nodiscard]] QVariant columnHead(const char *const (&heads)[Count], int section, Qt::Orientation orientation,
                                  int role) {
    if (role != Qt::DisplayRole)
        return {};
    if (orientation == Qt::Vertical)
        return section + 1;
    return section >= 0 && section < int(Count) ? QVariant(QString::fromUtf8(heads[section])) : QVariant();
}

} // namespace lockstep::core
