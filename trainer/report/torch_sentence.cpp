// SPDX-License-Identifier: MIT
#include "trainer/report/torch_sentence.h"

#include <algorithm>
#include <exception>
#include <string_view>

#include <c10/util/Exception.h>

namespace lockstep::trainer {

std::string torchSentence(std::string text) {
    constexpr std::string_view interpreter = "The following operation failed in the TorchScript interpreter.";
    constexpr std::string_view plain = "RuntimeError: ";
    if (!text.starts_with(interpreter)) {
        text.erase(std::min(text.size(), text.find('\n')));
        return text.substr(0, text.find(". ")); // the first sentence: those after it guess
    }
    text.erase(text.find_last_not_of('\n') + 1);
    text.erase(0, text.rfind('\n') + 1); // nothing if there is one line alone
    return text.starts_with(plain) ? text.substr(plain.size()) : text;
}

std::string textOfException() {
    try {
        throw;
    } catch (const c10::Error &error) {
        return error.what_without_backtrace();
    } catch (const std::exception &error) {
        return error.what();
    }
}

} // namespace lockstep::trainer
