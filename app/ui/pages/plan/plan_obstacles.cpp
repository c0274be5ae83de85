// SPDX-License-Identifier: MIT
#include "app/ui/pages/plan/plan_obstacles.h"

#include <QWidget>

#include <algorithm>

#include "app/ui/pages/plan/data_notice.h"
#include "app/ui/pages/plan/plan_places.h"
#include "app/ui/pages/shared/plan_doctor.h"
#include "ipc/model_facts.h"

namespace lockstep::ui {

PlanObstacles::PlanObstacles(const PlanPlaces &places, const DataNotice &data, QWidget *page)
    : QObject(page), m_places(places), m_data(data), m_page(page) {
    m_again.setInterval(5000);
    connect(&m_again, &QTimer::timeout, this, [this] {
        if (!m_page->isVisible())
            return;
        ask();
        Q_EMIT changed(); // data and nodes are checked when asked for
    });
    connect(&m_check, &core::ScriptCheck::answered, this, [this](const core::ScriptTroubles &troubles) {
        core::ScriptTroubles now = m_scripts;
        for (const auto &[command, why] : troubles)
            now[command] = why;
        if (now != m_scripts) {
            m_scripts = std::move(now);
            Q_EMIT changed();
        }
    });
}

core::WhyNot PlanObstacles::whyNot() const {
    return [this](const RunConfig &config, const std::vector<std::string> &command) { return ofRun(config, command); };
}

core::WhyNot PlanObstacles::whyNotNow() const {
    return [this](const RunConfig &config, const std::vector<std::string> &command) {
        const std::string why = ofRun(config, command);
        return why.empty() ? ofNodes(config) : why;
    };
}

QStringList PlanObstacles::unreached(const core::Plan &plan) const {
    QStringList out;
    for (const core::PlannedRun &run : plan.runs)
        if (const QString why = QString::fromStdString(ofNodes(run.config)); !why.isEmpty() && !out.contains(why))
            out.append(why);
    return out;
}

std::string PlanObstacles::ofNodes(const RunConfig &config) const {
    for (const NodePlace &place : config.nodes)
        if (std::string why = m_places.doctor()->whyUnusable(place.host); !why.empty())
            return why;
    return {};
}

std::string PlanObstacles::ofRun(const RunConfig &config, const std::vector<std::string> &command) const {
    if (!command.empty()) {
        const auto found = config.nodes.empty() ? m_scripts.find(command) : m_scripts.end();
        return found == m_scripts.end() ? std::string() : found->second;
    }
    // A folder of the person's own is checked by the trainer, which knows what it needs.
    const bool here = config.nodes.empty() || std::ranges::any_of(config.nodes, &std::string::empty, &NodePlace::host);
    if (const auto there = checkModelFile(config.model); here && !there)
        return there.error().what;
    return here && config.dataDir.empty() ? m_data.whyMissing(config.dataset) : std::string();
}

void PlanObstacles::check(const core::Plan &plan, const core::Recipe &recipe) {
    const bool stands = std::ranges::any_of(plan.runs, [this](const core::PlannedRun &run) {
        return !run.runnable() && !ofRun(run.config, run.command).empty();
    });
    if (stands != m_again.isActive())
        stands ? m_again.start() : m_again.stop();
    core::Plan scripts;
    bool news = false;
    for (core::PlannedRun run : plan.runs)
        if (!run.command.empty() && run.config.nodes.empty()) {
            run.notRunReason.clear(); // perhaps what was asked before
            news = news || !m_scripts.contains(run.command);
            scripts.runs.push_back(std::move(run));
        }
    m_asked = scripts.runs.empty() ? core::Experiment() : core::makeExperiment(scripts, recipe, false, {});
    if (news)
        ask();
}

void PlanObstacles::ask() {
    if (!m_asked.entries.empty() && !m_check.asking())
        m_check.ask(m_asked);
}

} // namespace lockstep::ui

#include "moc_plan_obstacles.cpp"
