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

Seen& Seen::operator+=(const Seen& next) {
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
