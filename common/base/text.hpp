#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace convlab {

// To look for words in text of others. Each of these reads a text once; std::regex may take minutes
// for a hostile line, and stack for each of its characters.

/// Whether a character belongs to words of C++.
bool is_word(char c);
bool is_digit(char c);

/// Where `word` stands, from `from` on, and is no part of a longer word; npos if nowhere.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t from = 0);

/// The word (the digits) that begin at `begin`; empty if there are none.
std::string word_at(std::string_view text, std::size_t begin);
std::string digits_at(std::string_view text, std::size_t begin);

/// The word that ends before `end`.
std::string word_before(std::string_view text, std::size_t end);

/// The first place from `begin` on without a space or tab; the text's size if there is none.
std::size_t after_spaces(std::string_view text, std::size_t begin);

/// Without the ends of lines.
std::vector<std::string> lines_of(const std::string& text);

/// Without white space at both ends.
std::string trimmed(const std::string& text);

/// "1 byte", "5 bytes": every count of things in a sentence is written by this.
/// @param count  a number as text, also "1 024", or "32 and 16"
std::string count_of(const std::string& count, const std::string& thing);
std::string count_of(std::integral auto count, const std::string& thing) {
  return count_of(std::to_string(count), thing);
}

/// Eight digits, "678fe0b1".
std::string hexadecimal(std::uint32_t number);

}  // namespace convlab
