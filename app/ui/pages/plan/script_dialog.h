// SPDX-License-Identifier: MIT
#pragma once
#include <QDialog>
#include <QList>
#include <QPair>
#include <QString>

#include <memory>
#include <vector>

#include "base/machine_facts.h"
#include "experiment/study.h"
#include "launch/study_trial.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QSpinBox;
class QTimer;

namespace lockstep::ui {

/// What is typed into the dialog's fields.
struct ScriptEntries {
    QString script, python, arguments, processes = QStringLiteral("1,2");
    QList<QPair<QString, QString>> varied; ///< flag, values
    int steps = 300, repeats = 3;
};

/// A study of the person's own script (core/experiment/study.h): the file, its arguments, what varies. The script's flags are read
/// from its --help, and it is tried for one step before it becomes a recipe.
class ScriptDialog : public QDialog {
    Q_OBJECT
public:
    explicit ScriptDialog(MachineFacts facts, const ScriptEntries &entries, QWidget *parent = nullptr);
    ~ScriptDialog() override;
    /// After accept().
    [[nodiscard]] const core::Recipe &recipe() const { return m_recipe; }
    [[nodiscard]] ScriptEntries entries() const;

    struct Varied {
        QComboBox *flag;
        QLineEdit *values;
    };
    [[nodiscard]] QLineEdit *scriptField() const { return m_script; }
    [[nodiscard]] QLineEdit *pythonField() const { return m_python; }
    [[nodiscard]] QLineEdit *argumentsField() const { return m_arguments; }
    [[nodiscard]] QLineEdit *processesField() const { return m_processes; }
    [[nodiscard]] QSpinBox *stepsBox() const { return m_steps; }
    [[nodiscard]] const std::vector<Varied> &varied() const { return m_varied; }
    [[nodiscard]] QPushButton *tryButton() const { return m_try; }
    [[nodiscard]] QPushButton *planButton() const { return m_plan; }
    [[nodiscard]] QString state() const;   ///< what is being tried, or why it failed
    [[nodiscard]] QString printed() const; ///< the last lines of a script that failed

private:
    void browse();
    void check();
    void askForFlags();
    void takeFlags();
    void tryIt();
    void say(const QString &sentence, bool wrong, const QString &printed = {});
    void setTrying(bool trying);
    void plan(const core::Study &study, const core::StudyTrials &trials);
    [[nodiscard]] Result<core::Study> study() const;
    [[nodiscard]] Result<std::string> python() const; ///< empty: it is found

    MachineFacts m_facts;
    core::Recipe m_recipe;
    QWidget *m_fields; ///< all that can be edited
    QLineEdit *m_script, *m_python, *m_arguments, *m_processes;
    std::vector<Varied> m_varied;
    QSpinBox *m_steps, *m_repeats;
    QLabel *m_state;
    QPlainTextEdit *m_printed;
    QPushButton *m_try, *m_plan;
    QTimer *m_asking; ///< a moment after the last key
    std::unique_ptr<core::AttendedRun> m_help;
    std::string m_helpText;
    std::unique_ptr<core::StudyTrialJob> m_trial;
};

} // namespace lockstep::ui
