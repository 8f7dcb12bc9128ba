#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace convlab::rewrite {

/// Words to look a token up in.
using Words = std::set<std::string_view>;

struct Token {
  enum class Kind { kIdentifier, kNumber, kString, kCharacter, kPunctuation };

  Kind kind = Kind::kPunctuation;
  std::string_view text;
  std::size_t offset = 0;  ///< of the first character in the file
  std::size_t line = 1;
  int directive = 0;  ///< number of the preprocessor directive it stands in, 0 for none

  [[nodiscard]] std::size_t end() const { return offset + text.size(); }
  [[nodiscard]] bool is(std::string_view other) const { return text == other; }
};

/// Splits C++ source into tokens. Comments and white space leave no token; strings, raw strings and
/// characters are one token each; `::` and `->` are one token, all other punctuation is single
/// characters, so that `>>` closes two templates and `<<<` is three tokens side by side.
/// @param source  must outlive the tokens
std::vector<Token> tokenize(std::string_view source);

}  // namespace convlab::rewrite
