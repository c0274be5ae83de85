// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"

namespace lockstep::core {

/// Writes whole or not at all, a file that others may read as the person's umask says; returns why it could not, or nothing.
[[nodiscard]] std::string writeWhole(const std::string &path, std::string_view bytes);

/// Files of one folder that appear together or not at all. Until commit() they lie in a hidden folder inside it; without one,
/// nothing of them is left, nor a folder that was made for them. Any thread, one at a time.
class StagedFiles {
public:
    explicit StagedFiles(std::string folder) : m_folder(std::move(folder)) {}
    ~StagedFiles();
    StagedFiles(const StagedFiles &) = delete;
    StagedFiles &operator=(const StagedFiles &) = delete;

    /// Makes the folder when it is missing, and sees whether files can be made there.
    [[nodiscard]] Result<void> begin();
    /// An error names the file in its final place.
    [[nodiscard]] Result<void> write(const std::string &name, std::string_view bytes);
    /// Puts all in place, over earlier files of these names; returns the paths in the order they were written.
    [[nodiscard]] Result<std::vector<std::string>> commit();

private:
    [[nodiscard]] std::string pathOf(const std::string &name) const { return m_folder + "/" + name; }
    void drop();

    std::string m_folder, m_stage;
    std::vector<std::string> m_names;
    std::vector<std::string> m_made; ///< folders, the innermost first
};

} // namespace lockstep::core
