#pragma once
#include <deque>
#include <vector>

#include <QAbstractTableModel>

#include "models/run_set.h"

namespace lockstep::core {

/// Devices of all runs: a row per device and run, latest sample in the columns; lanes by history().
class DeviceModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column {
        Run,
        Device,
        Name,
        Utilisation,
        EpochUtilisation,
        MemoryUsed,
        MemoryTotal,
        Power,
        Temperature,
        Clock,
        Throttle,
        ColumnCount
    };
    /// What a lane may show: 0..1, bytes, W, °C.
    enum class Metric { Utilisation, Memory, Power, Temperature };
    explicit DeviceModel(RunSet *runs, QObject *parent = nullptr);
    [[nodiscard]] static std::optional<double> valueOf(const DeviceSample &sample, Metric metric);
    /// "96 %", "1.2 GiB", "210 W", "64 °C", or "-".
    [[nodiscard]] static QString text(std::optional<double> value, Metric metric);
    /// Why a device of that kind ("cpu", "cuda") does not tell it.
    [[nodiscard]] static QString whyUnknown(const std::string &kind, Metric metric);
    [[nodiscard]] RunSet *runs() const { return m_runs; }
    /// Up to the last hour at 5 Hz, oldest first; null while nothing was sampled.
    [[nodiscard]] const std::deque<LaneSample> *history(int row) const;
    [[nodiscard]] int runAt(int row) const { return m_rows[std::size_t(row)].run; }
    [[nodiscard]] QString deviceAt(int row) const { return QString::fromStdString(m_rows[std::size_t(row)].device); }

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                      int role = Qt::DisplayRole) const override;

private:
    struct Row {
        int run = 0;
        std::string device;
    };
    void rebuild();
    void changed(int run, RunStore::Changes what);
    [[nodiscard]] std::vector<Row> rows() const;
    RunSet *m_runs;
    std::vector<Row> m_rows;
};

} // namespace lockstep::core
