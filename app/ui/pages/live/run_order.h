// SPDX-License-Identifier: MIT
#pragma once
#include <QSortFilterProxyModel>

#include <cstddef>
#include <utility>
#include <vector>

namespace lockstep::ui {

/// The rows of Live's runs in an order that is given.
class RunOrder : public QSortFilterProxyModel {
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;
    void arrange(std::vector<int> ranks) {
        if (ranks == m_ranks)
            return;
        m_ranks = std::move(ranks);
        invalidate();
        sort(0);
    }

protected:
    [[nodiscard]] bool lessThan(const QModelIndex &left, const QModelIndex &right) const override {
        return rankOf(left.row()) < rankOf(right.row());
    }

private:
    [[nodiscard]] int rankOf(int row) const {
        return std::size_t(row) < m_ranks.size() ? m_ranks[std::size_t(row)] : row;
    }
    std::vector<int> m_ranks;
};

} // namespace lockstep::ui
