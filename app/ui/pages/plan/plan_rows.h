// SPDX-License-Identifier: MIT
#pragma once
#include <QStyledItemDelegate>

namespace lockstep::core {
class PlanModel;
}

namespace lockstep::ui {
class Theme;

/// A row of "what will run": place in the queue, method mark and name, in two lines if it is long, repeat, the devices as boxes, the
/// estimate; or why it won't run.
/// Reads core's PlanModel.
class PlanRowDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    explicit PlanRowDelegate(const Theme &theme, QObject *parent = nullptr);
    void paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const override;
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem &option, const QModelIndex &index) const override;

private:
    struct Texts {
        QStringList name, reason; ///< in lines; reason: why it won't run, else empty
        QString estimate;
    };
    [[nodiscard]] static Texts textsOf(const core::PlanModel &model, int row, int width);
    void paintDevices(QPainter *painter, const QRect &box, const QStringList &devices, const QColor &color) const;
    const Theme &m_theme;
};

/// A row of the recipes: the title. What the chosen one is about stands below the list.
class RecipeDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    enum Role { NameRole = Qt::UserRole + 1 };
    explicit RecipeDelegate(const Theme &theme, QObject *parent = nullptr);
    void paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const override;
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem &option, const QModelIndex &index) const override;

private:
    [[nodiscard]] static QStringList linesOf(const QModelIndex &index, int width);
    const Theme &m_theme;
};

} // namespace lockstep::ui
