// SPDX-License-Identifier: MIT
#pragma once
// Internal to the index: conversion between a run's files, a row, and SQL.
#include <QSqlQuery>
#include <QVariant>

#include "ipc/run_folder.h"
#include "store/run_index.h"
#include "store/status_reader.h"

namespace lockstep::core::detail {

/// "run TEXT PRIMARY KEY, stamp TEXT, …", in the order of valuesOf() and rowOf().
[[nodiscard]] QString tableColumns();
[[nodiscard]] QVariantList valuesOf(const IndexedRun &row, const QString &stamp);
/// A key of a run's work as its row has it: a long one's hash, since a command's placeholders can make a key that is far longer than the
/// run's record.
[[nodiscard]] std::string keptWork(std::string key);
/// Of a query that selected every column.
[[nodiscard]] IndexedRun rowOf(const QSqlQuery &query);
/// Reads config.json, result.json and notes.json.
[[nodiscard]] Result<IndexedRun> readRow(const std::string &run, const RunFolder &folder, StatusReader &statuses);

} // namespace lockstep::core::detail
