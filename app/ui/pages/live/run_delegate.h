// SPDX-License-Identifier: MIT
#pragma once
#include <QStyledItemDelegate>

#include <vector>

#include "app/ui/pages/live/curve_lines.h"

namespace lockstep::ui {
class Theme;

/// The style of a row's run; null while the styles are older than the rows.
[[nodiscard]] const RunStyle *styleOfRow(const std::vector<RunStyle> &styles, const QModelIndex &index);

/// Paints a row of Live's list of runs: box, the run's line as it is drawn, its name on one line or two, and why it failed; its pin.
class RunDelegate : public QStyledItemDelegate {
public:
    static constexpr int nameLeft = 48;   ///< px in a row, before its name
    static constexpr int reasonLines = 3; ///< at most, for why a run failed

    RunDelegate(const Theme &theme, const std::vector<RunStyle> &styles, const RunHighlight &highlight, QObject *parent)
        : QStyledItemDelegate(parent), m_theme(theme), m_styles(styles), m_highlight(highlight) {}

    void paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const override;
    bool editorEvent(QEvent *event, QAbstractItemModel *model, const QStyleOptionViewItem &option,
                     const QModelIndex &index) override;

private:
    void paintName(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index, bool on) const;
    void paintLoss(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const;
    void paintPin(QPainter *painter, const QStyleOptionViewItem &option, bool on) const;

    const Theme &m_theme;
    const std::vector<RunStyle> &m_styles;
    const RunHighlight &m_highlight;
};

} // namespace lockstep::ui
