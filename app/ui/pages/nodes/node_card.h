// SPDX-License-Identifier: MIT
#pragma once
#include <QHash>

#include <optional>

#include "app/ui/widgets/card.h"
#include "nodes/node_probe.h"

class QComboBox;
class QGridLayout;
class QLabel;
class QPushButton;
class QToolButton;

namespace lockstep::ui {
class ProgressBar;
class Theme;

/// The last snapshot of one node: how busy, memory and disk, versions, clock, interfaces. Its signals are a person's
/// requests.
class NodeCard : public Card {
    Q_OBJECT
public:
    NodeCard(Theme &theme, const core::NodeEntry &node, QWidget *parent = nullptr);

    void setSnapshot(const core::NodeSnapshot &snapshot, bool live);
    /// Text and progress bar of work for this node ("copying torch, 12 MiB of 480 MiB"); empty: none.
    void setWork(const QString &words, std::optional<double> fraction);
    [[nodiscard]] QString name() const;
    [[nodiscard]] QString stateText() const;
    [[nodiscard]] QString figure(const QString &title) const; ///< as shown; empty: not shown
    [[nodiscard]] QPushButton *syncButton() const { return m_sync; }
    [[nodiscard]] QComboBox *interfaceBox() const { return m_interface; }
    [[nodiscard]] QPushButton *againButton() const { return m_again; }

Q_SIGNALS:
    void syncWanted();
    void removeWanted();
    void againWanted();                             ///< connect once more, with questions
    void interfaceChosen(const QString &interface); ///< empty: the doctor's choice

private:
    void showFigures(const core::NodeSnapshot &snapshot);
    void showInterfaces(const core::NodeSnapshot &snapshot);
    Theme &m_theme;
    core::NodeEntry m_node;
    QLabel *m_problem, *m_work;
    QPushButton *m_sync, *m_again;
    QToolButton *m_remove;
    QComboBox *m_interface;
    ProgressBar *m_bar, *m_busy, *m_memory;
    QGridLayout *m_figures;
    QHash<QString, QLabel *> m_values;
    QStringList m_titles;
};

} // namespace lockstep::ui
