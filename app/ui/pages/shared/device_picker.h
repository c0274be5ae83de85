// SPDX-License-Identifier: MIT
#pragma once
#include <QAbstractButton>
#include <QTimer>
#include <QWidget>

#include <vector>

#include "launch/device_probe.h"

class QGridLayout;
class QLabel;

namespace lockstep::ui {
class Theme;

/// One device as a box: its name, its cores or memory, how busy it is and with which program. Checked: runs may use it.
class DeviceBox : public QAbstractButton {
    Q_OBJECT
public:
    DeviceBox(const Theme &theme, QWidget *parent);
    void show(const core::SeenDevice &device, int number);
    [[nodiscard]] const core::SeenDevice &device() const { return m_device; }
    [[nodiscard]] QString use() const { return m_use; } ///< "free", "96 % busy: python3"
    [[nodiscard]] QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent *event) override;

private:
    const Theme &m_theme;
    core::SeenDevice m_device;
    QString m_title, m_what, m_use;
    bool m_busy = false;
};

/// A machine's devices as boxes to choose from: this one's, or a node's. Probes them now and again while they are shown.
class DevicePicker : public QWidget {
    Q_OBJECT
public:
    explicit DevicePicker(const Theme &theme, QWidget *parent = nullptr);
    /// Another machine's, none of which has to be chosen; `environment`: see DeviceProbe. Before it is shown.
    void pickFrom(core::CommandPrefix prefix, std::map<std::string, std::string> environment);
    void setWaitingText(const QString &text); ///< while there is no box
    void probeAgain();                        ///< where there is no box yet
    /// Checks those that the plan uses ("0" of kind cpu, or a GPU's UUID); emits nothing.
    void setChosen(const QString &kind, const QStringList &devices);
    void setCoresPerDevice(int cores);
    void showDevices(const std::vector<core::SeenDevice> &devices);
    [[nodiscard]] bool probing() const { return m_probe.isRunning(); }
    [[nodiscard]] const std::vector<DeviceBox *> &boxes() const { return m_boxes; }
    [[nodiscard]] QString problem() const; ///< why there is no box; empty while there is one or the probe runs

Q_SIGNALS:
    /// All of one kind; empty only of a machine of which none has to be chosen.
    void chosen(const QString &kind, const QStringList &devices);
    void probed(); ///< the boxes are there, or a sentence that says why not

protected:
    void showEvent(QShowEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;

private:
    void probe();
    void pressed(DeviceBox *box);
    void layOut();
    [[nodiscard]] static QString keyOf(const core::SeenDevice &device);

    const Theme &m_theme;
    core::DeviceProbe m_probe;
    core::CommandPrefix m_prefix;
    QTimer m_again;
    QGridLayout *m_grid;
    QLabel *m_none;
    std::vector<DeviceBox *> m_boxes;
    QString m_kind;
    QStringList m_chosen;
    int m_coresPerDevice = 1, m_columns = 0;
    bool m_elsewhere = false, m_problem = false;
};

} // namespace lockstep::ui
