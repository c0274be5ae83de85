// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace lockstep::trainer {

/// What happened, in one line, out of the text of an exception of torch: without what follows its first line, and without
/// TorchScript's tracebacks, which come before it.
[[nodiscard]] std::string torchSentence(std::string text);

} // namespace lockstep::trainer
