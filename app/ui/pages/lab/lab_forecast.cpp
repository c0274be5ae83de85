// SPDX-License-Identifier: MIT
#include "app/ui/pages/lab/lab_forecast.h"

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/scrolled_body.h"
#include "app/ui/widgets/tables.h"
#include "base/command_prefix.h"
#include "base/format.h"
#include "base/last_line.h"
#include "experiment/recipe.h"
#include "lab/forecast_grades.h"
#include "models/lab_tables.h"

namespace lockstep::ui {

LabForecast::LabForecast(const Theme &theme, QWidget *parent) : Card(tr("Forecast"), parent) {
    m_recipe = new QComboBox(this);
    m_recipe->setAccessibleName(tr("Recipe to forecast"));
    for (const std::string &name : core::builtInRecipes())
        m_recipe->addItem(QString::fromStdString(name));
    m_recipe->setCurrentText(QStringLiteral("lenet-dp-vs-ddp"));
    m_forecast = new QPushButton(tr("Forecast"), this);
    m_forecast->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_M));
    m_forecast->setToolTip(
        tr("Trains single devices for some seconds and predicts how long the recipe's methods take; later "
           "runs grade it (Ctrl+Shift+M)"));
    addTool(m_recipe);
    addTool(m_forecast);
    m_words = makeLabel({}, "secondary", this);
    m_words->setWordWrap(true);
    m_words->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_table = makeTable(theme, this, 0);
    m_table->setModel(&m_model);
    m_table->setAccessibleName(tr("Forecast"));
    m_table->hide();
    m_words->setText(tr("Reading the forecasts…"));
    body()->addWidget(m_table);
    body()->addWidget(m_words);
    connect(m_recipe, &QComboBox::activated, this, [this] {
        m_chosen = true;
        if (m_making.state() == QProcess::NotRunning)
            showForecast();
    });
    connect(&m_reader, &core::ForecastReader::read, this, [this](const core::ReadForecasts &found) {
        m_read = found;
        if (m_making.state() == QProcess::NotRunning)
            showForecast();
    });
    connect(m_forecast, &QPushButton::clicked, this, &LabForecast::press);
    connect(&m_making, &QProcess::finished, this, &LabForecast::over);
}

LabForecast::~LabForecast() {
    m_making.disconnect(this);
    m_making.terminate();
    m_making.waitForFinished(500);
}

QString LabForecast::sentence() const {
    return m_words->text();
}

void LabForecast::show(std::vector<NodePlace> places) {
    m_places = std::move(places);
    read();
}

void LabForecast::read() {
    m_reader.ask(m_places);
}

void LabForecast::showForecast() {
    const std::vector<core::ForecastRecord> &made = m_read.made;
    for (const core::ForecastRecord &one : made) // of a recipe of one's own, or of a run
        if (const QString name = QString::fromStdString(one.recipe); m_recipe->findText(name) < 0)
            m_recipe->addItem(name);
    if (!m_chosen && !made.empty())
        m_recipe->setCurrentText(QString::fromStdString(made.front().recipe));
    const auto record = std::ranges::find(made, m_recipe->currentText().toStdString(), &core::ForecastRecord::recipe);
    m_table->setVisible(record != made.end());
    if (record == made.end()) {
        m_words->setText(tr("No forecast of this recipe yet"));
        return;
    }
    m_model.setTable(core::forecastTable(*record, core::outcomesOf(*record, m_read.runs)));
    const std::size_t buckets = record->forecast.bucketsBytes.size();
    QStringList words = {tr("%1, %2. One device alone: %3 a step. Gradient: %4 in %5.")
                             .arg(QString::fromStdString(record->title), core::wallTime(record->startWallUs),
                                  core::shortTime(record->forecast.oneDeviceStepS),
                                  core::bytes(record->forecast.gradientBytes),
                                  buckets == 1 ? tr("1 bucket") : tr("%1 buckets").arg(buckets))};
    if (const std::string elsewhere = core::elsewhereSentence(*record, m_read.place.machine); !elsewhere.empty())
        words << QString::fromStdString(elsewhere);
    QStringList best;
    for (const std::string &sentence : core::bestDevicesSentences(record->input.config, record->forecast))
        best << QString::fromStdString(sentence);
    words << best.join(u' ') << QString::fromStdString(core::sentenceOf(record->calibration));
    if (m_read.tally.graded > 0 && core::isFor(*record, m_read.place))
        words << QString::fromStdString(core::sentenceOf(m_read.tally));
    for (const std::string &sentence : record->forecast.reservations)
        words << QString::fromStdString(sentence);
    m_words->setText(words.join(u'\n'));
    fitColumns(m_table, 64, 320); // a row without an answer says why
    fitHeight(m_table);
}

/// Starts one, or cancels the one that is being made.
void LabForecast::press() {
    if (m_making.state() != QProcess::NotRunning) {
        m_cancelled = true;
        m_making.terminate();
        return;
    }
    const auto ctl = core::findCtl();
    if (!ctl) {
        Q_EMIT failed(QString::fromStdString(ctl.error().message()));
        return;
    }
    m_cancelled = false;
    setWords(m_forecast, tr("Cancel"));
    m_words->setText(tr("Training on single devices for some seconds…"));
    m_making.setStandardInputFile(QProcess::nullDevice());
    QStringList arguments{QStringLiteral("forecast"), m_recipe->currentText()};
    if (!m_places.empty())
        arguments << QStringLiteral("--nodes") << QString::fromStdString(toText(m_places));
    m_making.start(QString::fromStdString(*ctl), arguments);
}

void LabForecast::over() {
    setWords(m_forecast, tr("Forecast"));
    const bool done = m_making.exitStatus() == QProcess::NormalExit && m_making.exitCode() == 0;
    if (!done && !m_cancelled)
        Q_EMIT failed(core::lastLine(m_making.readAllStandardError()));
    m_making.readAllStandardOutput();
    read();
}

} // namespace lockstep::ui

#include "moc_lab_forecast.cpp"
