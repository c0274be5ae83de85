#pragma once
#include <QList>
#include <QWidget>

#include <vector>

#include "analysis/cell.h"

class QPushButton;
class QVBoxLayout;

namespace lockstep::ui {

/// Control runs that would tell a waterfall's settings apart, each one press away; the most telling ones where there are many.
class VerdictControls : public QWidget {
    Q_OBJECT
public:
    explicit VerdictControls(QWidget *parent = nullptr);
    void setRuns(const std::vector<core::SuggestedRun> &runs);
    /// Whether runs can be started from here, and the word that a button says of why not.
    void setStartable(bool startable, const QString &why);
    [[nodiscard]] const QList<QPushButton *> &buttons() const { return m_buttons; }

Q_SIGNALS:
    void wanted(const core::SuggestedRun &run);

private:
    void addRow(const core::SuggestedRun &run);
    std::vector<core::SuggestedRun> m_runs;
    QVBoxLayout *m_layout;
    QList<QPushButton *> m_buttons;
    bool m_startable = true;
    QString m_why;
};

} // namespace lockstep::ui
