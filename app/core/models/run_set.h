// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include <QObject>
#include <QPointer>

#include "store/run_store.h"

namespace lockstep::core {

/// The runs that a page shows, in order; every per-run model reads such a set. Does not own the stores.
class RunSet : public QObject {
    Q_OBJECT
public:
    explicit RunSet(QObject *parent = nullptr);
    void add(RunStore *store); ///< adds it once; a destroyed store is removed automatically
    void remove(RunStore *store);
    void clear();
    void
    assign(const std::vector<RunStore *> &stores); ///< these, in this order, in one reset; no reset if nothing changes
    [[nodiscard]] const std::vector<RunStore *> &stores() const { return m_stores; }
    [[nodiscard]] int count() const { return int(m_stores.size()); }
    [[nodiscard]] RunStore *at(int index) const { return m_stores[std::size_t(index)]; }
    /// "DDP on 2 devices", with " #2" when several runs share a title.
    [[nodiscard]] QString label(int index) const;

Q_SIGNALS:
    void aboutToReset(); ///< the set of runs changes
    void reset();
    void changed(int index, lockstep::core::RunStore::Changes what);

private:
    void watch(RunStore *store);
    void end(); ///< of a change of the set
    [[nodiscard]] std::vector<QString> labels() const;
    std::vector<RunStore *> m_stores;
    mutable std::vector<QString> m_labels; ///< of all runs; empty: to be made
};
/// Those that occur several times with their place among them: "baseline #1", "baseline #2".
[[nodiscard]] std::vector<QString> numberedNames(std::vector<QString> names);

} // namespace lockstep::core
