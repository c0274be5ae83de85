// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace lockstep::trainer {

/// What this program runs with, as one line of JSON: its version and path, torch's version and NCCL's ("" when there is none
/// beside torch), torch's folder, and in "libraries" every loaded library, all of which must be copied along with
/// the trainer. With LOCKSTEP_FACTS=cuda, "cuda_libraries" are those that GPUs need in addition (takes seconds).
[[nodiscard]] std::string trainerFactsJson();

} // namespace lockstep::trainer
