#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "launch/json_lines.h"
#include "launch/recipe.h"

namespace lockstep::core {

/// Reads a recipe out of JSON, collecting every mistake instead of stopping at the first.
class RecipeReader {
public:
    explicit RecipeReader(std::string_view file) : m_file(file) {}
    [[nodiscard]] Recipe read(const JsonNode &root);
    [[nodiscard]] const std::vector<Error> &errors() const { return m_errors; }

private:
    struct KeyLines; ///< where a run's keys were set, for what validate() finds
    void complain(int line, std::string_view key, std::string what, std::string wayOut);
    void refuseUnknown(const JsonNode &object, const std::vector<std::string> &known);
    [[nodiscard]] bool isObject(const JsonNode &node, std::string_view key);
    [[nodiscard]] std::string text(const JsonNode &object, std::string_view key, bool required = false);
    [[nodiscard]] std::optional<double> number(const JsonNode &object, std::string_view key, double low, double high);
    [[nodiscard]] std::optional<std::int64_t> whole(const JsonNode &object, std::string_view key, std::int64_t low,
                                                    std::int64_t high);
    [[nodiscard]] std::vector<std::string> texts(const JsonNode &object, std::string_view key);
    [[nodiscard]] std::vector<double> numbers(const JsonNode &object, std::string_view key, double low, double high);

    void setKey(RunSpec &spec, const std::string &key, const JsonNode &value);
    void setDevices(RunSpec &spec, const JsonNode &value);
    void setKeys(RunSpec &spec, const JsonNode &object);
    void readCommand(RunSpec &spec, const JsonNode &run);
    void readVaries(Recipe &recipe, const JsonNode &root);
    void readRuns(Recipe &recipe, const JsonNode &root);
    void checkRun(const RunSpec &spec, const JsonNode &run, const JsonNode *base);
    // In recipe_matrix.cpp:
    void readMatrix(Recipe &recipe, const JsonNode &matrix, const RunSpec &base, const JsonNode *baseNode);
    [[nodiscard]] bool checkAxes(const JsonNode &matrix, const RunSpec &base);
    void addCell(Recipe &recipe, const JsonNode &matrix, const RunSpec &base, const JsonNode *baseNode,
                 const std::vector<const JsonNode *> &values);
    void readQuick(Recipe &recipe, const JsonNode &quick);
    void readPublished(Recipe &recipe, const JsonNode &published);
    [[nodiscard]] PublishedRun readPublishedRun(const JsonNode &run);

    std::string m_file;
    std::vector<Error> m_errors;
};

} // namespace lockstep::core
