#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "common/base/printable.hpp"

namespace convlab {

/// Without blanks at the ends of its lines.
std::string without_blank_ends(const std::string& text);

/// What was seen: sentences, and quoted lines of a source with their places. Parts are added in the
/// order in which they are read, and are made printable() then. Nobody looks for a place in the
/// words: a program may print what looks like one.
class Seen {
 public:
  /// A quoted line.
  struct Place {
    std::size_t row = 0;  ///< of the text, from 0
    std::string file{};   ///< its name without the folder
    int line = 0;
    std::size_t rows = 1;  ///< that the quote takes
    int last = 0;          ///< line of the statement that the quote shows

    friend bool operator==(const Place&, const Place&) = default;
  };

  Seen() = default;
  // Implicit: words are a part. NOLINTNEXTLINE(*-explicit-*)
  Seen(const std::string& words, std::vector<Place> places = {})
      : text_(printable(words)), places_(std::move(places)) {}
  Seen(const char* words) : Seen(std::string(words)) {}  // NOLINT(*-explicit-*)

  Seen& operator+=(const Seen& next);
  friend Seen operator+(Seen first, const Seen& next) { return first += next; }
  friend bool operator==(const Seen&, const Seen&) = default;

  [[nodiscard]] bool empty() const { return text_.empty(); }
  /// Parts are joined by blanks, of which none is left at the end of a line.
  [[nodiscard]] std::string text() const { return without_blank_ends(text_); }
  [[nodiscard]] const std::vector<Place>& places() const { return places_; }

  /// The first line as a sentence of its own: where a quote follows, it ends in a colon.
  [[nodiscard]] std::string first_sentence() const;

 private:
  [[nodiscard]] bool shows_already(const Seen& next) const;

  std::string text_{};
  std::vector<Place> places_{};
};

}  // namespace convlab
