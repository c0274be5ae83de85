// SPDX-License-Identifier: MIT
#include "trainer/engine/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iomanip>
#include <limits>
#include <map>
#include <span>
#include <sstream>
#include <thread>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include "ipc/file_system.h"
#include "ipc/list_in_words.h"
#include "ipc/logging.h"
#include "ipc/sound_values.h"
#include "trainer/data/safetensors.h"
#include "trainer/engine/rank_placement.h"
#include "trainer/strategies/bucket_order.h"

namespace lockstep::trainer {

namespace {

constexpr std::size_t keep = 2, mostPassedOver = 10;
constexpr const char *prefix = "checkpoint-", *suffix = ".safetensors", *formatKey = "lockstep_checkpoint";
constexpr const char *progressName = "lockstep.progress", *rngName = "lockstep.rng.cpu",
                     *deviceRngName = "lockstep.rng.device", *replicaRngName = "lockstep.rng.replicas",
                     *epochsName = "lockstep.epochs";

constexpr std::int64_t epochColumns = 4; ///< its number, loss, duration and samples

torch::Tensor pack(const std::vector<EpochSummary> &epochs) {
    auto table = torch::zeros({std::ssize(epochs), epochColumns}, torch::kFloat64);
    auto *row = table.data_ptr<double>();
    for (const EpochSummary &epoch : epochs) {
        row[0] = static_cast<double>(epoch.epoch);
        row[1] = epoch.loss.value_or(std::nan(""));
        row[2] = epoch.durationS;
        row[3] = static_cast<double>(epoch.samples);
        row += epochColumns;
    }
    return table;
}

bool isTable(const torch::Tensor &table) {
    return table.defined() && table.dim() == 2 && table.scalar_type() == torch::kFloat64;
}

/// Takes a table as pack() makes it. Absent: its rows can't be of epochs 1, 2, … of a training.
std::optional<std::vector<EpochSummary>> unpack(const torch::Tensor &table) {
    std::vector<EpochSummary> epochs;
    const auto whole = table.contiguous();
    const auto *row = whole.const_data_ptr<double>();
    epochs.reserve(static_cast<std::size_t>(table.size(0)));
    for (std::int64_t i = 0; i < table.size(0); ++i, row += epochColumns) {
        const double epoch = row[0], duration = row[2], samples = row[3];
        if (epoch != static_cast<double>(i + 1) || i >= highestEpoch || !isDuration(duration) ||
            !(samples >= 0 && samples <= mostCounted))
            return std::nullopt;
        epochs.push_back({static_cast<int>(epoch), row[1], duration, static_cast<std::int64_t>(samples)});
    }
    return epochs;
}

/// Of each rank the sums of its unfinished epoch, then of the run.
bool canBeProgress(const torch::Tensor &table) {
    const auto whole = table.contiguous();
    const auto columns = static_cast<std::size_t>(table.size(1));
    for (std::int64_t rank = 0; rank < table.size(0); ++rank) {
        const std::span<const double> numbers(whole.data_ptr<double>() + rank * table.size(1), columns);
        const std::size_t first = std::min(numbers.size(), EpochTotals::numbers);
        if (!EpochTotals::canBe(numbers.first(first)) || !EpochTotals::canBe(numbers.subspan(first)))
            return false;
        if (const double leftOut = columns > leftOutColumn ? numbers[leftOutColumn] : 0;
            !(leftOut >= 0 && leftOut <= EpochTotals::fromNumbers(numbers).samples))
            return false;
    }
    return true;
}

/// Bytes for a generator in each row.
bool areStates(const torch::Tensor &table) {
    return table.defined() && table.dim() == 2 && table.scalar_type() == torch::kUInt8;
}

/// The same, and CPU generators take them, which only torch knows.
bool areCpuStates(const torch::Tensor &table) {
    if (!areStates(table))
        return false;
    at::Generator trial = at::detail::createCPUGenerator();
    try {
        for (std::int64_t row = 0; row < table.size(0); ++row)
            trial.set_state(table[row].clone());
    } catch (const c10::Error &) {
        return false;
    }
    return true;
}

/// What GPUs' generators take isn't known here; a run without GPUs has none of theirs.
bool canBeRandomStates(const Checkpoint &checkpoint) {
    const torch::Tensor &cpu = checkpoint.rng, &gpu = checkpoint.deviceRng, &replicas = checkpoint.replicaRng;
    if (!areCpuStates(cpu) || cpu.size(0) != checkpoint.worldSize)
        return false;
    if (gpu.defined() && (!areStates(gpu) || gpu.size(0) != checkpoint.worldSize))
        return false;
    return !replicas.defined() || (gpu.defined() ? areStates(replicas) : areCpuStates(replicas));
}

std::optional<std::int64_t> wholeNumber(const TensorFile &file, const char *key) {
    const auto found = file.metadata.find(key);
    std::int64_t value = 0;
    if (found == file.metadata.end())
        return {};
    const auto &text = found->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && value >= 0 ? std::optional(value) : std::nullopt;
}

Error notOurs(const std::string &file, const std::string &why) {
    return Error::failed(file + " is no checkpoint of lockstep-trainer: " + why);
}

std::string linesOf(const std::vector<EarlierPart> &parts) {
    std::string text;
    for (const EarlierPart &part : parts)
        text +=
            std::to_string(part.epochsDone) + " " + std::to_string(part.stepInEpoch) + " " + toJson(part.config) + "\n";
    return text;
}

/// What of such lines is more than a checkpoint may list, as "more than 1000 earlier parts of its training"; empty: nothing is.
std::string tooMuchIn(std::string_view lines) {
    if (lines.size() > mostEarlierBytes)
        return std::to_string(lines.size()) + " bytes of earlier parts of its training, more than " +
               std::to_string(mostEarlierBytes);
    std::size_t parts = 0;
    for (std::size_t ends = 0; !lines.empty(); lines.remove_prefix(std::min(ends + 1, lines.size()))) {
        ends = std::min(lines.find('\n'), lines.size());
        if (ends > longestEarlierPart)
            return "an earlier part of its training in " + std::to_string(ends) + " bytes, more than " +
                   std::to_string(longestEarlierPart);
        if (++parts > mostEarlierParts)
            return "more than " + std::to_string(mostEarlierParts) + " earlier parts of its training";
    }
    return {};
}

bool isBefore(const EarlierPart &one, const EarlierPart &other) {
    return std::pair(one.epochsDone, one.stepInEpoch) < std::pair(other.epochsDone, other.stepInEpoch);
}

Result<std::vector<EarlierPart>> earlierFrom(const std::string &text, const std::string &file) {
    if (const std::string tooMuch = tooMuchIn(text); !tooMuch.empty())
        return fail(notOurs(file, "it lists " + tooMuch));
    std::vector<EarlierPart> parts;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        EarlierPart part;
        std::string config;
        words >> part.epochsDone >> part.stepInEpoch;
        std::getline(words, config);
        const auto parsed = runConfigFromJson(config);
        if (!words || !parsed)
            return fail(notOurs(file, "what it says of earlier epochs can't be read"));
        if (!parts.empty() && !isBefore(parts.back(), part))
            return fail(notOurs(file, "the earlier parts of its training are not in their order"));
        part.config = *parsed;
        parts.push_back(std::move(part));
    }
    return parts;
}

/// Reads the checkpoints of a folder one after the other. A file that was refused is not read again under another name.
class CheckpointReader {
public:
    Result<Checkpoint> read(const std::string &file) {
        struct stat status {};
        const bool known = ::stat(file.c_str(), &status) == 0;
        const std::pair place(status.st_dev, status.st_ino);
        if (const auto refused = m_refused.find(place); known && refused != m_refused.end())
            return fail(notOurs(file, "it is the same file as " + refused->second + ", which was refused"));
        auto checkpoint = readCheckpoint(file);
        if (!checkpoint && known)
            m_refused.emplace(place, file);
        return checkpoint;
    }

private:
    std::map<std::pair<dev_t, ino_t>, std::string> m_refused; ///< the name of each, by where it is
};

enum class Origin { Own, OtherTraining, Unreadable };

Origin originOf(const std::string &file, const std::string &training, CheckpointReader &reader) {
    const auto checkpoint = reader.read(file);
    return !checkpoint ? Origin::Unreadable : checkpoint->training == training ? Origin::Own : Origin::OtherTraining;
}

/// The settings whose effect is on a step or on the means, and which a resumed run may change, that differ. By a schedule each
/// step's learning rate depends on the number of epochs.
std::vector<const FieldSpec *> changedSettings(const RunConfig &before, const RunConfig &now) {
    const bool lrByEpochs = now.lrSchedule != "constant";
    const auto counts = [&](const FieldSpec &field) {
        return field.effect == FieldEffect::Step || field.effect == FieldEffect::Means ||
               (field.key == "epochs" && lrByEpochs);
    };
    std::vector<const FieldSpec *> changed;
    for (const FieldSpec &field : runConfigFields())
        if (counts(field) && !field.fixedOnResume && effectiveValue(field, before) != effectiveValue(field, now))
            changed.push_back(&field);
    return changed;
}

std::string settingsInWords(const std::vector<const FieldSpec *> &fields, const RunConfig &config) {
    std::string text;
    for (const FieldSpec *field : fields) {
        const std::string key(field->key), value = effectiveValue(*field, config);
        text += (text.empty() ? "" : ", ") + (value.empty() ? "no " + key : key + "=" + value);
    }
    return text;
}

/// "loader=batch instead of loader=item"
std::string changeInWords(const RunConfig &before, const RunConfig &now) {
    const auto changed = changedSettings(before, now);
    return settingsInWords(changed, before) + " instead of " + settingsInWords(changed, now);
}

/// "epochs 1 to 4 and a part of epoch 5 were": what was made from the end of `before` to that of `part`.
std::string epochsInWords(const EarlierPart &before, const EarlierPart &part) {
    const bool rest = before.stepInEpoch > 0 && part.epochsDone > before.epochsDone;
    const int first = before.epochsDone + (rest ? 2 : 1), last = part.epochsDone;
    std::vector<std::string> made;
    if (rest)
        made.push_back("the rest of epoch " + std::to_string(first - 1));
    if (first == last)
        made.push_back("epoch " + std::to_string(last));
    if (first < last)
        made.push_back("epochs " + std::to_string(first) + " to " + std::to_string(last));
    if (part.stepInEpoch > 0)
        made.push_back("a part of epoch " + std::to_string(last + 1));
    return listInWords(made) + (made.size() > 1 || first < last ? " were" : " was");
}

/// Settings that may differ can, together, amount to a step of other samples or to another learning rate.
Result<void> stepsAlike(const RunConfig &before, const RunConfig &now, int worldSize) {
    RankEnvironment ranks;
    ranks.worldSize = worldSize;
    const auto refuse = [&](const std::string &what, auto isNow, auto was) {
        std::ostringstream text;
        text << what << " is " << isNow << ", but the checkpoint was made with " << was << " ("
             << changeInWords(before, now) << ")";
        return fail(Error::badArgument(text.str(), "resume with the same options, or use another --checkpoint-dir"));
    };
    if (const auto batch = runBatch(now, ranks), other = runBatch(before, ranks); batch != other)
        return refuse("the global batch size", batch, other);
    if (const double lr = effectiveLr(now, ranks), other = effectiveLr(before, ranks); lr != other)
        return refuse("the learning rate by --lr-rule " + now.lrRule, lr, other);
    return {};
}

Result<void> takeMetadata(const TensorFile &tensors, const std::string &file, Checkpoint &into) {
    const auto world = wholeNumber(tensors, "world_size"), epochs = wholeNumber(tensors, "epochs_done"),
               step = wholeNumber(tensors, "step_in_epoch");
    const auto format = wholeNumber(tensors, formatKey); // 1: before files were sealed
    if ((format != 1 && format != 2) || !world || !epochs || !step || *world > std::numeric_limits<int>::max() ||
        *epochs > highestEpoch)
        return fail(notOurs(file, "its metadata lack world_size, epochs_done or step_in_epoch"));
    if (format == 2 && !tensors.sealed)
        return fail(notOurs(file, "its sha256 is missing"));
    const auto config = tensors.metadata.find("config"), buckets = tensors.metadata.find("bucket_order");
    if (config == tensors.metadata.end())
        return fail(notOurs(file, "its metadata lack the config"));
    const auto parsed = runConfigFromJson(config->second);
    if (!parsed)
        return fail(notOurs(file, parsed.error().front().message()));
    into.config = *parsed;
    into.worldSize = static_cast<int>(*world);
    into.epochsDone = static_cast<int>(*epochs);
    into.stepInEpoch = *step;
    into.untested = wholeNumber(tensors, "untested") == 1;
    into.bucketOrder = buckets == tensors.metadata.end() ? std::string() : buckets->second;
    if (!parseBucketOrder(into.bucketOrder))
        return fail(notOurs(file, "its bucket_order is no list of parameters by bucket"));
    const auto text = [&](const char *key) {
        const auto found = tensors.metadata.find(key);
        return found == tensors.metadata.end() ? std::string() : found->second;
    };
    into.launch = text("launch");
    const bool known = tensors.metadata.contains("training"); // else an earlier version wrote it
    into.training = known ? text("training") : into.launch;
    if (into.training.find('\n') != std::string::npos) // nodes send it to each other in a line
        return fail(notOurs(file, "the name of its training has a line end"));
    into.data = text("data_sha256");
    into.savedUs = wholeNumber(tensors, "saved_us").value_or(0);
    auto earlier = earlierFrom(text("earlier"), file);
    if (!earlier)
        return fail(earlier.error());
    into.earlier = std::move(*earlier);
    return {};
}

/// Judges the tables by their sizes before it looks at any row: only the metadata say how many rows there may be.
Result<void> takeProgress(const torch::Tensor &epochs, const std::string &file, Checkpoint &into) {
    const Error impossible = notOurs(file, "its progress can't be a training's");
    if (!isTable(epochs) || epochs.size(1) != epochColumns || !isTable(into.progress))
        return fail(impossible);
    if (into.progress.numel() == 0) // such a table takes no bytes, and may claim any number of ranks
        return fail(impossible);
    if (into.progress.size(0) != into.worldSize || epochs.size(0) != into.epochsDone)
        return fail(notOurs(file, "its progress does not match its metadata"));
    auto unpacked = unpack(epochs);
    if (!unpacked || !canBeProgress(into.progress))
        return fail(impossible);
    into.epochs = std::move(*unpacked);
    return {};
}

} // namespace

std::string notFiniteIn(const Checkpoint &checkpoint) {
    for (const auto *list : {&checkpoint.parameters, &checkpoint.optimizer})
        for (const auto &[name, tensor] : *list)
            if (tensor.is_floating_point() && !at::isfinite(tensor).all().item<bool>())
                return name;
    return {};
}

Result<std::unique_ptr<CheckpointLock>> CheckpointLock::take(const std::string &folder,
                                                             std::chrono::milliseconds patience) {
    constexpr std::chrono::milliseconds pause(50);
    std::string path = folder + "/.lock";
    for (std::chrono::milliseconds waited(0); waited < patience && FileLock::isHeld(path); waited += pause)
        std::this_thread::sleep_for(pause);
    auto lock = takeLock(path, Error::badArgument("another training writes its checkpoints into " + folder,
                                                  "give another --checkpoint-dir, or wait until it has ended"));
    if (!lock)
        return fail(lock.error());
    return std::unique_ptr<CheckpointLock>(new CheckpointLock(std::move(path), std::move(*lock)));
}

CheckpointLock::~CheckpointLock() {
    if (m_lock.isAt(m_path))
        ::unlink(m_path.c_str());
}

void CheckpointFolder::resumeFrom(const std::string &file, const std::string &training) {
    m_own = files();
    m_own.erase(m_own.begin(), std::find(m_own.begin(), m_own.end(), file));
    CheckpointReader reader;
    std::erase_if(m_own, [&](const std::string &other) {
        return other != file && originOf(other, training, reader) != Origin::Own;
    });
}

std::string CheckpointFolder::pathHere(const std::string &file) const {
    return (std::filesystem::path(m_path) / std::filesystem::path(file).filename()).string();
}

void CheckpointFolder::keepCopy(const std::string &file) {
    const std::string own = pathHere(file);
    std::erase(m_own, own);
    m_own.insert(m_own.begin(), own);
    prune();
}

void CheckpointFolder::prune() {
    std::error_code ignored; // an old file that stays is harmless
    for (; m_own.size() > keep; m_own.pop_back())
        std::filesystem::remove(m_own.back(), ignored);
}

Result<void> CheckpointFolder::setOthersAside(const std::string &training) {
    auto others = files();
    CheckpointReader reader;
    std::erase_if(others,
                  [&](const std::string &file) { return originOf(file, training, reader) != Origin::OtherTraining; });
    if (others.empty())
        return {};
    const auto lock = CheckpointLock::take(m_path, std::chrono::milliseconds(0));
    if (!lock && lock.error().kind == ErrorKind::BadArgument)
        return {};
    return moveAside(others);
}

Result<void> CheckpointFolder::moveAside(const std::vector<std::string> &others) const {
    if (others.empty())
        return {};
    std::string folder;
    for (int n = 1; folder.empty() || isThere(folder); ++n)
        folder = m_path + "/earlier-" + std::to_string(n);
    std::error_code error;
    std::filesystem::create_directory(folder, error);
    for (const auto &file : others) {
        if (error)
            break;
        std::filesystem::rename(file, folder + file.substr(m_path.size()), error);
        if (error == std::errc::no_such_file_or_directory) // another node that sees this folder was first
            error.clear();
    }
    if (error)
        return fail(Error::failed("the checkpoints of another training in " + m_path + " can't be moved into " +
                                      folder + ": " + error.message(),
                                  "give another --checkpoint-dir, or go on from them with --resume"));
    logInfo("checkpoints of another training were moved into " + folder);
    return {};
}

Result<void> CheckpointFolder::save(const Checkpoint &checkpoint, std::int64_t step) {
    if (!std::exchange(m_saved, true)) {
        removeLeftTemporaries(m_path, prefix);
        if (m_own.empty())
            if (auto moved = moveAside(files()); !moved)
                return moved;
    }
    TensorFile file;
    file.sealed = true;
    file.metadata = {{formatKey, "2"},
                     {"format", "pt"},
                     {"world_size", std::to_string(checkpoint.worldSize)},
                     {"epochs_done", std::to_string(checkpoint.epochsDone)},
                     {"step_in_epoch", std::to_string(checkpoint.stepInEpoch)},
                     {"untested", checkpoint.untested ? "1" : "0"},
                     {"bucket_order", checkpoint.bucketOrder},
                     {"launch", checkpoint.launch},
                     {"training", checkpoint.training},
                     {"data_sha256", checkpoint.data},
                     {"saved_us", std::to_string(checkpoint.savedUs)},
                     {"earlier", linesOf(checkpoint.earlier)},
                     {"config", toJson(checkpoint.config)}};
    for (const auto *list : {&checkpoint.parameters, &checkpoint.optimizer})
        for (const auto &[name, tensor] : *list)
            file.tensors.emplace_back(name, tensor.detach().to(torch::kCPU).contiguous());
    file.tensors.emplace_back(progressName, checkpoint.progress);
    file.tensors.emplace_back(rngName, checkpoint.rng);
    file.tensors.emplace_back(epochsName, pack(checkpoint.epochs));
    if (checkpoint.deviceRng.defined())
        file.tensors.emplace_back(deviceRngName, checkpoint.deviceRng);
    if (checkpoint.replicaRng.defined())
        file.tensors.emplace_back(replicaRngName, checkpoint.replicaRng);
    std::ostringstream name;
    name << m_path << '/' << prefix << std::setw(12) << std::setfill('0') << step << suffix;
    if (auto written = writeTensors(name.str(), file); !written)
        return written;
    std::erase(m_own, name.str()); // a rollback may have come to the same step again
    m_own.insert(m_own.begin(), name.str());
    prune();
    return {};
}

std::vector<std::string> CheckpointFolder::files() const {
    std::vector<std::string> files;
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator(m_path, error)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(prefix) && name.ends_with(suffix))
            files.push_back(entry.path().string());
    }
    std::sort(files.rbegin(), files.rend());
    return files;
}

Result<std::optional<FoundCheckpoint>> CheckpointFolder::newestGood(const std::string &launch,
                                                                    std::vector<std::string> &skipped) const {
    const auto all = files();
    CheckpointReader reader;
    for (const auto &file : all) {
        if (skipped.size() == mostPassedOver)
            return fail(Error::failed(std::to_string(mostPassedOver) + " of the " + std::to_string(all.size()) +
                                          " checkpoints in " + m_path + " can't be read, and no more are tried (" +
                                          skipped.front() + ")",
                                      "remove them, or start without --resume"));
        const auto checkpoint = reader.read(file);
        if (!checkpoint)
            skipped.push_back(checkpoint.error().message());
        else if (launch.empty() || checkpoint->launch == launch)
            return std::optional(FoundCheckpoint{file, checkpoint->training, checkpoint->savedUs});
    }
    if (!all.empty() && skipped.size() == all.size())
        return fail(Error::failed("none of the " + std::to_string(all.size()) + " checkpoints in " + m_path +
                                      " can be read (" + skipped.front() + ")",
                                  "remove them, or start without --resume"));
    return std::optional<FoundCheckpoint>();
}

Result<Checkpoint> readCheckpoint(const std::string &file) {
    Checkpoint checkpoint;
    auto tensors = readTensors(
        file, [&](const TensorFile &withoutTensors) { return takeMetadata(withoutTensors, file, checkpoint); });
    if (!tensors)
        return fail(tensors.error());
    torch::Tensor epochs = pack({}); // where there is none
    for (auto &[name, tensor] : tensors->tensors) {
        if (name == progressName)
            checkpoint.progress = tensor;
        else if (name == rngName)
            checkpoint.rng = tensor;
        else if (name == deviceRngName)
            checkpoint.deviceRng = tensor;
        else if (name == replicaRngName)
            checkpoint.replicaRng = tensor;
        else if (name == epochsName)
            epochs = tensor;
        else
            (name.starts_with("optimizer.") ? checkpoint.optimizer : checkpoint.parameters).emplace_back(name, tensor);
    }
    if (auto taken = takeProgress(epochs, file, checkpoint); !taken)
        return fail(taken.error());
    if (!canBeRandomStates(checkpoint))
        return fail(notOurs(file, "its random states can't be generators'"));
    return checkpoint;
}

Result<void> fits(const Checkpoint &checkpoint, const RunConfig &config, int worldSize, const std::string &data) {
    for (const FieldSpec &field : runConfigFields()) {
        const std::string before = field.get(checkpoint.config), now = field.get(config);
        if (field.fixedOnResume && before != now)
            return fail(
                Error::badArgument(flagOf(field) + " is " + now + ", but the checkpoint was made with " + before,
                                   "resume with the same options, or use another --checkpoint-dir"));
    }
    if (checkpoint.worldSize != worldSize || deviceCount(checkpoint.config) != deviceCount(config))
        return fail(Error::badArgument("the run has " + std::to_string(worldSize) + " ranks of " +
                                           std::to_string(deviceCount(config)) + " devices, the checkpoint had " +
                                           std::to_string(checkpoint.worldSize) + " of " +
                                           std::to_string(deviceCount(checkpoint.config)),
                                       "resume with as many"));
    if (auto alike = stepsAlike(checkpoint.config, config, worldSize); !alike)
        return alike;
    if (!checkpoint.data.empty() && checkpoint.data != data)
        return fail(
            Error::badArgument("the training samples are other ones than the checkpoint was made with (sha256 " +
                                   data.substr(0, 12) + "… instead of " + checkpoint.data.substr(0, 12) + "…)",
                               "resume with the same data, or use another --checkpoint-dir", "data_dir"));
    if (const std::string tooMuch = tooMuchIn(linesOf(earlierParts(checkpoint, config))); !tooMuch.empty())
        return fail(Error::badArgument("with these settings a checkpoint would have to list " + tooMuch,
                                       "resume with the settings that the checkpoint was made with"));
    if (const int begun = checkpoint.epochsDone + (checkpoint.stepInEpoch > 0 ? 1 : 0); config.epochs < begun)
        return fail(Error::badArgument("--epochs is " + std::to_string(config.epochs) +
                                           ", but the checkpoint was taken in epoch " + std::to_string(begun),
                                       "resume with at least as many epochs, or use another --checkpoint-dir"));
    return {};
}

std::vector<EarlierPart> earlierParts(const Checkpoint &checkpoint, const RunConfig &config) {
    std::vector<EarlierPart> parts = checkpoint.earlier;
    const EarlierPart before = parts.empty() ? EarlierPart() : parts.back();
    if (before.epochsDone != checkpoint.epochsDone || before.stepInEpoch != checkpoint.stepInEpoch)
        parts.push_back({checkpoint.epochsDone, checkpoint.stepInEpoch, checkpoint.config});
    if (!parts.empty() && changedSettings(parts.back().config, config).empty())
        parts.pop_back();
    return parts;
}

std::string madeOtherwise(const std::vector<EarlierPart> &parts, const RunConfig &config) {
    std::string text;
    EarlierPart before;
    for (const EarlierPart &part : parts) {
        if (!changedSettings(part.config, config).empty())
            text += (text.empty() ? "" : "; ") + epochsInWords(before, part) + " made with " +
                    changeInWords(part.config, config);
        before = part;
    }
    return text;
}

Result<void> copyInto(const NamedTensors &model, const NamedTensors &from, const std::string &file) {
    const c10::AutoGradMode noGrad(false);
    for (const auto &[name, tensor] : model) {
        const auto found = std::find_if(from.begin(), from.end(), [&](const auto &it) { return it.first == name; });
        if (found == from.end())
            return fail(Error::badArgument(file + " has no tensor " + name, "give a file of this model"));
        if (found->second.sizes() != tensor.sizes()) {
            std::ostringstream what;
            what << file << " has " << name << " of shape " << found->second.sizes() << " instead of "
                 << tensor.sizes();
            return fail(Error::badArgument(what.str(), "give a file of this model"));
        }
        torch::Tensor target = tensor;
        target.copy_(found->second);
    }
    return {};
}

} // namespace lockstep::trainer
