// SPDX-License-Identifier: MIT
#pragma once
// Python's PyTorch as the measure: finds one, and gives both sides the same small data.
#include "tests/trainer/trainer_process.h"
#include "trainer/data/safetensors.h"

namespace lockstep::trainer::test {

/// A Python that imports the module, or empty. The build's peers come first: they have torchvision too.
[[nodiscard]] std::string pythonWith(const std::string &module);

/// The example of docs/own-model.md as it stands there: writes net.py into the folder and lets this Python make net.pt and net.json.
void makeOwnModel(const std::string &python, const TempFolder &folder);

/// The largest difference of a tensor from its namesake, by norms: |a - b| ÷ |b|.
[[nodiscard]] double relativeDifference(const TensorFile &file, const TensorFile &expected);

/// Bytes of any kind as a peer can read them.
inline std::string hexOf(std::string_view bytes) {
    std::string hex;
    for (const char byte : bytes)
        for (const int shift : {4, 0})
            hex += "0123456789abcdef"[static_cast<unsigned char>(byte) >> shift & 15];
    return hex;
}

/// The first images of Fashion-MNIST in a folder of IDX files: read in no time, and tested on 301 images, which neither 2
/// nor 3 ranks share out evenly.
class SmallData {
public:
    explicit SmallData(std::int64_t trainImages, std::int64_t testImages = 301);
    [[nodiscard]] std::string option() const { return "--data-dir=" + m_folder.path(); }
    /// Gives each image to train on the label of the next class.
    void changeTrainLabels() const;
    /// Replaces the file of the labels to train on by the same, packed by gzip.
    void packTrainLabels() const;

private:
    TempFolder m_folder;
};

} // namespace lockstep::trainer::test
