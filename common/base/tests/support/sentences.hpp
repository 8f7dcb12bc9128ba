#pragma once

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>

namespace convlab::testing {

/// The words of the longest sentence of a text; `quoted code` is none.
inline int longest_sentence(const std::string& text) {
  std::string prose;
  bool is_code = false;
  for (const char c : text) {
    if (c == '`') is_code = !is_code;
    if (!is_code) prose += c;
  }
  std::istringstream words(prose);
  int longest = 0;
  int count = 0;
  for (std::string word; words >> word;) {
    count +=
        std::ranges::any_of(word, [](unsigned char c) { return std::isalnum(c) != 0; }) ? 1 : 0;
    longest = std::max(longest, count);
    if (std::string(".?!").find(word.back()) != std::string::npos) count = 0;
  }
  return longest;
}

}  // namespace convlab::testing
