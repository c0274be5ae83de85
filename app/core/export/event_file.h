// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ipc/error.h"

namespace lockstep {
class AppendFile;
}

namespace lockstep::core {

/// One value of one curve in TensorBoard. TensorBoard keeps scalars as 32-bit floats.
struct Scalar {
    std::string tag;
    std::int64_t wallUs = 0, step = 0;
    double value = 0; ///< may be non-finite
    bool operator==(const Scalar &) const = default;
};

/// A TensorBoard event file: TFRecords (length, masked CRC32C, Event, masked CRC32C). Whole records are appended at once, so
/// a reader beside the writer never sees half of one. One writer a folder. Not thread safe.
class EventFile {
public:
    /// Makes `folder` and a new file in it; replaces one that Lockstep wrote for the same run.
    [[nodiscard]] static Result<EventFile> create(const std::string &folder, std::int64_t runStartUs);
    ~EventFile();
    EventFile(EventFile &&) noexcept;
    EventFile &operator=(EventFile &&) noexcept;

    [[nodiscard]] Result<void> append(const std::vector<Scalar> &scalars);
    [[nodiscard]] const std::string &path() const { return m_path; }

private:
    EventFile(std::string path, std::unique_ptr<AppendFile> file);
    std::string m_path;
    std::unique_ptr<AppendFile> m_file;
};

/// `data` as a TFRecord.
[[nodiscard]] std::string tfRecord(std::string_view data);

} // namespace lockstep::core
