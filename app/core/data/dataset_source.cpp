// SPDX-License-Identifier: MIT
#include "data/dataset_source.h"

#include <algorithm>

#include <nlohmann/json.hpp>
#include <QFile>
#include <QUrl>

#include "ipc/models.h"

// A static library's resources must be initialised explicitly, by a macro outside any namespace.
static void takeDatasetResources() {
    Q_INIT_RESOURCE(datasets);
}

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t sha256Digits = 64;

std::string folderUrl(std::string url) {
    if (!url.ends_with('/'))
        url += '/';
    const QUrl parsed(QString::fromStdString(url), QUrl::StrictMode);
    if (!parsed.isValid() || (parsed.scheme() != u"http" && parsed.scheme() != u"https"))
        throw std::runtime_error("\"" + url.substr(0, 200) + "\" is not an http or https address");
    return url;
}

DatasetFile fileFrom(const Json &json) {
    DatasetFile file{json.at("name").get<std::string>(), json.at("bytes").get<std::int64_t>(),
                     json.at("sha256").get<std::string>()};
    if (file.name.empty() || file.name.front() == '.' || file.name.find('/') != std::string::npos)
        throw std::runtime_error("\"" + file.name.substr(0, 200) + "\" is not a plain file name");
    if (file.bytes <= 0)
        throw std::runtime_error(file.name + " has no size");
    if (file.sha256.size() != sha256Digits || file.sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
        throw std::runtime_error(file.name + " has no sha256 of 64 lower-case hex digits");
    return file;
}

bool isThere(const std::string &folder, std::string name) {
    if (QFile::exists(QString::fromStdString(folder + "/" + name)))
        return true;
    return name.ends_with(".gz") &&
           QFile::exists(QString::fromStdString(folder + "/" + name.substr(0, name.size() - 3)));
}

} // namespace

std::int64_t DatasetSource::bytes() const {
    std::int64_t sum = 0;
    for (const DatasetFile &file : files)
        sum += file.bytes;
    return sum;
}

std::vector<DatasetSource> knownDatasets() {
    takeDatasetResources();
    QFile file(QStringLiteral(":/data/datasets.json"));
    if (!file.open(QIODevice::ReadOnly))
        return {};
    return datasetsFromJson(file.readAll().toStdString()).value_or(std::vector<DatasetSource>());
}

Result<std::vector<DatasetSource>> datasetsFromJson(std::string_view text) {
    try {
        std::vector<DatasetSource> all;
        const Json root = Json::parse(text);
        for (const auto &[name, json] : root.items()) {
            DatasetSource source;
            source.name = name;
            const DataSetSpec *known = findDataSet(name);
            source.title = json.value("title", known ? std::string(known->title) : name);
            for (const Json &mirror : json.at("mirrors"))
                source.mirrors.push_back(folderUrl(mirror.get<std::string>()));
            for (const Json &file : json.at("files"))
                source.files.push_back(fileFrom(file));
            if (source.files.empty())
                throw std::runtime_error(name + " has no files");
            all.push_back(std::move(source));
        }
        return all;
    } catch (const std::exception &exception) {
        return fail(Error::badArgument(std::string("the list of data sets is not valid: ") + exception.what(),
                                       "write it like resources/datasets.json", "manifest"));
    }
}

Result<DatasetSource> findDataset(const std::vector<DatasetSource> &all, std::string_view name) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto &one) { return one.name == name; });
    if (found != all.end())
        return *found;
    std::string names;
    for (const DatasetSource &one : all)
        names += (names.empty() ? "" : " or ") + one.name;
    return fail(Error::badArgument("there is no data set \"" + std::string(name.substr(0, 80)) + "\" to download",
                                   "use " + names, "dataset"));
}

std::string presentDatasetFolder(const DatasetSource &source) {
    for (const std::string &folder : {packagedDataFolder(source.name), downloadedDataFolder(source.name)})
        if (std::all_of(source.files.begin(), source.files.end(),
                        [&](const DatasetFile &file) { return isThere(folder, file.name); }))
            return folder;
    return {};
}

} // namespace lockstep::core
