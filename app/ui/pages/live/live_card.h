// SPDX-License-Identifier: MIT
#pragma once
#include <QTimer>

#include <chrono>
#include <vector>

#include "app/ui/widgets/card.h"
#include "store/run_store.h"

class QComboBox;
class QSettings;

namespace lockstep::ui {
class ChartSource;
class ShownRuns;

/// A card on Live: one chart of the shown runs. It redraws itself after the changes that it watches, and does not
/// know the page.
class LiveCard : public Card {
    Q_OBJECT
public:
    using Changes = core::RunStore::Changes;

    /// Redraws the chart, now or after the card's pause.
    void refresh(Changes what);
    /// It has nothing to show, so it is hidden.
    [[nodiscard]] virtual bool isBlank() const { return false; }
    /// For exports.
    [[nodiscard]] virtual ChartSource *picture() const = 0;
    /// Other runs were opened: resets the zoom.
    virtual void showAll() {}
    /// What a person chose in its head.
    virtual void saveChoices(QSettings &settings) const;
    virtual void restoreChoices(const QSettings &settings);
    void resetChoices();

Q_SIGNALS:
    /// Asks for a refresh() with these changes: a person chose something else, or its pause is over.
    void refreshWanted(lockstep::core::RunStore::Changes what);

protected:
    /// `watched`: the changes after which it is redrawn. `pause`: the least time between two drawings.
    LiveCard(const QString &title, const ShownRuns &shown, Changes watched, QWidget *parent,
             std::chrono::milliseconds pause = std::chrono::milliseconds(0));
    virtual void draw(Changes what) = 0;
    /// A choice in the card's head, kept in the settings by its key.
    QComboBox *addChoice(const char *key, const QStringList &items, const QString &hint);
    [[nodiscard]] const ShownRuns &shown() const { return m_shown; }

private:
    struct Choice {
        QString key;
        QComboBox *box;
    };

    const ShownRuns &m_shown;
    const Changes m_watched;
    std::vector<Choice> m_choices;
    QTimer m_rest; ///< runs during the pause after a drawing
    Changes m_waiting;
};

/// Least time between two drawings of means over a whole run, which change slowly.
constexpr std::chrono::milliseconds pauseOfMeans{250};

} // namespace lockstep::ui
