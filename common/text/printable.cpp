#include "common/text/printable.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace convlab {

namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  ///< 0: what stands there is no UTF-8
};

// Source: RFC 3629, section 4.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : std::uint32_t{0};
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  constexpr std::array<std::uint32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  if (first < 0xc2 || first > 0xf4) return {};
  std::uint32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kSmallest[length] || code > 0x10ffff || is_surrogate) return {};
  return {code, length};
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

bool has_picture(std::uint32_t code) {
  constexpr std::array<Range, 14> kWithout = {{{0x00, 0x08},
                                               {0x0b, 0x1f},
                                               {0x7f, 0x9f},
                                               {0xad, 0xad},      // soft hyphen
                                               {0x061c, 0x061c},  // direction
                                               {0x180e, 0x180e},
                                               {0x200b, 0x200f},  // joiners, direction
                                               {0x2028, 0x202e},  // separators, direction
                                               {0x2060, 0x206f},  // joiners, direction
                                               {0xfdd0, 0xfdef},  // no characters
                                               {0xfeff, 0xfeff},
                                               {0xfff0, 0xfffb},  // annotations
                                               {0xfffe, 0xffff},
                                               {0xe0000, 0x10ffff}}};  // tags, private planes
  return std::ranges::none_of(
      kWithout, [code](const Range& range) { return code >= range.first && code <= range.last; });
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::size_t taken = std::max<std::size_t>(character.bytes, 1);
    if (character.bytes > 0 && has_picture(character.code)) {
      result += text.substr(0, taken);
    } else {
      result += "\xef\xbf\xbd";  // U+FFFD
    }
    text.remove_prefix(taken);
  }
  return result;
}

std::string printable_line(std::string_view text) {
  std::string line = printable(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return line;
}

}  // namespace convlab
