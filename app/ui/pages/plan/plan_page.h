// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

#include "app/ui/pages/plan/plan_draft.h"
#include "launch/detached_start.h"
#include "models/plan_model.h"

class QCheckBox;
class QComboBox;
class QPushButton;

namespace lockstep::ui {
class ConfigForm;
class DataNotice;
class DevicePicker;
class NodePicker;
class PlanDoctor;
class PlanObstacles;
class PlanPlaces;
class PlannedRunsCard;
class QueuePlace;
class RecipeList;
class RecipesCard;
class SettingsCard;
class Theme;
class Workspace;

/// Plan: recipes on the left, the form in the middle, what will run on the right, one big Start.
class PlanPage : public QWidget {
    Q_OBJECT
public:
    PlanPage(Theme &theme, Workspace &workspace, MachineFacts facts, QWidget *parent = nullptr);

    /// Chooses a recipe by name; "free" is the free choice. False when there is none of that name.
    bool choose(const QString &recipe);
    /// The recipe of that name, else the file.
    [[nodiscard]] Result<void> chooseOrOpen(const QString &nameOrFile);
    /// Asks for a script of the person's own, which becomes a recipe.
    void studyScript();
    /// Shows this one config as a choice of its own, below the recipes.
    void fillIn(const RunRecord &record, const QString &name);
    /// Shows above Start why it failed, until something is edited or Start is pressed again.
    void setStartError(const QString &sentence);
    [[nodiscard]] ConfigForm *form() const;
    [[nodiscard]] QPushButton *startButton() const;
    [[nodiscard]] QPushButton *tryButton() const;
    [[nodiscard]] QComboBox *sideBySideBox() const;
    [[nodiscard]] QCheckBox *quickBox() const;
    [[nodiscard]] RecipeList *recipes() const;
    [[nodiscard]] DevicePicker *devicePicker() const;
    [[nodiscard]] NodePicker *nodePicker() const;
    [[nodiscard]] PlanDoctor *doctor() const;
    [[nodiscard]] QueuePlace *queuePlace() const;
    [[nodiscard]] QPushButton *hereButton() const;
    [[nodiscard]] QPushButton *nodesButton() const;
    [[nodiscard]] QString mistakes() const;
    [[nodiscard]] QString commandText() const;
    [[nodiscard]] DataNotice *dataNotice() const;
    [[nodiscard]] const PlanDraft &draft() const { return m_draft; }
    [[nodiscard]] core::PlanModel &plan();

Q_SIGNALS:
    void startRequested(const lockstep::core::StartRequest &request);
    void nodesWanted(); ///< a person wants to add nodes
    void failed(const QString &sentence);

private:
    void connectParts();
    void refresh();
    [[nodiscard]] core::EstimateSource estimates() const;
    void showMistakes(std::vector<Error> wrong, const core::Plan *plan);
    void start();
    void restyle();

    Workspace &m_workspace;
    MachineFacts m_facts;
    PlanDraft m_draft;
    RecipesCard *m_recipes;
    SettingsCard *m_settings;
    PlannedRunsCard *m_planned;
    PlanPlaces *m_places;
    PlanObstacles *m_obstacles;
    bool m_valid = false;
};

} // namespace lockstep::ui
