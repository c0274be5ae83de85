// SPDX-License-Identifier: MIT
#include "trainer/data/text_set.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "ipc/class_limit.h"
#include "ipc/json_writer.h"
#include "ipc/printable.h"
#include "ipc/sha256.h"
#include "trainer/data/delimited_text.h"
#include "trainer/data/word_piece.h"

namespace lockstep::trainer {
namespace {

constexpr std::size_t textAt = 0, labelAt = 1; ///< the columns asked for

std::string fileOf(const DataSetSpec &spec, const std::string &given) {
    const std::string place = given.empty() ? downloadedDataFolder(spec.download) : given;
    std::error_code ignored;
    return std::filesystem::is_directory(place, ignored) ? place + "/" + std::string(textsFile) : place;
}

Error absent(const DataSetSpec &spec, const std::string &file) {
    const std::string way =
        spec.download.empty() ? std::string() : "lockstepctl get-data " + std::string(spec.download) + ", or ";
    return Error::badArgument(file + " of " + std::string(spec.name) + " is not there",
                              way + "give a CSV or TSV file with --data-dir", "data_dir");
}

/// A class is a number in the names.
struct Labels {
    std::vector<std::string> names;     ///< in alphabetical order
    std::vector<std::uint16_t> classes; ///< of each record
};

/// Of more than mostClasses labels only that there are more is known.
Result<void> checkCount(std::size_t different, const DataSetSpec &spec, const std::string &file,
                        const std::string &column) {
    const std::string holds = "its column " + column + " holds ";
    const std::string most = std::to_string(mostClasses);
    if (different < 2 || different > mostClasses)
        return fail(Error::badArgument(holds +
                                           (different > mostClasses ? "more than " + most : std::to_string(different)) +
                                           " different labels, expected 2 to " + most,
                                       "name the column with the label with --label-column", file));
    if (spec.sample.classes > 0 && different != static_cast<std::size_t>(spec.sample.classes))
        return fail(Error::badArgument(
            holds + std::to_string(different) + " different labels, expected " + std::to_string(spec.sample.classes),
            "give " + std::string(spec.title) + "'s file, or the data set text for another one", file));
    return {};
}

/// Of the first mostClasses labels and one more.
Labels labelsOf(const DelimitedColumns &columns) {
    Labels labels;
    labels.classes.reserve(columns.records());
    std::map<std::string, std::uint16_t> seen; // by label, counted as they come
    for (std::size_t record = 0; record < columns.records() && seen.size() <= mostClasses; ++record) {
        const auto next = static_cast<std::uint16_t>(seen.size());
        labels.classes.push_back(seen.try_emplace(columns.field(labelAt, record), next).first->second);
    }
    std::vector<std::uint16_t> sorted(seen.size());
    for (const auto &[label, number] : seen) {
        sorted[number] = static_cast<std::uint16_t>(labels.names.size());
        labels.names.push_back(label);
    }
    for (std::uint16_t &number : labels.classes)
        number = sorted[number];
    return labels;
}

/// Refuses the first record whose label is bad: `what` says so, given the label.
template <class IsBad, class What>
Result<void> refuseLabels(const Labels &labels, std::string_view bytes, const std::string &file, const IsBad &isBad,
                          const What &what, const std::string &wayOut) {
    if (std::ranges::none_of(labels.names, isBad))
        return {};
    const auto bad =
        std::ranges::find_if(labels.classes, [&](std::uint16_t number) { return isBad(labels.names[number]); });
    const auto record = static_cast<std::size_t>(bad - labels.classes.begin());
    return fail(Error::badArgument(what(labels.names[*bad]), wayOut,
                                   file + ":" + std::to_string(lineOfRecord(bytes, file, record))));
}

Result<void> checkLabels(const Labels &labels, const DataSetSpec &spec, std::string_view bytes, const std::string &file,
                         const std::string &column) {
    if (auto named = refuseLabels(
            labels, bytes, file,
            [](const std::string &label) { return label.find_first_not_of(" \t") == std::string::npos; },
            [&](const std::string &) { return "it has no label in its column " + column; },
            "give it one, or remove the record");
        !named)
        return named;
    if (auto good = checkCount(labels.names.size(), spec, file, column); !good)
        return good;
    // Labels go into JSON: a trained folder's config, frames. Texts need no check, since tokens are made of what is valid in them.
    return refuseLabels(
        labels, bytes, file, [](const std::string &label) { return validUtf8(label) != label; },
        [](const std::string &label) { return "the label " + quotedWords(validUtf8(label)) + " is not UTF-8"; },
        "save the file as UTF-8");
}

/// The numbers of each split's records in the file.
struct Records {
    std::vector<std::uint32_t> train, test;
};

Records recordsOf(std::size_t count) {
    const auto order = at::randperm(static_cast<std::int64_t>(count), at::detail::createCPUGenerator(0), at::kLong);
    const auto *record = order.const_data_ptr<std::int64_t>();
    Records records;
    for (std::size_t i = 0; i < count; ++i)
        (i % testTextEvery == testTextEvery - 1 ? records.test : records.train)
            .push_back(static_cast<std::uint32_t>(record[i]));
    return records;
}

/// Keeps the first `limit` of a split, 0: all.
Result<void> keepFirst(std::vector<std::uint32_t> &records, std::int64_t limit, Split split, const std::string &file) {
    if (records.empty() || std::cmp_greater(limit, records.size()))
        return fail(Error::badArgument(
            std::to_string(std::max<std::int64_t>(limit, 1)) + (split == Split::Train ? " training" : " test") +
                " samples are asked for, but " + file + " holds " + std::to_string(records.size()),
            "ask for at most that many, or for 0: all of them",
            split == Split::Train ? "train_samples" : "test_samples"));
    if (limit > 0)
        records.resize(static_cast<std::size_t>(limit));
    return {};
}

class TextSetMaker {
public:
    TextSetMaker(const DataSetSpec &spec, const WordPiece &words, std::size_t maxTokens)
        : m_spec(spec), m_words(words), m_maxTokens(maxTokens) {}

    [[nodiscard]] DataSet make(const DelimitedColumns &columns, const Labels &labels,
                               const std::vector<std::uint32_t> &records) const {
        DataSet set;
        set.spec = m_spec;
        set.texts = encoded(columns, records);
        set.targets = torch::empty({std::ssize(records)}, torch::kInt64);
        auto *target = set.targets.data_ptr<std::int64_t>();
        for (const std::uint32_t record : records)
            *target++ = labels.classes[record];
        set.classNames = labels.names;
        return set;
    }

private:
    [[nodiscard]] PackedTexts encoded(const DelimitedColumns &columns,
                                      const std::vector<std::uint32_t> &records) const {
        constexpr std::size_t textsOfPart = 256;
        std::vector<PackedTexts> parts((records.size() + textsOfPart - 1) / textsOfPart,
                                       PackedTexts(m_words.padding()));
        at::parallel_for(0, std::ssize(parts), 1, [&](std::int64_t first, std::int64_t end) {
            for (auto part = static_cast<std::size_t>(first); part < static_cast<std::size_t>(end); ++part)
                for (std::size_t i = part * textsOfPart; i < std::min((part + 1) * textsOfPart, records.size()); ++i)
                    parts[part].add(m_words.encode(columns.field(textAt, records[i]), m_maxTokens));
        });
        return PackedTexts::joined(std::move(parts));
    }

    const DataSetSpec &m_spec;
    const WordPiece &m_words;
    std::size_t m_maxTokens;
};

} // namespace

Result<DataSets> loadTexts(const DataSetSpec &given, const TextOptions &options) {
    DataSetSpec spec = given;
    const std::string file = fileOf(spec, options.file);
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored))
        return fail(absent(spec, file));
    const auto words = WordPiece::ofVocabulary(options.vocabulary, options.rules, options.vocabularyFile);
    if (!words)
        return fail(words.error());
    const std::string textColumn = options.textColumn.empty() ? std::string(spec.inputs) : options.textColumn,
                      labelColumn = options.labelColumn.empty() ? std::string(spec.targets) : options.labelColumn;
    const auto bytes = readDelimited(file);
    if (!bytes)
        return fail(bytes.error());
    const auto columns = columnsOf(*bytes, file, {textColumn, labelColumn});
    if (!columns)
        return fail(columns.error());
    const Labels labels = labelsOf(*columns);
    if (auto good = checkLabels(labels, spec, *bytes, file, labelColumn); !good)
        return fail(good.error());
    spec.sample.classes = static_cast<int>(labels.names.size());
    const TextSetMaker maker(spec, *words, options.maxTokens);
    Records records = recordsOf(columns->records());
    if (auto kept = keepFirst(records.train, options.trainLimit, Split::Train, file); !kept)
        return fail(kept.error());
    if (auto kept = keepFirst(records.test, options.testLimit, Split::Test, file); !kept)
        return fail(kept.error());
    DataSets sets{maker.make(*columns, labels, records.train), maker.make(*columns, labels, records.test)};
    const std::string sha256 = sha256Hex(*bytes);
    for (DataSet *set : {&sets.train, &sets.test})
        set->sha256[std::filesystem::path(file).filename()] = sha256;
    return sets;
}

} // namespace lockstep::trainer
