// SPDX-License-Identifier: MIT
#pragma once
#include <QTimer>
#include <QWidget>

#include "app/ui/pages/plan/plan_draft.h"
#include "launch/detached_start.h"
#include "models/plan_model.h"

class QAction;
class QCheckBox;
class QComboBox;
class QLabel;
class QListView;
class QPlainTextEdit;
class QPushButton;
class QToolButton;

namespace lockstep::ui {
class ConfigForm;
class DataNotice;
class DevicePicker;
class NodePicker;
class PlaceSwitch;
class PlanDoctor;
class QueuePlace;
class RecipeList;
class SshAsker;
class Theme;
class Workspace;

/// Plan: recipes on the left, the form in the middle, what will run on the right, one big Start.
class PlanPage : public QWidget {
    Q_OBJECT
public:
    PlanPage(Theme &theme, Workspace &workspace, MachineFacts facts, QWidget *parent = nullptr);

    /// Chooses a recipe by name; "free" is the free choice. False when there is none of that name.
    bool choose(const QString &recipe);
    /// Shows this one config as a choice of its own, below the recipes.
    void fillIn(const RunConfig &config, const QString &name);
    [[nodiscard]] ConfigForm *form() const { return m_form; }
    [[nodiscard]] QPushButton *startButton() const { return m_start; }
    [[nodiscard]] QComboBox *sideBySideBox() const { return m_sideBySide; }
    [[nodiscard]] QCheckBox *quickBox() const { return m_quick; }
    [[nodiscard]] RecipeList *recipes() const { return m_recipes; }
    [[nodiscard]] DevicePicker *devicePicker() const { return m_devices; }
    [[nodiscard]] NodePicker *nodePicker() const { return m_nodes; }
    [[nodiscard]] PlanDoctor *doctor() const { return m_doctor; }
    [[nodiscard]] QueuePlace *queuePlace() const { return m_queuePlace; }
    [[nodiscard]] QPushButton *hereButton() const;
    [[nodiscard]] QPushButton *nodesButton() const;
    [[nodiscard]] QString mistakes() const;
    [[nodiscard]] QString commandText() const;
    [[nodiscard]] DataNotice *dataNotice() const { return m_data; }
    [[nodiscard]] const PlanDraft &draft() const { return m_draft; }
    [[nodiscard]] core::PlanModel &plan() { return m_model; }

Q_SIGNALS:
    void startRequested(const lockstep::core::StartRequest &request);
    void nodesWanted(); ///< a person wants to add nodes
    void failed(const QString &sentence);

private:
    QWidget *buildRecipes();
    QWidget *buildForm();
    QWidget *buildPlan();
    QWidget *buildWhere(QWidget *parent);
    void buildNodes(QWidget *parent);
    void runOverNodes(bool on);
    void showNodes(const core::Plan *plan); ///< null: none, for its mistakes
    [[nodiscard]] std::vector<NodePlace> chosenPlaces() const;
    [[nodiscard]] QString whyNoNodes() const; ///< over nodes, and none is chosen; else empty
    [[nodiscard]] bool reachesThisMachine() const;
    void doctorAnswered();
    [[nodiscard]] bool mayStart();
    [[nodiscard]] QString startWords() const;
    void takeDraft(PlanDraft draft);
    void openRecipe();
    void saveRecipe();
    void duplicateRecipe();
    void shareRecipe();
    void removeRecipe();
    void tellAboutRecipe();
    void refresh();
    void showCommand();
    [[nodiscard]] bool dataMissing();
    void showChosenDevices(const core::Plan &plan);
    void start();
    void restyle();

    Theme &m_theme;
    Workspace &m_workspace;
    MachineFacts m_facts;
    PlanDraft m_draft;
    core::PlanModel m_model;
    RecipeList *m_recipes;
    QToolButton *m_about, *m_openFile, *m_save;
    QAction *m_remove;
    ConfigForm *m_form;
    DataNotice *m_data;
    DevicePicker *m_devices;
    SshAsker *m_asker;
    NodePicker *m_nodes;
    PlanDoctor *m_doctor;
    QueuePlace *m_queuePlace;
    PlaceSwitch *m_where;
    std::string m_keptNodes; ///< chosen before this machine was
    QCheckBox *m_quick;
    QComboBox *m_repeats, *m_sideBySide;
    QPushButton *m_reset, *m_start, *m_copy;
    QListView *m_rows;
    QLabel *m_head, *m_mistakes, *m_summary, *m_notes;
    QPlainTextEdit *m_command;
    bool m_valid = false, m_overNodes = false, m_startWhenAsked = false;
};

} // namespace lockstep::ui
