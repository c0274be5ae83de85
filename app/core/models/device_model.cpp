#include "models/device_model.h"

#include <algorithm>

#include "models/cells.h"
#include "models/column_head.h"
#include "models/roles.h"

namespace lockstep::core {
namespace {

const char *const deviceHeads[DeviceModel::ColumnCount] = {
    "Run",       "Device",           "Name",        "Utilisation (%)", "Last epoch (%)", "Memory used", "Memory",
    "Power (W)", "Temperature (°C)", "Clock (MHz)", "Throttled by"};

std::optional<double> epochUse(const RunStore &store, const std::string &device) {
    std::optional<double> use;
    for (const MergedEpoch &epoch : store.epochs())
        for (const DeviceUse &one : epoch.devices)
            if (one.device == device && one.utilizationMean)
                use = one.utilizationMean;
    return use;
}

TableCell percentCell(std::optional<double> fraction) {
    return TableCell::ofNumber(fraction, fraction ? QString::number(*fraction * 100, 'f', 0) : QStringLiteral("-"));
}

TableCell sampleCell(const DeviceSample &sample, int column) {
    switch (column) {
    case DeviceModel::Name:
        return TableCell::ofText(sample.name);
    case DeviceModel::Utilisation:
        return percentCell(sample.utilization);
    case DeviceModel::MemoryUsed:
        return TableCell::ofNumber(sample.memoryUsedBytes, bytes(sample.memoryUsedBytes));
    case DeviceModel::MemoryTotal:
        return TableCell::ofNumber(sample.memoryTotalBytes, bytes(sample.memoryTotalBytes));
    case DeviceModel::Power:
        return TableCell::ofNumber(sample.powerW);
    case DeviceModel::Temperature:
        return TableCell::ofNumber(sample.temperatureC);
    case DeviceModel::Clock:
        return TableCell::ofNumber(sample.clockMhz);
    case DeviceModel::Throttle: {
        QStringList reasons;
        for (const std::string &reason : sample.throttle)
            reasons << qs(reason);
        return TableCell::ofText(reasons.join(QStringLiteral(", ")));
    }
    default:
        return TableCell::ofText(QString());
    }
}

/// What a sample tells that may be another the next moment; a name and a memory's size stay.
bool ofThisMoment(int column) {
    return column == DeviceModel::Utilisation || column == DeviceModel::MemoryUsed || column == DeviceModel::Power ||
           column == DeviceModel::Temperature || column == DeviceModel::Clock || column == DeviceModel::Throttle;
}

} // namespace

DeviceModel::DeviceModel(RunSet *runs, QObject *parent) : QAbstractTableModel(parent), m_runs(runs), m_rows(rows()) {
    connect(runs, &RunSet::aboutToReset, this, [this] { beginResetModel(); });
    connect(runs, &RunSet::reset, this, [this] {
        m_rows = rows();
        endResetModel();
    });
    connect(runs, &RunSet::changed, this, &DeviceModel::changed);
}

std::optional<double> DeviceModel::valueOf(const DeviceSample &sample, Metric metric) {
    switch (metric) {
    case Metric::Utilisation:
        return sample.utilization;
    case Metric::Memory:
        return sample.memoryUsedBytes;
    case Metric::Power:
        return sample.powerW;
    case Metric::Temperature:
        return sample.temperatureC;
    }
    return std::nullopt;
}

QString DeviceModel::text(std::optional<double> value, Metric metric) {
    switch (metric) {
    case Metric::Utilisation:
        return percent(value, 0);
    case Metric::Memory:
        return bytes(value);
    case Metric::Power:
        return value ? significant(value) + QStringLiteral(" W") : significant(value);
    case Metric::Temperature:
        return value ? significant(value) + QStringLiteral(" °C") : significant(value);
    }
    return {};
}

QString DeviceModel::whyUnknown(const std::string &kind, Metric metric) {
    if (kind == "cuda")
        return QStringLiteral("the GPU's driver does not tell it");
    switch (metric) {
    case Metric::Utilisation:
        return QStringLiteral("the kernel's counters of these cores could not be read");
    case Metric::Memory:
        return QStringLiteral("a block of CPU cores has no memory of its own");
    case Metric::Power:
        return QStringLiteral("no meter tells what a block of CPU cores draws");
    case Metric::Temperature:
        return QStringLiteral("no sensor belongs to a block of CPU cores");
    }
    return {};
}

std::vector<DeviceModel::Row> DeviceModel::rows() const {
    std::vector<Row> out;
    for (int run = 0; run < m_runs->count(); ++run)
        for (const std::string &device : m_runs->at(run)->deviceNames())
            out.push_back({run, device});
    return out;
}

void DeviceModel::rebuild() {
    beginResetModel();
    m_rows = rows();
    endResetModel();
}

void DeviceModel::changed(int run, RunStore::Changes what) {
    if (!(what & (RunStore::Changes(RunStore::Devices) | RunStore::Record | RunStore::Epochs | RunStore::Link)))
        return;
    const std::vector<Row> now = rows();
    const bool same = now.size() == m_rows.size() &&
                      std::equal(now.begin(), now.end(), m_rows.begin(),
                                 [](const Row &a, const Row &b) { return a.run == b.run && a.device == b.device; });
    if (!same)
        return rebuild();
    for (std::size_t i = 0; i < m_rows.size(); ++i)
        if (m_rows[i].run == run)
            Q_EMIT dataChanged(index(int(i), 0), index(int(i), ColumnCount - 1));
}

const std::deque<LaneSample> *DeviceModel::history(int row) const {
    const Row &one = m_rows[std::size_t(row)];
    return m_runs->at(one.run)->lane(one.device);
}

int DeviceModel::rowCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : int(m_rows.size());
}
int DeviceModel::columnCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant DeviceModel::data(const QModelIndex &index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const Row &row = m_rows[std::size_t(index.row())];
    const RunStore *store = m_runs->at(row.run);
    if (role == MethodRole)
        return store->method();
    if (role == RunIdRole)
        return store->runId();
    const std::deque<LaneSample> *lane = store->lane(row.device);
    TableCell cell = TableCell::ofText(QString());
    if (index.column() == Run)
        cell = TableCell::ofText(m_runs->label(row.run));
    else if (index.column() == Device)
        cell = TableCell::ofText(row.device);
    else if (index.column() == EpochUtilisation)
        cell = percentCell(epochUse(*store, row.device));
    else if (lane && !lane->empty())
        cell = sampleCell(lane->back().sample, index.column());
    const QString unheard = ofThisMoment(index.column()) ? store->whyUnheard(row.device) : QString();
    if (!unheard.isEmpty() && cell.text != u"-")
        cell = index.column() == Throttle ? TableCell::ofText(QStringLiteral("-")) : TableCell::ofNumber(std::nullopt);
    switch (role) {
    case Qt::DisplayRole:
        return cell.text;
    case ValueRole:
        return cell.value;
    case Qt::TextAlignmentRole:
        return int((cell.number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::ToolTipRole:
        if (!unheard.isEmpty())
            return unheard;
        if (cell.text == u"-")
            return lane ? QStringLiteral("this device does not tell") : QStringLiteral("not sampled yet");
        return cell.text;
    default:
        return {};
    }
}

QVariant DeviceModel::headerData(int section, Qt::Orientation orientation, int role) const {
    return columnHead(deviceHeads, section, orientation, role);
}

} // namespace lockstep::core
