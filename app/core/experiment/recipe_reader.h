// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "experiment/key_reader.h"
#include "experiment/recipe.h"
#include "experiment/run_finder.h"

namespace lockstep::core {

inline constexpr std::size_t mostRecipeRuns = 1000;              ///< listed, or of a matrix
inline constexpr std::size_t mostRecipeBytes = 32 * 1024 * 1024; ///< of its runs, as bytesOf() counts them

/// Reads a recipe out of JSON, collecting every mistake instead of stopping at the first.
class RecipeReader : private KeyReader {
public:
    explicit RecipeReader(std::string_view file) : KeyReader(file) {}
    [[nodiscard]] Recipe read(const JsonNode &root);
    using KeyReader::errorCount;
    using KeyReader::errors;

private:
    void setKey(RunSpec &spec, const std::string &key, const JsonNode &value);
    void setDevices(RunSpec &spec, const JsonNode &value);
    void setKeys(RunSpec &spec, const JsonNode &object);
    void readCommand(RunSpec &spec, const JsonNode &run);
    void readClaims(RunSpec &spec, const JsonNode &run);
    void readVaries(Recipe &recipe, const JsonNode &root);
    void readGoal(Recipe &recipe, const JsonNode &root);
    void readRuns(Recipe &recipe, const JsonNode &root);
    /// Whether there is room for this run too; the first for which there is none is a mistake.
    [[nodiscard]] bool hasRoom(const RunSpec &spec, int line);
    void checkRun(const RunSpec &spec, const JsonNode &run, const JsonNode *base);
    // In recipe_matrix.cpp:
    void readMatrix(Recipe &recipe, const JsonNode &matrix, const RunSpec &base, const JsonNode *baseNode);
    [[nodiscard]] bool checkAxes(const JsonNode &matrix, const RunSpec &base);
    void addMatrixRun(Recipe &recipe, const JsonNode &matrix, const RunSpec &base, const JsonNode *baseNode,
                      const std::vector<const JsonNode *> &values);
    void readQuick(Recipe &recipe, const JsonNode &quick);

    std::size_t m_bytes = 0, m_places = 0, m_counted = 0; ///< of the runs read
    RunFinder m_matrixRuns;                               ///< all runs of the recipe so far: a matrix is read first
    bool m_full = false;
};

} // namespace lockstep::core
