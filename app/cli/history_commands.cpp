// SPDX-License-Identifier: MIT
// Commands on earlier runs: tag, rename, note, star, delete, restore, trash, diff.
#include <algorithm>
#include <filesystem>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

#include "analysis/history/run_columns.h"
#include "analysis/history/run_diff.h"
#include "analysis/history/run_filter.h"
#include "commands.h"
#include "ipc/file_system.h"
#include "ipc/run_folder.h"
#include "loaded_runs.h"
#include "models/run_diff_model.h"
#include "output.h"
#include "standard_input.h"
#include "store/run_index.h"
#include "store/run_notes.h"
#include "store/run_trash.h"

namespace lockstep::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string counted(std::size_t count) {
    return count == 1 ? "1 run" : std::to_string(count) + " runs";
}

Result<void> checkRun(const std::string &run) {
    if (!isRunId(run) || !realFileSystem().readAll(runFolder(run).config()))
        return fail(Error::badArgument("there is no run " + run.substr(0, 80), "lockstepctl list shows them"));
    return {};
}

/// Resolves the choice: at least one run, all existing, each once.
Result<std::vector<std::string>> chosenRuns(const RunChoice &choice) {
    std::vector<std::string> out;
    std::unordered_set<std::string> given;
    for (const std::string &run : choice.runs) {
        if (const Result<void> there = checkRun(run); !there)
            return fail(there.error());
        if (given.insert(run).second)
            out.push_back(run);
    }
    if (!choice.filter.empty()) {
        auto index = core::RunIndex::open();
        if (!index)
            return fail(index.error());
        if (const auto refreshed = index->refresh(); !refreshed)
            return fail(refreshed.error());
        const std::vector<core::IndexedRun> runs = index->runs();
        const auto filter = core::RunFilter::parse(QString::fromStdString(choice.filter), core::inventedColumns(runs));
        if (!filter)
            return fail(Error::badArgument("the filter is wrong " + filter.error().message()));
        for (const core::IndexedRun &run : runs)
            if (filter->accepts(run))
                out.push_back(run.run);
    }
    if (out.empty())
        return fail(choice.filter.empty() ? Error::badArgument("no run is given", "give runs or --filter")
                                          : Error::badArgument("no run matches \"" + choice.filter.substr(0, 80) + "\"",
                                                               "lockstepctl list --filter shows which runs match"));
    return out;
}

int changeAll(const RunChoice &choice, const core::NotesChange &change, const std::string &what) {
    const auto runs = chosenRuns(choice);
    if (!runs)
        return complain(runs.error());
    for (const std::string &run : *runs)
        if (const auto changed = core::changeRunNotes(runFolder(run), change); !changed)
            return complain(changed.error());
    print(counted(runs->size()) + " " + what + "\n");
    return Done;
}

/// As the filter finds it.
bool isSameTag(const std::string &a, const std::string &b) {
    return QString::fromStdString(a).compare(QString::fromStdString(b), Qt::CaseInsensitive) == 0;
}

/// A folder may be linked under another id.
bool areOneRun(const std::string &a, const std::string &b) {
    std::error_code unknown;
    return a == b || std::filesystem::equivalent(runFolder(a).path, runFolder(b).path, unknown);
}

Json trashedJson(const core::TrashedRuns &batch) {
    return {{"deletion", batch.id}, {"runs", batch.runs}};
}

int printRestored(const std::vector<std::string> &runs, bool json) {
    print(json ? dump({{"runs", runs}}) : counted(runs.size()) + " restored\n");
    return Done;
}

} // namespace

int tagCommand(const RunChoice &choice, const std::string &tags, bool remove) {
    const auto words = core::tagsFrom(tags);
    if (!words)
        return complain(words.error());
    if (words->empty())
        return complain(Error::badArgument("no tag is given", "give words joined by commas"));
    const auto change = [&](core::RunNotes &notes) {
        for (const std::string &word : *words)
            if (remove)
                std::erase_if(notes.tags, [&](const std::string &tag) { return isSameTag(tag, word); });
            else
                notes.tags.push_back(word);
    };
    return changeAll(choice, change, (remove ? "without " : "tagged ") + core::joinedTags(*words));
}

int renameCommand(const std::string &run, const std::string &name) {
    if (std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
        return complain(Error::badArgument("a name has no control characters", "give it as one line"));
    return changeAll(
        {{run}, {}}, [&](core::RunNotes &notes) { notes.name = name; },
        name.empty() ? "has its original name again" : "is now called " + name);
}

int noteCommand(const std::string &run, const std::optional<std::string> &text) {
    if (!text) {
        if (const Result<void> there = checkRun(run); !there)
            return complain(there.error());
        const auto notes = core::readRunNotes(runFolder(run));
        if (!notes)
            return complain(notes.error());
        print(notes->note.empty() ? std::string() : notes->note + "\n");
        return Done;
    }
    std::string note = *text;
    if (note == "-") {
        Result<std::string> said = standardInput();
        if (!said)
            return complain(said.error());
        note = std::move(*said);
        note.erase(note.find_last_not_of("\n") + 1);
    }
    return changeAll(
        {{run}, {}}, [&](core::RunNotes &notes) { notes.note = note; }, note.empty() ? "without a note" : "noted");
}

int starCommand(const RunChoice &choice, bool off) {
    return changeAll(
        choice, [off](core::RunNotes &notes) { notes.starred = !off; }, off ? "without a star" : "starred");
}

int deleteCommand(const RunChoice &choice, bool json) {
    const auto runs = chosenRuns(choice);
    if (!runs)
        return complain(runs.error());
    if (const auto emptied = core::emptyTrash(core::trashKept); !emptied)
        return complain(emptied.error());
    const auto batch = core::trashRuns(*runs);
    if (!batch)
        return complain(batch.error());
    print(json ? dump(trashedJson(*batch))
               : counted(batch->runs.size()) + " deleted; to restore within 30 days: lockstepctl restore " + batch->id +
                     "\n");
    return Done;
}

int restoreCommand(const std::vector<std::string> &ids, bool json) {
    std::vector<std::string> wanted = ids;
    const std::vector<core::TrashedRuns> trash = core::listTrash();
    if (wanted.empty()) {
        if (trash.empty())
            return complain(Error::failed("the trash is empty"));
        wanted.push_back(trash.front().id);
    }
    std::vector<std::string> back;
    for (const std::string &id : wanted) {
        const bool batch =
            std::any_of(trash.begin(), trash.end(), [&](const core::TrashedRuns &one) { return one.id == id; });
        if (!batch) {
            if (const auto restored = core::restoreRun(id); !restored)
                return complain(restored.error());
            back.push_back(id);
        } else if (const auto restored = core::restoreTrashed(id); restored) {
            back.insert(back.end(), restored->runs.begin(), restored->runs.end());
        } else {
            return complain(restored.error());
        }
    }
    return printRestored(back, json);
}

int trashCommand(bool empty, bool json) {
    if (empty) {
        const auto removed = core::emptyTrash();
        if (!removed)
            return complain(removed.error());
        print(json ? dump({{"removed", *removed}}) : counted(std::size_t(*removed)) + " removed permanently\n");
        return Done;
    }
    Json all = Json::array();
    std::vector<std::vector<std::string>> rows = {{"deletion", "run"}};
    for (const core::TrashedRuns &batch : core::listTrash()) {
        all.push_back(trashedJson(batch));
        for (const std::string &run : batch.runs)
            rows.push_back({batch.id, run});
    }
    print(json ? dump(all) : rows.size() > 1 ? aligned(rows) : "The trash is empty.\n");
    return Done;
}

int diffCommand(const std::string &a, const std::string &b, bool all, bool json) {
    for (const std::string &run : {a, b})
        if (isExperiment(run))
            return complain(
                Error::badArgument(run + " is an experiment", "give two runs; lockstepctl list shows them"));
    const auto loaded = loadRuns({a, b});
    if (!loaded)
        return complain(loaded.error());
    if (areOneRun(a, b))
        return complain(
            Error::badArgument(a == b ? "run " + a + " is given twice" : a + " and " + b + " are the same run",
                               "give two different runs; lockstepctl list shows them"));
    const core::RunDiff diff = core::diffRuns(*loaded->stores[0], *loaded->stores[1]);
    if (json) {
        print(core::toJson(diff));
        return Done;
    }
    core::RunDiffModel model;
    model.setDiff(diff);
    model.setAllOpen(all);
    std::vector<std::vector<std::string>> rows = {{"", "A: " + diff.nameA.toStdString(),
                                                   "B: " + diff.nameB.toStdString(),
                                                   text(core::RunDiffModel::ratioHead())}};
    for (int row = 0; row < model.rowCount(); ++row) {
        if (all && model.index(row, 0).data(core::RunDiffModel::FoldRole).toBool())
            continue;
        std::vector<std::string> &line = rows.emplace_back();
        for (int column = 0; column < core::RunDiffModel::ColumnCount; ++column)
            line.push_back(model.index(row, column).data().toString().toStdString());
        if (!model.index(row, 0).data(core::RunDiffModel::HeadRole).toBool())
            line.front() = "  " + line.front();
    }
    print(aligned(rows));
    return Done;
}

} // namespace lockstep::cli
