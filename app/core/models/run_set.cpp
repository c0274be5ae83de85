// SPDX-License-Identifier: MIT
#include "models/run_set.h"

#include <algorithm>

namespace lockstep::core {

RunSet::RunSet(QObject *parent) : QObject(parent) {}

void RunSet::add(RunStore *store) {
    if (!store || std::find(m_stores.begin(), m_stores.end(), store) != m_stores.end())
        return;
    Q_EMIT aboutToReset();
    m_stores.push_back(store);
    watch(store);
    Q_EMIT reset();
}

void RunSet::watch(RunStore *store) {
    connect(store, &RunStore::changed, this, [this, store](RunStore::Changes what) {
        const auto found = std::find(m_stores.begin(), m_stores.end(), store);
        if (found != m_stores.end())
            Q_EMIT changed(int(found - m_stores.begin()), what);
    });
    connect(store, &QObject::destroyed, this, [this, store] { remove(store); });
}

void RunSet::assign(const std::vector<RunStore *> &stores) {
    if (stores == m_stores)
        return;
    Q_EMIT aboutToReset();
    for (RunStore *store : m_stores)
        static_cast<QObject *>(store)->disconnect(this); // it may be half destroyed
    m_stores = stores;
    for (RunStore *store : m_stores)
        watch(store);
    Q_EMIT reset();
}

void RunSet::remove(RunStore *store) {
    const auto found = std::find(m_stores.begin(), m_stores.end(), store);
    if (found == m_stores.end())
        return;
    Q_EMIT aboutToReset();
    m_stores.erase(found);
    static_cast<QObject *>(store)->disconnect(this);
    Q_EMIT reset();
}

void RunSet::clear() {
    Q_EMIT aboutToReset();
    for (RunStore *store : m_stores)
        store->disconnect(this);
    m_stores.clear();
    Q_EMIT reset();
}

QString RunSet::label(int index) const {
    const QString title = at(index)->identity().title();
    int same = 0, place = 0;
    for (int i = 0; i < count(); ++i)
        if (at(i)->identity().title() == title) {
            ++same;
            if (i <= index)
                ++place;
        }
    return same > 1 ? title + QStringLiteral(" #%1").arg(place) : title;
}

} // namespace lockstep::core

#include "moc_run_set.cpp"
