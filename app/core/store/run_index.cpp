#include "store/run_index.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include <QDir>
#include <QFileInfo>
#include <QSqlError>
#include <QSqlQuery>
#include <QVariant>

#include "analysis/result_table.h"
#include "ipc/file_system.h"
#include "ipc/run_folder.h"

namespace lockstep::core {
namespace {

constexpr int schemaVersion = 1;

const char *const createTable =
    "CREATE TABLE IF NOT EXISTS runs (run TEXT PRIMARY KEY, stamp TEXT, name TEXT, experiment TEXT, recipe TEXT,"
    " method TEXT, device TEXT, backend TEXT, model TEXT, dataset TEXT, host TEXT, repeat INTEGER, devices INTEGER,"
    " epochs INTEGER, state TEXT, reason TEXT, start_us INTEGER, training_s REAL, run_s REAL, accuracy REAL, loss REAL,"
    " work TEXT)";

QVariant orNull(std::optional<double> value) {
    return value ? QVariant(*value) : QVariant(QMetaType(QMetaType::Double));
}

std::optional<double> orNothing(const QVariant &value) {
    return value.isNull() ? std::nullopt : std::optional(value.toDouble());
}

QVariant text(const std::string &value) {
    return QString::fromStdString(value);
}

/// What must be the same for a row to stand: a run that lives has another one at every look.
QString stampOf(const RunFolder &folder) {
    const QFileInfo config(QString::fromStdString(folder.config())), result(QString::fromStdString(folder.result()));
    const auto of = [](const QFileInfo &file) {
        return QStringLiteral("%1:%2")
            .arg(file.exists() ? file.lastModified().toMSecsSinceEpoch() : 0)
            .arg(file.size());
    };
    return of(config) + u'/' + of(result);
}

Error sqlError(const QSqlQuery &query) {
    return Error::failed("the index of runs can't be used: " + query.lastError().text().toStdString(),
                         "delete index.sqlite: it is rebuilt");
}

bool prepare(const QString &connection) {
    QSqlQuery query(QSqlDatabase::database(connection));
    if (!query.exec(QStringLiteral("PRAGMA quick_check")) || !query.next() || query.value(0).toString() != u"ok")
        return false;
    query.exec(QStringLiteral("PRAGMA user_version"));
    const int version = query.next() ? query.value(0).toInt() : 0;
    query.finish();
    if (version != 0 && version != schemaVersion)
        return false;
    query.exec(QStringLiteral("PRAGMA journal_mode=WAL"));
    query.exec(QStringLiteral("PRAGMA synchronous=OFF")); // only an index: a torn one is rebuilt
    query.exec(QStringLiteral("PRAGMA busy_timeout=3000"));
    return query.exec(QString::fromLatin1(createTable)) &&
           query.exec(QStringLiteral("PRAGMA user_version=%1").arg(schemaVersion));
}

void takeRecord(const RunRecord &record, IndexedRun &row) {
    row.name = record.name;
    row.experiment = record.experiment;
    row.recipe = record.recipe;
    row.repeat = record.repeat;
    row.startWallUs = record.startWallUs;
    row.devices = std::max<int>(1, int(record.deviceNames.size()));
    if (!record.machines.empty())
        row.host = record.machines.front().host;
    if (!record.config)
        return;
    const RunConfig &config = *record.config;
    row.method = toString(config.method);
    row.devices = deviceCount(config);
    row.device = config.device;
    row.backend = config.method == Method::Ddp ? config.backend : "";
    row.model = config.model;
    row.dataset = config.dataset;
    row.epochs = config.epochs;
}

void takeWords(const Summary &summary, IndexedRun &row) {
    row.method = summary.method;
    row.model = summary.model;
    row.dataset = summary.dataset;
    row.epochs = int(summary.epochs.size());
}

void takeStatus(const RunStatus &status, IndexedRun &row) {
    using Kind = RunStatus::Kind;
    switch (status.kind) {
    case Kind::Starting:
        row.state = "starting";
        return;
    case Kind::Running:
        row.state = "running";
        return;
    case Kind::AgentDied:
        row.state = "failed";
        row.reason = status.sentence;
        return;
    case Kind::Finished:
        break;
    }
    const RunResult &result = *status.result;
    row.state = toString(result.state);
    row.reason = result.reason;
    if (result.runTimeS > 0)
        row.runTimeS = result.runTimeS;
    if (!result.summary)
        return;
    if (row.method.empty()) // a script: what it said of itself
        takeWords(*result.summary, row);
    row.totalTrainingTimeS = result.summary->totalTrainingTimeS;
    row.testAccuracy = result.summary->testAccuracy;
    if (row.method == "ddp" && !result.summary->backend.empty())
        row.backend = result.summary->backend;
    if (!result.summary->epochs.empty())
        row.finalLoss = result.summary->epochs.back().loss;
}

} // namespace

std::string workKey(const RunConfig &config) {
    RunConfig work = config;
    const RunConfig defaults;
    for (const char *key : {"seed", "init", "save_final", "init_method", "frames", "summary", "interface"}) {
        const FieldSpec *field = findField(key);
        if (field)
            (void)field->set(work, field->get(defaults));
    }
    std::string key;
    for (const FieldSpec &field : runConfigFields())
        if (field.get(work) != field.get(defaults))
            key += std::string(field.key) + "=" + field.get(work) + "\n";
    return key;
}

Result<RunIndex> RunIndex::open() {
    return open(runsFolder(), dataHome() + "/index.sqlite");
}

Result<RunIndex> RunIndex::open(const std::string &runsFolder, const std::string &indexFile) {
    static std::atomic<int> count = 0; // connection names must be unlike within a process
    if (const Result<void> made =
            realFileSystem().makeFolders(QFileInfo(QString::fromStdString(indexFile)).path().toStdString());
        !made)
        return fail(made.error());
    RunIndex index;
    index.m_runs = runsFolder;
    for (int attempt = 0; attempt < 2; ++attempt) {
        index.m_connection = QStringLiteral("lockstep-runs-%1").arg(count++);
        bool good = false;
        {
            QSqlDatabase database = QSqlDatabase::addDatabase(QStringLiteral("QSQLITE"), index.m_connection);
            if (!database.isValid()) {
                QSqlDatabase::removeDatabase(std::exchange(index.m_connection, {}));
                return fail(Error::failed("Qt's SQLite driver is missing", "install libqt6sql6-sqlite"));
            }
            database.setDatabaseName(QString::fromStdString(indexFile));
            good = database.open() && prepare(index.m_connection);
        }
        if (good)
            return index;
        QSqlDatabase::removeDatabase(std::exchange(index.m_connection, {}));
        for (const char *suffix : {"", "-wal", "-shm"})
            QFile::remove(QString::fromStdString(indexFile) + QString::fromLatin1(suffix));
    }
    return fail(Error::failed("the index " + indexFile + " can't be opened", "check the folder's permissions"));
}

RunIndex::~RunIndex() {
    if (!m_connection.isEmpty())
        QSqlDatabase::removeDatabase(m_connection);
}

RunIndex::RunIndex(RunIndex &&other) noexcept
    : m_connection(std::exchange(other.m_connection, {})), m_runs(std::move(other.m_runs)) {}

RunIndex &RunIndex::operator=(RunIndex &&other) noexcept {
    std::swap(m_connection, other.m_connection);
    std::swap(m_runs, other.m_runs);
    return *this;
}

Result<int> RunIndex::refresh() {
    QSqlDatabase database = QSqlDatabase::database(m_connection);
    QSqlQuery query(database);
    std::map<std::string, std::pair<QString, std::string>> known;
    if (!query.exec(QStringLiteral("SELECT run, stamp, state FROM runs")))
        return fail(sqlError(query));
    while (query.next())
        known[query.value(0).toString().toStdString()] = {query.value(1).toString(),
                                                          query.value(2).toString().toStdString()};
    database.transaction();
    int changed = 0;
    const QDir folder(QString::fromStdString(m_runs));
    for (const QString &name : folder.entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
        const std::string run = name.toStdString();
        const RunFolder place{m_runs + "/" + run};
        if (!isRunId(run) || !QFile::exists(QString::fromStdString(place.config())))
            continue;
        const auto found = known.find(run);
        const bool settled = found != known.end() && found->second.first == stampOf(place) &&
                             found->second.second != "running" && found->second.second != "starting";
        if (found != known.end())
            known.erase(found);
        if (settled)
            continue;
        if (const Result<void> read = readRun(run); read)
            ++changed;
    }
    query.prepare(QStringLiteral("DELETE FROM runs WHERE run = ?"));
    for (const auto &[run, row] : known) { // gone from the disk
        query.bindValue(0, text(run));
        query.exec();
        ++changed;
    }
    database.commit();
    return changed;
}

Result<void> RunIndex::readRun(const std::string &run) {
    const RunFolder folder{m_runs + "/" + run};
    const Result<std::string> json = realFileSystem().readAll(folder.config());
    if (!json)
        return fail(json.error());
    const Result<RunRecord> record = runRecordFromJson(*json);
    if (!record)
        return fail(record.error());
    IndexedRun row;
    row.run = run;
    takeRecord(*record, row);
    takeStatus(readRunStatus(folder), row);
    QSqlQuery query(QSqlDatabase::database(m_connection));
    query.prepare(QStringLiteral("INSERT OR REPLACE INTO runs VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
    const QVariantList values = {text(run),
                                 stampOf(folder),
                                 text(row.name),
                                 text(row.experiment),
                                 text(row.recipe),
                                 text(row.method),
                                 text(row.device),
                                 text(row.backend),
                                 text(row.model),
                                 text(row.dataset),
                                 text(row.host),
                                 row.repeat,
                                 row.devices,
                                 row.epochs,
                                 text(row.state),
                                 text(row.reason),
                                 qlonglong(row.startWallUs),
                                 orNull(row.totalTrainingTimeS),
                                 orNull(row.runTimeS),
                                 orNull(row.testAccuracy),
                                 orNull(row.finalLoss),
                                 record->config && !isScript(*record) ? text(workKey(*record->config))
                                                                      : QVariant(QString())};
    for (const QVariant &value : values)
        query.addBindValue(value);
    if (!query.exec())
        return fail(sqlError(query));
    return {};
}

std::vector<IndexedRun> RunIndex::runs() const {
    std::vector<IndexedRun> out;
    QSqlQuery query(QSqlDatabase::database(m_connection));
    query.exec(
        QStringLiteral("SELECT run, name, experiment, recipe, method, device, backend, model, dataset, host, repeat,"
                       " devices, epochs, state, reason, start_us, training_s, run_s, accuracy, loss FROM runs"
                       " ORDER BY start_us DESC, run DESC"));
    const auto word = [&](int column) { return query.value(column).toString().toStdString(); };
    while (query.next()) {
        IndexedRun row;
        row.run = word(0);
        row.name = word(1);
        row.experiment = word(2);
        row.recipe = word(3);
        row.method = word(4);
        row.device = word(5);
        row.backend = word(6);
        row.model = word(7);
        row.dataset = word(8);
        row.host = word(9);
        row.repeat = query.value(10).toInt();
        row.devices = query.value(11).toInt();
        row.epochs = query.value(12).toInt();
        row.state = word(13);
        row.reason = word(14);
        row.startWallUs = query.value(15).toLongLong();
        row.totalTrainingTimeS = orNothing(query.value(16));
        row.runTimeS = orNothing(query.value(17));
        row.testAccuracy = orNothing(query.value(18));
        row.finalLoss = orNothing(query.value(19));
        out.push_back(std::move(row));
    }
    return out;
}

std::optional<double> RunIndex::estimate(const RunConfig &config) const {
    QSqlQuery query(QSqlDatabase::database(m_connection));
    query.prepare(QStringLiteral("SELECT run_s FROM runs WHERE work = ? AND state = 'done' AND run_s IS NOT NULL"
                                 " ORDER BY start_us DESC LIMIT 9"));
    query.addBindValue(text(workKey(config)));
    query.exec();
    std::vector<double> times;
    while (query.next())
        times.push_back(query.value(0).toDouble());
    return median(std::move(times));
}

} // namespace lockstep::core
