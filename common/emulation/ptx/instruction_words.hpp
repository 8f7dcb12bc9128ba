#pragma once

// What the tables of instructions share: names in words, operands, types.

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "common/emulation/ptx/translate.hpp"

namespace convlab::ptx {

using Words = std::vector<std::string_view>;

inline constexpr int kWord = 4;
inline constexpr int kLong = 8;

inline Slot write(int count, int bytes = kWord) {
  return {Slot::Kind::kWrite, bytes, count};
}
inline Slot read(int count, int bytes = kWord) {
  return {Slot::Kind::kRead, bytes, count};
}

/// Takes a word out if it stands at the front. @return whether it did
inline bool take(Words& words, std::string_view word) {
  if (words.empty() || words.front() != word) return false;
  words.erase(words.begin());
  return true;
}

/// Takes words out as long as they begin with one of these.
inline void take_hints(Words& words, std::initializer_list<std::string_view> beginnings) {
  while (!words.empty() && std::ranges::any_of(beginnings, [&](std::string_view beginning) {
    return words.front().substr(0, beginning.size()) == beginning;
  }))
    words.erase(words.begin());
}

/// The C++ type of a register's type, and its bytes. A predicate is a word, 0 or 1.
struct Type {
  std::string_view text;
  int bytes = 0;
};
/// None for a type that is not known.
const Type* find_type(std::string_view name);

/// Arithmetic in registers (arithmetic.cpp).
std::optional<Instruction> find_arithmetic(const Words& words);

}  // namespace convlab::ptx
