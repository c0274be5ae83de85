// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"

namespace lockstep::core {

/// Files of one folder that appear together or not at all. Until commit() they are in a hidden folder inside it; without a
/// commit they are removed, and a folder that was made for them too. Any thread, one at a time.
class StagedFiles {
public:
    explicit StagedFiles(std::string folder) : m_folder(std::move(folder)) {}
    ~StagedFiles();
    StagedFiles(const StagedFiles &) = delete;
    StagedFiles &operator=(const StagedFiles &) = delete;

    /// Makes a missing folder, and checks whether files can be written there.
    [[nodiscard]] Result<void> begin();
    /// An error names the file in its final place.
    [[nodiscard]] Result<void> write(const std::string &name, std::string_view bytes);
    /// Moves all files into the folder and replaces earlier ones; returns the paths in the order of writing.
    [[nodiscard]] Result<std::vector<std::string>> commit();

private:
    [[nodiscard]] std::string pathOf(const std::string &name) const { return m_folder + "/" + name; }
    void drop();

    std::string m_folder, m_stage;
    std::vector<std::string> m_names;
    std::vector<std::string> m_made; ///< folders, the innermost first
};

} // namespace lockstep::core
