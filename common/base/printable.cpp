#include "common/base/printable.hpp"

#include <locale.h>
#include <wchar.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <span>
#include <streambuf>

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

bool lies_in(std::uint32_t code, std::span<const Range> ranges) {
  return std::ranges::any_of(
      ranges, [code](const Range& range) { return code >= range.first && code <= range.last; });
}

// Calls `take` with each character of a text and its bytes; what is no UTF-8 is one of one byte.
template <class Take>
void for_each_character(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);
    take(character, text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
}

bool has_picture(std::uint32_t code) {
  constexpr Range kWithout[] = {{0x00, 0x08},     {0x0b, 0x1f},
                                {0x7f, 0x9f},     {0xad, 0xad},          // soft hyphen
                                {0x061c, 0x061c},                        // direction
                                {0x180e, 0x180e}, {0x200b, 0x200f},      // joiners, direction
                                {0x2028, 0x202e},                        // separators, direction
                                {0x2060, 0x206f},                        // joiners, direction
                                {0xfdd0, 0xfdef},                        // no characters
                                {0xfeff, 0xfeff}, {0xfff0, 0xfffb},      // annotations
                                {0xfffe, 0xffff}, {0xe0000, 0x10ffff}};  // tags, private planes
  return !lies_in(code, kWithout);
}

// Source: Unicode Standard 15.0, property White_Space; and characters that look the same.
bool is_blank(std::uint32_t code) {
  constexpr Range kBlanks[] = {
      {0x09, 0x0d},     {0x20, 0x20},     {0xa0, 0xa0},     {0x034f, 0x034f}, {0x115f, 0x1160},
      {0x1680, 0x1680}, {0x17b4, 0x17b5}, {0x2000, 0x200f}, {0x205f, 0x205f}, {0x2800, 0x2800},
      {0x3000, 0x3000}, {0x3164, 0x3164}, {0xffa0, 0xffa0}};
  return lies_in(code, kBlanks);
}

// By the C library's table, whatever the language of this machine.
int width_of(std::uint32_t code) {
  static const locale_t unicode = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  const locale_t before = ::uselocale(unicode);
  const int width = ::wcwidth(static_cast<wchar_t>(code));
  ::uselocale(before);
  return width < 0 ? 1 : width;
}

// Colours are written as noncharacters until they reach the terminal.
constexpr std::string_view kColourMark = "\xef\xb7\x90";  // U+FDD0; the colour is in the last byte
constexpr std::array<std::string_view, 5> kSequences = {"\033[0m", "\033[32m", "\033[1;31m",
                                                        "\033[2m", "\033[1m"};

/// A stream that passes on what is printable. Each piece of text arrives whole.
class SafeBuffer : public std::streambuf {
 public:
  explicit SafeBuffer(std::streambuf* to) : to_(to) {}
  SafeBuffer(const SafeBuffer&) = delete;
  SafeBuffer& operator=(const SafeBuffer&) = delete;

 protected:
  int overflow(int c) override {
    const char one = traits_type::to_char_type(c);
    return c == traits_type::eof() || xsputn(&one, 1) == 1 ? traits_type::not_eof(c)
                                                           : traits_type::eof();
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    std::string safe;
    std::string_view rest(text, static_cast<std::size_t>(count));
    while (true) {
      const auto mark = std::min(rest.find(kColourMark.substr(0, 2)), rest.size());
      safe += printable(rest.substr(0, mark));
      rest.remove_prefix(mark);
      if (rest.empty()) break;
      const auto colour = rest.size() > 2 ? static_cast<unsigned char>(rest[2]) - 0x90U : 99U;
      safe += colour < kSequences.size() ? kSequences[colour] : "\xef\xbf\xbd";
      rest.remove_prefix(std::min<std::size_t>(3, rest.size()));
    }
    const auto size = static_cast<std::streamsize>(safe.size());
    return to_->sputn(safe.data(), size) == size ? count : 0;
  }
  int sync() override { return to_->pubsync(); }

 private:
  std::streambuf* to_;
};

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for_each_character(text, [&](const Character& character, std::string_view bytes) {
    const bool shows = character.bytes > 0 && has_picture(character.code);
    result += shows ? bytes : std::string_view("\xef\xbf\xbd");  // U+FFFD
  });
  return result;
}

std::string printable_line(std::string_view text) {
  std::string line = printable(text);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return line;
}

std::string short_line(std::string_view text, int columns) {
  std::string line;
  for_each_character(printable(text), [&](const Character& character, std::string_view bytes) {
    if (!is_blank(character.code)) {
      line += bytes;
    } else if (!line.ends_with(' ')) {
      line += ' ';
    }
  });
  if (display_width(line) <= columns) return line;
  return cut_to_columns(line, columns - 1).front() + "…";
}

bool is_id(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  return !text.empty() && text.size() <= kLongest && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

int display_width(std::string_view text) {
  int width = 0;
  for_each_character(text, [&](const Character& character, std::string_view bytes) {
    width += bytes.starts_with(kColourMark.substr(0, 2)) ? 0 : width_of(character.code);
  });
  return width;
}

std::vector<std::string> cut_to_columns(std::string_view text, int columns) {
  std::vector<std::string> parts(1);
  int width = 0;
  for_each_character(text, [&](const Character& character, std::string_view bytes) {
    const int wide = width_of(character.code);
    if (width + wide > columns && !parts.back().empty()) {
      parts.emplace_back();
      width = 0;
    }
    parts.back() += bytes;
    width += wide;
  });
  return parts;
}

void print_safely() {
  // Never destroyed: std::cout is flushed after all objects are.
  static auto* const output = new SafeBuffer(std::cout.rdbuf());
  static auto* const errors = new SafeBuffer(std::cerr.rdbuf());
  std::cout.rdbuf(output);
  std::cerr.rdbuf(errors);
}

std::string terminal_colour(TerminalColour colour) {
  std::string mark(kColourMark);
  mark.back() = static_cast<char>(mark.back() + static_cast<char>(colour));
  return mark;
}

}  // namespace convlab
