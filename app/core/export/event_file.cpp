// SPDX-License-Identifier: MIT
#include "export/event_file.h"

#include <filesystem>

#include <QString>
#include <QSysInfo>

#include "ipc/crc32c.h"
#include "ipc/file_system.h"
#include "tensorboard_events.pb.h"

namespace lockstep::core {
namespace {

using tensorboard::Event;

template <class Number> std::string littleEndian(Number number) {
    std::string out(sizeof number, '\0');
    for (std::size_t i = 0; i < sizeof number; ++i)
        out[i] = char((number >> (8 * i)) & 0xff);
    return out;
}

/// A CRC over data that contains CRCs is weak, so TFRecord rotates it and adds a constant.
std::uint32_t masked(std::uint32_t crc) {
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/// TensorBoard reads files whose name contains "tfevents". The rest follows its own writers, without the parts that
/// would differ between exports of one run.
std::string fileName(std::int64_t runStartUs) {
    return "events.out.tfevents." + std::to_string(runStartUs / 1'000'000) + "." +
           QSysInfo::machineHostName().toStdString() + ".lockstep";
}

Event headed(std::int64_t wallUs, std::int64_t step) {
    Event event;
    event.set_wall_time(double(wallUs) * 1e-6);
    event.set_step(step);
    return event;
}

Error cannotWrite(const std::string &path, const std::string &why) {
    return Error::failed("the event file " + path + " can't be written: " + why,
                         "free some space or choose a folder you may write to");
}

} // namespace

std::string tfRecord(std::string_view data) {
    const std::string length = littleEndian(std::uint64_t(data.size()));
    std::string out = length + littleEndian(masked(crc32c(length)));
    out += data;
    return out + littleEndian(masked(crc32c(data)));
}

EventFile::EventFile(std::string path, std::unique_ptr<AppendFile> file)
    : m_path(std::move(path)), m_file(std::move(file)) {}
EventFile::~EventFile() = default;
EventFile::EventFile(EventFile &&) noexcept = default;
EventFile &EventFile::operator=(EventFile &&) noexcept = default;

Result<EventFile> EventFile::create(const std::string &folder, std::int64_t runStartUs) {
    const std::string path = folder + "/" + fileName(runStartUs);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
        return fail(cannotWrite(path, error.message()));
    std::filesystem::remove(path, error);
    auto file = realFileSystem().openAppend(path);
    if (!file)
        return fail(cannotWrite(path, file.error().what));
    EventFile out(path, std::move(*file));
    Event version = headed(runStartUs, 0), source = version;
    version.set_file_version("brain.Event:2");
    source.mutable_source_metadata()->set_writer("lockstep " LOCKSTEP_VERSION);
    if (auto written = out.m_file->append(tfRecord(version.SerializeAsString()) + tfRecord(source.SerializeAsString()));
        !written)
        return fail(cannotWrite(path, written.error().what));
    return out;
}

Result<void> EventFile::append(const std::vector<Scalar> &scalars) {
    std::string bytes;
    for (const Scalar &scalar : scalars) {
        Event event = headed(scalar.wallUs, scalar.step);
        tensorboard::Summary::Value *value = event.mutable_summary()->add_value();
        value->set_tag(scalar.tag);
        value->set_simple_value(float(scalar.value));
        bytes += tfRecord(event.SerializeAsString());
    }
    if (bytes.empty())
        return {};
    if (auto written = m_file->append(bytes); !written)
        return fail(cannotWrite(m_path, written.error().what));
    return {};
}

} // namespace lockstep::core
