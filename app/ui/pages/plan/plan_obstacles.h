// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>
#include <QStringList>
#include <QTimer>

#include <string>
#include <vector>

#include "experiment/plan.h"
#include "launch/script_check.h"

namespace lockstep::ui {
class DataNotice;
class PlanDoctor;
class PlanPlaces;

/// Obstacles to a run besides its devices: its data set is not here, its script can't start, a node was not reached. While
/// there are any and the page is shown, it checks again every few seconds.
class PlanObstacles : public QObject {
    Q_OBJECT
public:
    PlanObstacles(const PlanPlaces &places, const DataNotice &data, QWidget *page);
    /// For core::expand(): obstacles that certainly stop a run.
    [[nodiscard]] core::WhyNot whyNot() const;
    /// The same, and nodes that the doctor did not reach, although a person may still try.
    [[nodiscard]] core::WhyNot whyNotNow() const;
    /// A sentence for each of these nodes.
    [[nodiscard]] QStringList unreached(const core::Plan &plan) const;
    /// Checks scripts of this plan that were not checked yet.
    void check(const core::Plan &plan, const core::Recipe &recipe);

Q_SIGNALS:
    void changed();

private:
    [[nodiscard]] std::string ofRun(const RunConfig &config, const std::vector<std::string> &command) const;
    [[nodiscard]] std::string ofNodes(const RunConfig &config) const;
    void ask();

    const PlanPlaces &m_places;
    const DataNotice &m_data;
    QWidget *m_page;
    core::Experiment m_asked; ///< whose scripts are checked
    core::ScriptTroubles m_scripts;
    core::ScriptCheck m_check;
    QTimer m_again;
};

} // namespace lockstep::ui
