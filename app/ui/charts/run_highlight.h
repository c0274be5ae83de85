// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>
#include <QString>

namespace lockstep::ui {

/// The run under the pointer, in any chart or list. Charts that share this object emphasise that run and pale all
/// others.
class RunHighlight : public QObject {
    Q_OBJECT
public:
    struct Run {
        QString id;   ///< empty: of no run
        QString name; ///< its repeats share it
        bool operator==(const Run &) const = default;
    };
    using QObject::QObject;

    void point(const Run &run);
    void clear() { point({}); }
    [[nodiscard]] const Run &run() const { return m_run; }
    /// Whether a run of another name is highlighted.
    [[nodiscard]] bool pales(const QString &name) const { return !m_run.id.isEmpty() && name != m_run.name; }
    [[nodiscard]] bool isOn(const QString &id) const { return !id.isEmpty() && id == m_run.id; }

Q_SIGNALS:
    void changed();

private:
    Run m_run;
};

} // namespace lockstep::ui
