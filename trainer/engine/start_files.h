// SPDX-License-Identifier: MIT
#pragma once
#include "ipc/frames.h"

namespace lockstep {
struct RunConfig;
}

namespace lockstep::trainer {

/// The files by which a run's texts become tokens, under names as startFiles() gives them. None where its samples are no texts.
[[nodiscard]] FileDigests tokenizerFiles(const RunConfig &config);

/// These, and the files that a BERT and a run's first parameters come from, each by the setting that leads to it and its own name:
/// "bert_dir/model.safetensors". Reads them whole. One that can't be read is left out.
[[nodiscard]] FileDigests startFiles(const RunConfig &config);

} // namespace lockstep::trainer
