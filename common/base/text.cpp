#include "common/base/text.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <sstream>

namespace convlab {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t find_word(std::string_view text, std::string_view word, std::size_t from) {
  for (auto at = text.find(word, from); at != text.npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !is_word(text[at - 1]) || !is_word(word.front());
    const auto end = at + word.size();
    if (begins && (end == text.size() || !is_word(text[end]) || !is_word(word.back()))) return at;
  }
  return text.npos;
}

namespace {

template <class Belongs>
std::string run_of(std::string_view text, std::size_t begin, const Belongs& belongs) {
  text.remove_prefix(std::min(begin, text.size()));
  const auto end = std::find_if_not(text.begin(), text.end(), belongs);
  return {text.begin(), end};
}

}  // namespace

std::string word_at(std::string_view text, std::size_t begin) {
  return run_of(text, begin, is_word);
}

std::string digits_at(std::string_view text, std::size_t begin) {
  return run_of(text, begin, is_digit);
}

std::string word_before(std::string_view text, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  return std::string(text.substr(begin, end - begin));
}

std::size_t after_spaces(std::string_view text, std::size_t begin) {
  return std::min(text.find_first_not_of(" \t", begin), text.size());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string trimmed(const std::string& text) {
  constexpr const char* kBlanks = " \t\r";
  const auto begin = text.find_first_not_of(kBlanks);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::string count_of(const std::string& count, const std::string& thing) {
  return count + " " + thing + (count == "1" ? "" : "s");
}

std::string hexadecimal(std::uint32_t number) {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(number));
  return digits;
}

}  // namespace convlab
