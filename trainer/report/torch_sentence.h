// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace lockstep::trainer {

/// What happened, in one line, out of the text of an exception of torch: without what follows its first line, and without
/// TorchScript's tracebacks, which come before it.
[[nodiscard]] std::string torchSentence(std::string text);

/// What the exception under way says; torch's texts contain backtraces.
[[nodiscard]] std::string textOfException();

} // namespace lockstep::trainer
