#include "common/serve/seen.hpp"

#include <algorithm>

namespace convlab {

std::string without_blank_ends(const std::string& text) {
  std::string kept;
  for (const char c : text + '\n') {
    while (c == '\n' && kept.ends_with(' ')) kept.pop_back();
    kept += c;
  }
  kept.pop_back();
  return kept;
}

// Whether the quote of a statement stands at the end, and the next one is of one of its lines.
bool Seen::shows_already(const Seen& next) const {
  if (places_.empty() || next.places_.size() != 1) return false;
  const Place& own = places_.back();
  const Place& line = next.places_.front();
  const auto rows_of = [](const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  };
  const bool are_beside = own.row + own.rows == rows_of(text_) && line.row == 1 &&
                          line.row + line.rows == rows_of(next.text_) &&
                          next.text_.starts_with('\n');
  return are_beside && own.file == line.file && own.line <= line.line && line.line <= own.last;
}

Seen& Seen::operator+=(const Seen& next) {
  if (shows_already(next)) return *this;
  const auto rows = static_cast<std::size_t>(std::ranges::count(text_, '\n'));
  text_ += next.text_;
  for (Place place : next.places_) {
    place.row += rows;
    places_.push_back(std::move(place));
  }
  return *this;
}

std::string Seen::first_sentence() const {
  std::string sentence = text_.substr(0, text_.find('\n'));
  if (!places_.empty() && places_.front().row == 1 && sentence.ends_with(':'))
    sentence.back() = '.';
  return sentence;
}

}  // namespace convlab
