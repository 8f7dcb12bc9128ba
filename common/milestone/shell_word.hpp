#pragma once

#include <string>

namespace convlab {

/// The text as one word of a shell command, whatever characters it has.
std::string shell_word(const std::string& text);

}  // namespace convlab
