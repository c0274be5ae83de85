// SPDX-License-Identifier: MIT
#include "export/staged_files.h"

#include <filesystem>
#include <unistd.h>

#include "base/whole_file.h"
#include "export/export.h"

namespace lockstep::core {
namespace {

tl::unexpected<Error> notWritten(const std::string &path, const std::string &why) {
    return fail(Error::failed("can't write " + path + ": " + why, "choose another folder or free some space"));
}

} // namespace

StagedFiles::~StagedFiles() {
    drop();
}

Result<void> StagedFiles::begin() {
    std::error_code error;
    for (std::filesystem::path at = m_folder; !at.empty() && !std::filesystem::exists(at, error); at = at.parent_path())
        m_made.push_back(at.string());
    if (auto writable = checkWritableFolder(m_folder); !writable)
        return writable;
    m_stage = pathOf(".lockstep-export-" + std::to_string(::getpid()));
    std::filesystem::remove_all(m_stage, error); // left by a killed process with this pid
    if (!std::filesystem::create_directory(m_stage, error))
        return notWritten(m_stage, error.message());
    return {};
}

Result<void> StagedFiles::write(const std::string &name, std::string_view bytes) {
    if (const std::string why = writeWhole(m_stage + "/" + name, bytes); !why.empty())
        return notWritten(pathOf(name), why);
    m_names.push_back(name);
    return {};
}

Result<std::vector<std::string>> StagedFiles::commit() {
    std::error_code error;
    for (const std::string &name : m_names) // before the first is moved
        if (std::filesystem::is_directory(pathOf(name), error))
            return notWritten(pathOf(name), "there is a folder of this name");
    std::vector<std::string> out;
    for (const std::string &name : m_names) {
        std::filesystem::rename(m_stage + "/" + name, pathOf(name), error);
        if (error)
            return notWritten(pathOf(name), error.message());
        out.push_back(pathOf(name));
    }
    m_made.clear();
    std::filesystem::remove_all(m_stage, error);
    return out;
}

void StagedFiles::drop() {
    std::error_code error;
    if (!m_stage.empty())
        std::filesystem::remove_all(m_stage, error);
    for (const std::string &folder : m_made)
        std::filesystem::remove(folder, error); // succeeds only if it is empty
}

} // namespace lockstep::core
