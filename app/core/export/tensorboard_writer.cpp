// SPDX-License-Identifier: MIT
#include "export/tensorboard_writer.h"

#include <algorithm>
#include <filesystem>

#include "ipc/file_lock.h"
#include "ipc/run_folder.h"
#include "ipc/run_title.h"
#include "ipc/sound_values.h"
#include "store/load_run.h"
#include "store/status_reader.h"

namespace lockstep::core {
namespace {

constexpr int allRanks = -1;
constexpr std::size_t longestNameInFolder = 200; ///< with the run's id a folder's name has at most 255 bytes

/// "DDP-x2" for "DDP on 2 devices": valid as a folder's name on any system and in TensorBoard's filter.
std::string plainName(const std::string &title) {
    const std::string name = plainTitle(title);
    std::string out;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const bool plain = std::isalnum(static_cast<unsigned char>(name[i])) || name[i] == '.' || name[i] == '_';
        if (std::string_view(name).substr(i).starts_with("×"))
            out += 'x';
        else if (plain)
            out += name[i];
        else if ((static_cast<unsigned char>(name[i]) & 0xC0) != 0x80 && !out.empty() && out.back() != '-')
            out += '-';
    }
    out.resize(std::min(out.size(), longestNameInFolder));
    while (out.ends_with('-'))
        out.pop_back();
    return out;
}

std::string folderName(const RunStore &store) {
    const std::string name = store.record() ? plainName(store.record()->name) : std::string();
    return name.empty() ? store.runId().toStdString() : name + "_" + store.runId().toStdString();
}

std::int64_t stepAt(const LossSeries &series, std::int64_t wallUs) {
    const auto &points = series.points();
    const auto after = std::upper_bound(points.begin(), points.end(), wallUs,
                                        [](std::int64_t at, const LossPoint &one) { return at < one.wallUs; });
    return after == points.begin() ? 0 : std::prev(after)->step;
}

/// The last step that every rank had done at that time; 0 before the first window. A run may report metrics alone.
std::int64_t stepAt(const RunStore &store, std::int64_t wallUs) {
    std::int64_t step = stepAt(store.losses().all(), wallUs);
    for (const std::string &name : store.metrics().names())
        step = std::max(step, stepAt(*store.metrics().series(name), wallUs));
    return step;
}

void addKnown(std::vector<Scalar> &out, const std::string &tag, std::int64_t wallUs, std::int64_t step,
              std::optional<double> value) {
    if (value)
        out.push_back({tag, wallUs, step, *value});
}

} // namespace

TensorBoardWriter::TensorBoardWriter(std::string folder, FileLock lock, std::int64_t startUs)
    : m_folder(std::move(folder)), m_lock(std::move(lock)), m_startUs(startUs) {}

Result<TensorBoardWriter> TensorBoardWriter::open(const std::string &folder, const RunStore &store) {
    const std::string own = folder + "/" + folderName(store);
    std::error_code error;
    std::filesystem::create_directories(own, error);
    if (error)
        return fail(Error::badArgument("the folder " + own + " can't be made: " + error.message(),
                                       "choose a folder you may write to", "tensorboard"));
    auto lock = takeLock(own + "/.lockstep-writer",
                         Error::failed("event files are being written into " + own + " by another program",
                                       "let it go on, or choose another folder"));
    if (!lock)
        return fail(lock.error());
    const std::int64_t start =
        store.record() && store.record()->startWallUs > 0 ? store.record()->startWallUs : store.log().lastWallUs;
    return TensorBoardWriter(own, std::move(*lock), start);
}

/// Leaves out values that are not finite: where training diverged, the curve ends.
Result<void> TensorBoardWriter::append(const std::string &part, std::vector<Scalar> scalars) {
    std::erase_if(scalars, [](const Scalar &scalar) { return !isFiniteValue(scalar.value); });
    if (scalars.empty())
        return {};
    auto file = m_files.find(part);
    if (file == m_files.end()) {
        auto made = EventFile::create(m_folder + "/" + part, m_startUs);
        if (!made)
            return fail(made.error());
        file = m_files.emplace(part, std::move(*made)).first;
    }
    return file->second.append(scalars);
}

/// Those after the last one that is written.
void TensorBoardWriter::takePoints(const LossSeries &series, int rank, const std::string &tag,
                                   std::vector<Scalar> &out) {
    const auto &points = series.points();
    std::int64_t &next = m_nextStep[{rank, tag}];
    m_wroteLost = m_wroteLost || (!points.empty() && points.back().step + 1 < next);
    auto point = std::lower_bound(points.begin(), points.end(), next,
                                  [](const LossPoint &one, std::int64_t step) { return one.step < step; });
    for (; point != points.end(); ++point) {
        out.push_back({tag, point->wallUs, point->step, point->loss});
        next = point->step + 1;
    }
}

void TensorBoardWriter::takeMetrics(const RunStore &store, int rank, std::vector<Scalar> &out) {
    for (const std::string &name : store.metrics().names()) {
        const RunMetrics &metrics = store.metrics();
        const std::string tag = "metric/" + name; // a script may call one "loss"
        if (const LossSeries *series = rank == allRanks ? metrics.series(name) : metrics.rankSeries(name, rank))
            takePoints(*series, rank, tag, out);
    }
}

/// Unless it, or a later one, is written.
void TensorBoardWriter::takeEpoch(const RunStore &store, const MergedEpoch &epoch, std::vector<Scalar> &run) {
    if (!epoch.complete || epoch.epoch <= m_epochs)
        return;
    m_epochs = epoch.epoch;
    const std::int64_t ended = epoch.endWallUs;
    addKnown(run, "epoch/loss", ended, epoch.epoch, epoch.loss);
    run.push_back({"epoch/duration_s", ended, epoch.epoch, epoch.durationS});
    for (const auto &[name, value] : store.metrics().ofEpoch(epoch.epoch))
        run.push_back({"epoch/metric/" + name, ended, epoch.epoch, value});
}

/// Unless it, or that of a later epoch, is written. A further node's test counts only as long as no node before it tests, so it waits
/// for the end of its epoch, and what a node before it says of the same epoch comes after it.
void TensorBoardWriter::takeTest(const RunStore &store, const MergedEpoch &epoch, std::vector<Scalar> &run) {
    if (!epoch.eval)
        return;
    const int node = epoch.evalFrom ? epoch.evalFrom->first : 0;
    if (epoch.epoch < m_evals || (epoch.epoch == m_evals && node >= m_testedOn))
        return;
    if (node > 0 && !epoch.complete && !store.over())
        return;
    m_evals = epoch.epoch;
    m_testedOn = node;
    run.push_back({"epoch/test_accuracy", epoch.evalWallUs, epoch.epoch, epoch.eval->accuracy});
    addKnown(run, "epoch/test_loss", epoch.evalWallUs, epoch.epoch, epoch.eval->loss);
}

void TensorBoardWriter::takeEpochs(const RunStore &store, std::vector<Scalar> &run) {
    const auto &epochs = store.epochs().merged();
    for (const MergedEpoch &epoch : epochs | std::views::drop(m_epochs))
        takeEpoch(store, epoch, run);
    for (const MergedEpoch &epoch : epochs | std::views::drop(std::max(0, m_evals - 1)))
        takeTest(store, epoch, run);
}

void TensorBoardWriter::takeDevice(const RunStore &store, const std::string &name, std::vector<Scalar> &run) {
    const std::deque<LaneSample> *lane = store.devices().lane(name);
    if (!lane)
        return;
    std::int64_t &last = m_deviceUs[name];
    auto sample = std::upper_bound(lane->begin(), lane->end(), last,
                                   [](std::int64_t at, const LaneSample &one) { return at < one.wallUs; });
    for (; sample != lane->end(); ++sample) {
        last = sample->wallUs;
        const std::int64_t step = stepAt(store, last);
        const DeviceSample &device = sample->sample;
        const std::string tag = "device/" + name;
        addKnown(run, tag + "/utilisation", last, step, device.utilization);
        addKnown(run, tag + "/memory_bytes", last, step, device.memoryUsedBytes);
        addKnown(run, tag + "/power_w", last, step, device.powerW);
        addKnown(run, tag + "/temperature_c", last, step, device.temperatureC);
    }
}

Result<void> TensorBoardWriter::takeRankEpochs(const RunStore &store) {
    for (; m_rankEpochs < store.epochs().ofRanks().size(); ++m_rankEpochs) {
        if (!store.epochs().counts(m_rankEpochs))
            continue;
        const RankEpoch &epoch = store.epochs().ofRanks()[m_rankEpochs];
        std::vector<Scalar> own = {{"epoch/duration_s", epoch.wallUs, epoch.frame.epoch, epoch.frame.durationS}};
        for (const auto &[name, time] : epoch.frame.phases)
            own.push_back({"phase/" + name + "_s", epoch.wallUs, epoch.frame.epoch, time.sumS});
        if (auto written = append("rank" + std::to_string(epoch.rank), own); !written)
            return written;
    }
    return {};
}

Result<void> TensorBoardWriter::takeRank(const RunStore &store, int rank) {
    std::vector<Scalar> own;
    if (const LossSeries *loss = store.losses().ofRank(rank))
        takePoints(*loss, rank, "loss", own);
    takeMetrics(store, rank, own);
    return append("rank" + std::to_string(rank), own);
}

/// What any frame may have added to: epochs that a rank has ended, and `run`, what all ranks have together.
Result<void> TensorBoardWriter::takeOfAllRanks(const RunStore &store, std::vector<Scalar> &run) {
    takePoints(store.losses().all(), allRanks, "loss", run);
    takeMetrics(store, allRanks, run);
    return takeRankEpochs(store);
}

Result<void> TensorBoardWriter::takeNew(const RunStore &store) {
    for (const auto &[rank, info] : store.ranks().all())
        if (auto written = takeRank(store, rank); !written)
            return written;
    std::vector<Scalar> run;
    if (auto written = takeOfAllRanks(store, run); !written)
        return written;
    takeEpochs(store, run);
    for (const std::string &name : store.devices().names())
        takeDevice(store, name, run);
    return append("run", run);
}

Result<void> TensorBoardWriter::takeNew(const RunStore &store, const Frame &newest) {
    if (std::holds_alternative<StepsFrame>(newest.body))
        if (auto written = takeRank(store, newest.rank.value_or(0)); !written)
            return written;
    std::vector<Scalar> run;
    if (auto written = takeOfAllRanks(store, run); !written)
        return written;
    if (const auto *ended = std::get_if<EpochFrame>(&newest.body))
        if (const MergedEpoch *epoch = store.epochs().find(ended->epoch)) {
            takeEpoch(store, *epoch, run);
            takeTest(store, *epoch, run);
        }
    if (const auto *tested = std::get_if<EvalFrame>(&newest.body))
        if (const MergedEpoch *epoch = store.epochs().find(tested->epoch))
            takeTest(store, *epoch, run);
    takeSampled(store, newest, run);
    return append("run", run);
}

void TensorBoardWriter::takeSampled(const RunStore &store, const Frame &newest, std::vector<Scalar> &run) {
    if (const auto *sampled = std::get_if<DeviceFrame>(&newest.body))
        for (const DeviceSample &device : sampled->devices)
            takeDevice(store, device.device, run);
}

Result<void> TensorBoardWriter::takeSamples(const RunStore &store, const Frame &newest) {
    std::vector<Scalar> run;
    takeSampled(store, newest, run);
    return append("run", run);
}

bool TensorBoardWriter::wroteLost(const RunStore &store) const {
    bool lost = m_wroteLost;
    for (std::size_t place = 0; place < m_rankEpochs && !lost; ++place)
        lost = !store.epochs().counts(place);
    return lost;
}

std::vector<std::string> TensorBoardWriter::files() const {
    std::vector<std::string> out;
    for (const auto &[part, file] : m_files)
        out.push_back(file.path());
    return out;
}

TensorBoardFeed::TensorBoardFeed(std::string folder, QObject *parent) : QObject(parent), m_folder(std::move(folder)) {}

void TensorBoardFeed::follow(RunStore *store) {
    for (const auto &known : m_followed)
        if (known->store == store)
            return;
    m_followed.push_back(std::make_unique<Followed>());
    Followed *followed = m_followed.back().get();
    followed->store = store;
    connect(store, &RunStore::changed, this, [this, followed] { take(*followed, false); });
    take(*followed, false);
}

void TensorBoardFeed::take(Followed &followed, bool leaving) {
    if (!followed.store || followed.broken || (!followed.store->record() && !leaving))
        return; // the folder's name needs the record
    const auto broken = [&](const Error &error) {
        followed.broken = true;
        followed.writer.reset();
        Q_EMIT failed(error);
    };
    if (!followed.writer) {
        auto opened = TensorBoardWriter::open(m_folder, *followed.store);
        if (!opened)
            return broken(opened.error());
        followed.writer.emplace(std::move(*opened));
    }
    if (auto written = followed.writer->takeNew(*followed.store); !written)
        broken(written.error());
}

void TensorBoardFeed::finish() {
    for (const auto &followed : m_followed)
        take(*followed, true);
}

namespace {

enum class Curves : std::uint8_t { AsTheyCome, AtTheEnd };

using Files = std::vector<std::string>;

/// Absent: they have what was made again, so its curves are to be written at the end.
Result<std::optional<Files>> exported(const std::string &folder, const std::string &run, StatusReader &statuses,
                                      Curves curves) {
    RunStore store(QString::fromStdString(run));
    std::optional<TensorBoardWriter> writer;
    Result<void> written;
    // Device samples frame by frame at any rate: a store keeps the last hour of them only.
    const auto takeNew = [&](const Frame *newest) {
        if (!written)
            return;
        if (!writer) {
            auto opened = TensorBoardWriter::open(folder, store);
            if (!opened) {
                written = fail(opened.error());
                return;
            }
            writer.emplace(std::move(*opened));
        }
        written = !newest                      ? writer->takeNew(store)
                  : curves == Curves::AtTheEnd ? writer->takeSamples(store, *newest)
                                               : writer->takeNew(store, *newest);
    };
    const auto takeFrame = [&](const Frame &frame) { takeNew(&frame); };
    if (auto loaded = loadRun(store, runFolder(run), statuses, takeFrame); !loaded)
        return fail(loaded.error());
    takeNew(nullptr);
    if (!written)
        return fail(written.error());
    if (curves == Curves::AsTheyCome && writer->wroteLost(store))
        return std::optional<Files>();
    return std::optional(writer->files());
}

} // namespace

Result<std::vector<std::string>> exportTensorBoard(const std::string &folder, const std::string &run) {
    StatusReader statuses;
    return exportTensorBoard(folder, run, statuses);
}

Result<std::vector<std::string>> exportTensorBoard(const std::string &folder, const std::string &run,
                                                   StatusReader &statuses) {
    auto files = exported(folder, run, statuses, Curves::AsTheyCome);
    if (files && !*files)
        files = exported(folder, run, statuses, Curves::AtTheEnd);
    if (!files)
        return fail(files.error());
    return **files;
}

} // namespace lockstep::core

#include "moc_tensorboard_writer.cpp"
