// SPDX-License-Identifier: MIT
#include "models/run_set.h"

#include <algorithm>

#include <QHash>

namespace lockstep::core {

RunSet::RunSet(QObject *parent) : QObject(parent) {}

void RunSet::add(RunStore *store) {
    if (!store || std::find(m_stores.begin(), m_stores.end(), store) != m_stores.end())
        return;
    Q_EMIT aboutToReset();
    m_stores.push_back(store);
    watch(store);
    end();
}

void RunSet::watch(RunStore *store) {
    connect(store, &RunStore::changed, this, [this, store](RunStore::Changes what) {
        if (what & RunStore::Record)
            m_labels.clear();
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
    end();
}

void RunSet::remove(RunStore *store) {
    const auto found = std::find(m_stores.begin(), m_stores.end(), store);
    if (found == m_stores.end())
        return;
    Q_EMIT aboutToReset();
    m_stores.erase(found);
    static_cast<QObject *>(store)->disconnect(this);
    end();
}

void RunSet::clear() {
    Q_EMIT aboutToReset();
    for (RunStore *store : m_stores)
        store->disconnect(this);
    m_stores.clear();
    end();
}

void RunSet::end() {
    m_labels.clear();
    Q_EMIT reset();
}

QString RunSet::label(int index) const {
    if (m_labels.empty())
        m_labels = labels();
    return m_labels[std::size_t(index)];
}

std::vector<QString> RunSet::labels() const {
    std::vector<QString> names;
    for (const RunStore *store : m_stores)
        names.push_back(store->identity().title());
    return numberedNames(std::move(names));
}

std::vector<QString> numberedNames(std::vector<QString> names) {
    QHash<QString, int> same;
    for (const QString &name : names)
        ++same[name];
    QHash<QString, int> places;
    for (QString &name : names)
        if (same.value(name) > 1) {
            const int place = ++places[name];
            name += QStringLiteral(" #%1").arg(place);
        }
    return names;
}

} // namespace lockstep::core

#include "moc_run_set.cpp"
