// SPDX-License-Identifier: MIT
#include "store/run_index.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unordered_map>
#include <utility>

#include <QFileInfo>
#include <QSqlError>
#include <QSqlQuery>
#include <QVariant>

#include "ipc/command_template.h"
#include "ipc/crc32c.h"
#include "ipc/file_system.h"
#include "ipc/host_name.h"
#include "ipc/median.h"
#include "ipc/models.h"
#include "ipc/run_folder.h"
#include "store/run_index_rows_detail.h"

namespace lockstep::core {
namespace {

constexpr int rowsACommit = 500;
constexpr std::size_t runsForAnEstimate = 9; ///< the newest ones
constexpr std::array amountKeys{"epochs", "train_samples"};
constexpr int runsLookedAt = 200;
/// The state of a row that is no run: a folder whose record is refused, which is not read again until its stamp changes.
constexpr const char *refusedState = "refused";

QVariant boundText(const std::string &value) {
    return QString::fromStdString(value);
}

/// A row is up to date while this is the same. config, result and notes come by rename, which changes the folder's own time; what
/// people edit or repair by hand changes theirs. A live run is read at every refresh anyway.
QString stampOf(const RunFolder &folder) {
    QString out;
    for (const std::string &path : {folder.path, folder.notes(), folder.config(), folder.result()}) {
        struct stat info {};
        if (::stat(path.c_str(), &info) == 0)
            out += QStringLiteral("%1.%2:%3")
                       .arg(qlonglong(info.st_mtim.tv_sec))
                       .arg(qlonglong(info.st_mtim.tv_nsec))
                       .arg(S_ISDIR(info.st_mode) ? 0 : qlonglong(info.st_size));
        out += u'/';
    }
    return out;
}

IndexedRun refusedRow(const std::string &run) {
    IndexedRun row;
    row.run = run;
    row.state = refusedState;
    return row;
}

/// Whether a row of that state can change although no file of the run does.
bool isUnsettled(const QString &state, const RunFolder &folder) {
    return state == u"running" || state == u"starting" || (state == u"unknown" && !isThere(folder.result()));
}

std::vector<std::string> runsIn(const std::string &folder) {
    std::vector<std::string> out;
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        if (std::string name = at->path().filename().string(); isRunId(name))
            out.push_back(std::move(name));
    std::sort(out.begin(), out.end(), std::greater<>()); // the newest show first
    return out;
}

Error sqlError(const QSqlQuery &query) {
    return Error::failed("the index of runs can't be used: " + query.lastError().text().toStdString(),
                         "delete index.sqlite: it is rebuilt");
}

/// Changes with the columns, so that an index made by another Lockstep is rebuilt. Raise `meaning` when a column of the same name
/// is filled in another way, or when records can be read that were refused.
int schemaVersion() {
    constexpr std::uint32_t meaning = 15;
    static const int version = int(crc32c(detail::tableColumns().toStdString(), meaning) | 1u); // 0: nobody's
    return version;
}

/// Changes when another connection commits, but not by this one's own commits.
int versionOf(const QSqlDatabase &database) {
    QSqlQuery query(database);
    return query.exec(QStringLiteral("PRAGMA data_version")) && query.next() ? query.value(0).toInt() : 0;
}

int pragma(QSqlQuery &query, const char *name) {
    query.exec(QStringLiteral("PRAGMA ") + QString::fromLatin1(name));
    const int value = query.next() ? query.value(0).toInt() : 0;
    query.finish();
    return value;
}

/// What stands in a database's header. SQLite gives these without reading the tables; whatever else it is asked, it parses all of them
/// first, which takes a hundred times their size.
struct IndexHeader {
    int mark = 0, version = 0, schema = 0;
    bool operator==(const IndexHeader &) const = default;
};

IndexHeader headerOf(QSqlQuery &query) {
    query.exec(QStringLiteral("BEGIN")); // all three of one moment: another process may make the index meanwhile
    IndexHeader header;
    header.mark = pragma(query, "application_id");
    header.version = pragma(query, "user_version");
    header.schema = pragma(query, "schema_version");
    query.exec(QStringLiteral("COMMIT"));
    return header;
}

/// Whether a database has room for no more than what makeTable() makes.
bool isSmall(const std::string &file) {
    constexpr qint64 mostBytes = 65'536;
    const QString name = QString::fromStdString(file);
    return QFileInfo(name).size() + QFileInfo(name + QStringLiteral("-wal")).size() <= mostBytes;
}

/// Stands in the file that it is about. A file that was copied has another one: what came from elsewhere is no index of ours.
int markOf(const std::string &file) {
    struct stat status {};
    if (::lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
        return 0;
    return int(crc32c(std::to_string(status.st_ino)) | 1u); // a device's number may change with a restart
}

/// Whether the file is absent or has no other name, by a link of either kind: what SQLite writes there changes nothing else.
bool hasOneName(const std::string &file) {
    struct stat status {};
    return ::lstat(file.c_str(), &status) != 0 || (S_ISREG(status.st_mode) && status.st_nlink == 1);
}

/// SQLite takes a journal beside a file for its own and does what that says, to other files too. Ours is in WAL mode and has one
/// only while another process makes it. SQLite also takes what is called -wal and -shm there, and writes into them.
bool mayBeOpened(const std::string &file) {
    struct stat status {};
    for (int i = 0; i < 25 && ::lstat((file + "-journal").c_str(), &status) == 0; ++i)
        ::usleep(10'000);
    return ::lstat((file + "-journal").c_str(), &status) != 0 && hasOneName(file) && hasOneName(file + "-wal") &&
           hasOneName(file + "-shm");
}

QString tableStatement(const char *unlessThere) {
    return QStringLiteral("CREATE TABLE %1runs (%2)").arg(QString::fromLatin1(unlessThere), detail::tableColumns());
}
QString byWorkStatement(const char *unlessThere) {
    return QStringLiteral("CREATE INDEX %1runs_by_work ON runs (work)").arg(QString::fromLatin1(unlessThere));
}

/// The statements that made what is in the file; of what has none, its name. Absent: it is no database.
std::optional<QStringList> madeBy(QSqlQuery &query) {
    if (!query.exec(QStringLiteral("SELECT coalesce(sql, name) FROM sqlite_master ORDER BY rowid")))
        return std::nullopt;
    QStringList out;
    while (query.next())
        out << query.value(0).toString();
    query.finish();
    return out;
}

bool makeTable(QSqlQuery &query, int mark) {
    query.exec(QStringLiteral("PRAGMA journal_mode=WAL"));
    // At once, since a file with a table and no version is not ours. Another process may make it meanwhile.
    return query.exec(QStringLiteral("BEGIN IMMEDIATE")) && query.exec(tableStatement("IF NOT EXISTS ")) &&
           query.exec(byWorkStatement("IF NOT EXISTS ")) &&
           query.exec(QStringLiteral("PRAGMA application_id=%1").arg(mark)) &&
           query.exec(QStringLiteral("PRAGMA user_version=%1").arg(schemaVersion())) &&
           query.exec(QStringLiteral("COMMIT"));
}

/// A database can hold expressions that SQLite evaluates when it is checked, read or written. So nothing is asked of the file but what
/// it is, until that is exactly what makeTable() makes: its header first. SQLite reads it, not we: closing a file would end this process's
/// locks on it.
bool prepare(const QString &connection, const std::string &file) {
    QSqlQuery query(QSqlDatabase::database(connection));
    query.exec(QStringLiteral("PRAGMA trusted_schema=OFF"));
    query.exec(QStringLiteral("PRAGMA busy_timeout=10000"));
    const bool small = isSmall(file); // before its header is read: another process may fill it meanwhile
    const IndexHeader header = headerOf(query);
    const int mark = markOf(file);
    const bool isOurs = header.mark == mark && header.version == schemaVersion();
    if (!isOurs && !(small && header == IndexHeader()))
        return false;
    query.exec(QStringLiteral("PRAGMA synchronous=OFF")); // only an index: a torn one is rebuilt
    const std::optional<QStringList> made = madeBy(query);
    if (!made)
        return false;
    if (made->empty())
        return makeTable(query, mark);
    const QStringList ours = {tableStatement(""), QStringLiteral("sqlite_autoindex_runs_1"), byWorkStatement("")};
    return *made == ours && pragma(query, "user_version") == schemaVersion() &&
           pragma(query, "application_id") == mark && query.exec(QStringLiteral("PRAGMA quick_check")) &&
           query.next() && query.value(0).toString() == u"ok";
}

/// A workKey() that is equal for runs whose steps take equally long, however many they are.
std::string withoutAmounts(const std::string &work) {
    std::string out;
    std::istringstream lines(work);
    for (std::string line; std::getline(lines, line);)
        if (std::ranges::find(amountKeys, line.substr(0, line.find('='))) == amountKeys.end())
            out += line + "\n";
    return out;
}

/// How many samples an epoch takes of a data set of `all`, of which the first ones are asked for (0: all); absent when only the data
/// say.
std::optional<double> samplesAnEpoch(const RunConfig &config, std::int64_t all, std::int64_t first) {
    if (first == 0 && !config.dataDir.empty())
        return std::nullopt;
    const std::int64_t each = all > 0 && first > 0 ? std::min(all, first) : std::max(all, first);
    return each > 0 ? std::optional(double(each)) : std::nullopt;
}

/// How many samples a run trains with, over all epochs; absent when only its data say.
std::optional<double> samplesOf(const RunConfig &config) {
    const DataSetSpec *set = findDataSet(config.dataset);
    const auto each = samplesAnEpoch(config, set ? set->trainSamples : 0, config.trainSamples);
    return each ? std::optional(*each * config.epochs) : std::nullopt;
}

/// The most that a run spends after each epoch: a test, which may be made on one device alone and takes no longer for a sample there than
/// training does. Absent: unknown.
std::optional<double> mostAfterAnEpochS(const RunConfig &config, double samplesPerS) {
    if (writesCheckpoints(config))
        return std::nullopt;
    const DataSetSpec *set = findDataSet(config.dataset);
    const auto tested = samplesAnEpoch(config, set ? set->testSamples : 0, config.testSamples);
    return tested ? std::optional(*tested * deviceCount(config) / samplesPerS) : std::nullopt;
}

bool belongsToWork(const FieldSpec &field) {
    using enum FieldEffect;
    return field.effect != None && field.effect != Chance && field.effect != Route;
}

} // namespace

std::string workKey(const RunConfig &config) {
    static const RunConfig defaults;
    std::string key;
    for (const FieldSpec &field : runConfigFields()) {
        if (!belongsToWork(field))
            continue;
        if (std::string value = effectiveValue(field, config); value != effectiveValue(field, defaults))
            key += std::string(field.key) + "=" + value + "\n";
    }
    return key;
}

std::string workKey(const About &about) {
    std::string key;
    for (const auto &[name, value] : about)
        if (const FieldSpec *field = findField(name); !field || belongsToWork(*field))
            key += name + "=" + value + "\n";
    return key;
}

std::string workKey(const RunConfig &config, const std::vector<std::string> &command) {
    std::string key = workKey(config);
    const std::size_t script = pythonScript(command).value_or(0);
    for (std::size_t i = 0; i < command.size(); ++i) {
        std::string word =
            key.size() > mostCommandBytes
                ? command[i]
                : fillPlaceholders(command[i], [&](std::string_view name) -> Result<std::string> {
                      return findField(name) ? configPlaceholder(config, name) : Result<std::string>(std::string(name));
                  }).value_or(command[i]);
        if (i == 0 || i == script)
            word = std::filesystem::path(word).filename().string();
        key += (i == 0 && word.starts_with("python") ? "python" : word) + "\n";
    }
    return key;
}

Result<RunIndex> RunIndex::open() {
    return open(runsFolder(), dataHome() + "/index.sqlite");
}

Result<RunIndex> RunIndex::open(const std::string &runsFolder, const std::string &indexFile) {
    static std::atomic<int> count = 0; // connection names must be unique within a process
    const std::string folder = QFileInfo(QString::fromStdString(indexFile)).path().toStdString();
    (void)realFileSystem().makeFolders(folder);
    const bool readOnly = ::access(folder.c_str(), W_OK) != 0; // such as a snapshot of somebody's runs
    const std::string file = readOnly ? ":memory:" : indexFile;
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
            database.setDatabaseName(QString::fromStdString(file));
            good = (readOnly || mayBeOpened(file)) && database.open() && prepare(index.m_connection, file);
        }
        if (good)
            return index;
        QSqlDatabase::removeDatabase(std::exchange(index.m_connection, {}));
        for (const char *suffix : {"", "-wal", "-shm", "-journal"})
            QFile::remove(QString::fromStdString(file) + QString::fromLatin1(suffix));
    }
    return fail(Error::failed("the index " + indexFile + " can't be opened", "check the folder's permissions"));
}

RunIndex::~RunIndex() {
    if (!m_connection.isEmpty())
        QSqlDatabase::removeDatabase(m_connection);
}

RunIndex::RunIndex(RunIndex &&other) noexcept
    : m_connection(std::exchange(other.m_connection, {})), m_runs(std::move(other.m_runs)), m_version(other.m_version) {
}

RunIndex &RunIndex::operator=(RunIndex &&other) noexcept {
    std::swap(m_connection, other.m_connection);
    std::swap(m_runs, other.m_runs);
    std::swap(m_version, other.m_version);
    return *this;
}

Result<int> RunIndex::refresh(const IndexProgress &progress) {
    QSqlDatabase database = QSqlDatabase::database(m_connection);
    QSqlQuery query(database);
    query.setForwardOnly(true);
    struct Row {
        QString stamp; // empty: it is live, so it is read again
        bool shown;
    };
    std::unordered_map<std::string, Row> known; // by run
    if (!query.exec(QStringLiteral("SELECT run, stamp, state FROM runs")))
        return fail(sqlError(query));
    while (query.next()) {
        const QString state = query.value(2).toString();
        const std::string run = query.value(0).toString().toStdString();
        known[run] = {isUnsettled(state, {m_runs + "/" + run}) ? QString() : query.value(1).toString(),
                      state != QLatin1String(refusedState)};
    }
    query.finish();
    const int version = versionOf(database);
    const bool byOthers = m_version != 0 && version != m_version;
    m_version = version;
    const std::vector<std::string> folders = runsIn(m_runs);
    database.transaction();
    int changed = 0, done = 0;
    bool whole = true;
    StatusReader statuses;
    for (const std::string &run : folders) {
        if (progress && !progress(done++, int(folders.size()))) {
            whole = false;
            break;
        }
        const auto found = known.find(run);
        const bool wasShown = found != known.end() && found->second.shown;
        const bool settled = found != known.end() && !found->second.stamp.isEmpty() &&
                             found->second.stamp == stampOf({m_runs + "/" + run});
        const Result<bool> shown = settled ? Result<bool>(wasShown) : readRun(run, statuses);
        if (!shown)
            continue;
        known.erase(run);
        const bool differs = !settled && (*shown || wasShown);
        if (differs && ++changed % rowsACommit == 0) { // others write too, and rows that were read can be shown
            database.commit();
            database.transaction();
        }
    }
    if (whole) { // the rest has disappeared from the disk, or can't be read any more
        std::vector<std::string> gone;
        for (const auto &[run, row] : known) {
            gone.push_back(run);
            changed += row.shown ? 1 : 0;
        }
        forget(gone);
    }
    database.commit();
    return byOthers ? std::max(changed, 1) : changed;
}

Result<void> RunIndex::refresh(const std::vector<std::string> &runs) {
    QSqlDatabase database = QSqlDatabase::database(m_connection);
    database.transaction();
    std::vector<std::string> gone;
    StatusReader statuses;
    for (const std::string &run : runs)
        if (!readRun(run, statuses))
            gone.push_back(run);
    forget(gone);
    if (!database.commit())
        return fail(Error::failed("the index of runs can't be written: " + database.lastError().text().toStdString(),
                                  "delete index.sqlite: it is rebuilt"));
    return {};
}

void RunIndex::forget(const std::vector<std::string> &runs) {
    QSqlQuery query(QSqlDatabase::database(m_connection));
    query.prepare(QStringLiteral("DELETE FROM runs WHERE run = ?"));
    for (const std::string &run : runs) {
        query.bindValue(0, boundText(run));
        query.exec();
    }
}

Result<bool> RunIndex::readRun(const std::string &run, StatusReader &statuses) {
    const RunFolder folder{m_runs + "/" + run};
    const QString stamp = stampOf(folder); // before the reading: what comes meanwhile is read at the next refresh
    const Result<IndexedRun> row = detail::readRow(run, folder, statuses);
    if (!row && row.error().kind != ErrorKind::BadArgument) // it could not be read now
        return fail(row.error());
    const QVariantList values = detail::valuesOf(row ? *row : refusedRow(run), stamp);
    QSqlQuery query(QSqlDatabase::database(m_connection));
    query.prepare(QStringLiteral("INSERT OR REPLACE INTO runs VALUES (?%1)")
                      .arg(QStringLiteral(",?").repeated(int(values.size()) - 1)));
    for (const QVariant &value : values)
        query.addBindValue(value);
    if (!query.exec())
        return fail(sqlError(query));
    return row.has_value();
}

std::vector<IndexedRun> RunIndex::runs() const {
    std::vector<IndexedRun> out;
    QSqlQuery query(QSqlDatabase::database(m_connection));
    query.setForwardOnly(true);
    query.prepare(QStringLiteral("SELECT * FROM runs WHERE state <> ? ORDER BY start_us DESC, run DESC"));
    query.addBindValue(QLatin1String(refusedState));
    query.exec();
    while (query.next())
        out.push_back(detail::rowOf(query));
    markRepeats(out);
    return out;
}

std::optional<IndexedRun> RunIndex::run(const std::string &id) const {
    QSqlQuery query(QSqlDatabase::database(m_connection));
    query.prepare(QStringLiteral("SELECT * FROM runs WHERE run = ? AND state <> ?"));
    query.addBindValue(boundText(id));
    query.addBindValue(QLatin1String(refusedState));
    query.exec();
    return query.next() ? std::optional(detail::rowOf(query)) : std::nullopt;
}

std::vector<std::string> RunIndex::refusedRuns() const {
    std::vector<std::string> out;
    QSqlQuery query(QSqlDatabase::database(m_connection));
    query.setForwardOnly(true);
    query.prepare(QStringLiteral("SELECT run FROM runs WHERE state = ? ORDER BY run DESC"));
    query.addBindValue(QLatin1String(refusedState));
    query.exec();
    while (query.next())
        out.push_back(query.value(0).toString().toStdString());
    return out;
}

MachineName thisMachine() {
    MachineName machine;
    machine.host = hostName();
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name"))
            if (const auto colon = line.find(':'); colon != std::string::npos) {
                machine.cpuModel = QString::fromStdString(line.substr(colon + 1)).trimmed().toStdString();
                break;
            }
    return machine;
}

bool isSameMachine(const MachineName &one, const MachineName &other) {
    return !one.host.empty() && one.host == other.host &&
           (one.cpuModel.empty() || other.cpuModel.empty() || one.cpuModel == other.cpuModel);
}

std::optional<double> RunIndex::estimate(const RunConfig &config, const MachineName &machine,
                                         const std::vector<std::string> &command) const {
    QSqlQuery query(QSqlDatabase::database(m_connection));
    query.prepare(
        QStringLiteral("SELECT run_s FROM runs WHERE work = ? AND host = ? AND cpu_model = ? AND state = 'done'"
                       " AND run_s IS NOT NULL"
                       " ORDER BY start_us DESC LIMIT %1")
            .arg(runsForAnEstimate));
    for (const std::string &value : {detail::keptWork(command.empty() ? workKey(config) : workKey(config, command)),
                                     machine.host, machine.cpuModel})
        query.addBindValue(boundText(value));
    query.exec();
    std::vector<double> times;
    while (query.next())
        times.push_back(query.value(0).toDouble());
    return times.empty() && command.empty() ? estimateByAmount(config, machine) : median(std::move(times));
}

/// The training's seconds go with the samples, tests and checkpoints with the epochs; what more a run took is its start and end.
std::optional<double> RunIndex::estimateByAmount(const RunConfig &config, const MachineName &machine) const {
    constexpr double leastShare = 0.01;
    const std::optional<double> wanted = samplesOf(config);
    if (!wanted)
        return std::nullopt;
    QSqlQuery query(QSqlDatabase::database(m_connection));
    query.setForwardOnly(true);
    query.prepare(
        QStringLiteral("SELECT work, run_s, training_s, samples_s, epochs FROM runs WHERE host = ? AND cpu_model = ?"
                       " AND state = 'done' AND run_s >= training_s AND training_s > 0 AND samples_s > 0"
                       " AND epochs > 0 ORDER BY start_us DESC LIMIT %1")
            .arg(runsLookedAt));
    query.addBindValue(boundText(machine.host));
    query.addBindValue(boundText(machine.cpuModel));
    query.exec();
    const std::string step = withoutAmounts(workKey(config));
    const auto besideTraining = [&](double seconds, double samplesPerS, double epochs) {
        const double most = mostAfterAnEpochS(config, samplesPerS).value_or(seconds);
        const double afterEach = std::min(seconds / epochs, most);
        return seconds + afterEach * (config.epochs - epochs);
    };
    std::vector<double> times;
    while (times.size() < runsForAnEstimate && query.next()) {
        const double runS = query.value(1).toDouble(), trainingS = query.value(2).toDouble(),
                     samplesPerS = query.value(3).toDouble(), epochs = query.value(4).toDouble();
        if (trainingS * samplesPerS >= leastShare * *wanted &&
            withoutAmounts(query.value(0).toString().toStdString()) == step)
            times.push_back(*wanted / samplesPerS + besideTraining(runS - trainingS, samplesPerS, epochs));
    }
    return median(std::move(times));
}

} // namespace lockstep::core
