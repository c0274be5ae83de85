// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include <QTemporaryDir>

#include "ipc/error.h"
#include "ipc/frames.h"

namespace lockstep::cli {

/// A git hook is given its repository and index in variables. Here and in the runs they would stand for those of a checkout.
[[nodiscard]] Result<void> forgetVariablesOfGit();

/// A checkout of a revision of the repository in this folder, which is removed at the end.
class Checkout {
public:
    Checkout() = default;
    Checkout(const Checkout &) = delete;
    Checkout &operator=(const Checkout &) = delete;
    ~Checkout();

    [[nodiscard]] Result<void> make(const std::string &revision);

    /// This folder's place in the checkout.
    [[nodiscard]] QString folder() const;
    /// A command's word, or a list of paths separated by colons: absolute paths in the working tree lead to the
    /// checkout. What the checkout lacks, such as data and environments that git ignores, stays where it is.
    [[nodiscard]] std::string leadingThere(const std::string &word) const;
    /// The first file that runs of the checkout (`base`) have read as it is in the working tree, where `here` read it,
    /// though the revision has another; empty: none. Where nothing that both have read differs, also one that only runs
    /// of the working tree are known to have read. Files are named from their script's folder on, with their SHA-256.
    [[nodiscard]] Result<std::string> readFromHere(const FileDigests &base, const FileDigests &here) const;

private:
    [[nodiscard]] QString top() const { return m_parent.filePath(QStringLiteral("base")); }
    [[nodiscard]] QString pathThere(const QString &path) const;
    /// By their paths in the working tree: those that the commit has with other content or as something else, or lacks; of a submodule
    /// that is at another commit or was edited, and of a repository that git does not know, all that lie below it.
    [[nodiscard]] Result<QStringList> unlikeFiles() const;

    QTemporaryDir m_parent;
    QString m_commit;
    QString m_tree;   ///< the working tree's top folder
    QString m_prefix; ///< this folder in it: "" or "examples/"
    bool m_made = false;
};

} // namespace lockstep::cli
