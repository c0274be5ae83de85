// SPDX-License-Identifier: MIT
#pragma once
#include <QDialog>
#include <QSortFilterProxyModel>
#include <QStandardItemModel>
#include <QStyledItemDelegate>

#include "app/ui/shell/window_commands.h"

class QLabel;
class QLineEdit;
class QListView;

namespace lockstep::ui {
class Theme;

/// The commands whose title or hint holds every word typed; those whose title begins with the text come first.
class CommandFilter : public QSortFilterProxyModel {
    Q_OBJECT
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;
    void setText(const QString &text);

protected:
    [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex &parent) const override;
    [[nodiscard]] bool lessThan(const QModelIndex &left, const QModelIndex &right) const override;

private:
    [[nodiscard]] int rank(const QString &title) const;
    QString m_text;
    QStringList m_words;
};

/// Title left, keys right.
class CommandDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    enum Role { KeysRole = Qt::UserRole + 1, HintRole, IndexRole };
    CommandDelegate(const Theme &theme, QObject *parent) : QStyledItemDelegate(parent), m_theme(theme) {}
    void paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const override;
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem &option, const QModelIndex &index) const override;

private:
    const Theme &m_theme;
};

/// A search field over all commands; Enter runs the selected one.
class CommandPalette : public QDialog {
    Q_OBJECT
public:
    CommandPalette(const Theme &theme, std::vector<WindowCommand> commands, QWidget *window);
    bool eventFilter(QObject *watched, QEvent *event) override;
    [[nodiscard]] QLineEdit *field() const { return m_field; }
    [[nodiscard]] QListView *list() const { return m_list; }

private:
    void run();

    std::vector<WindowCommand> m_commands;
    QStandardItemModel m_model;
    CommandFilter m_filter;
    QLineEdit *m_field;
    QListView *m_list;
    QLabel *m_none;
};

} // namespace lockstep::ui
