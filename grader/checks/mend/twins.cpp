// The same change in two parts of a file that are written alike.

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "grader/checks/mend/edits.hpp"

namespace convlab::grader::mend {

namespace {

using Form = Site::Form;

// Compares tokens [a, a + count) with [b, b + count): the names that differ, both ways. None if
// something else differs, or if all are equal.
std::optional<Twins> twins_of(const rewrite::Source& source, std::size_t a, std::size_t b,
                              std::size_t count) {
  Twins twins;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string one(source[a + i].text);
    const std::string other(source[b + i].text);
    if (one == other && !twins.contains(one)) continue;
    const bool are_names = source[a + i].kind == rewrite::Token::Kind::kIdentifier &&
                           source[b + i].kind == rewrite::Token::Kind::kIdentifier;
    // The row and the column of one number.
    const bool are_parts = (one == "/" && other == "%") || (one == "%" && other == "/");
    if (!(are_names || are_parts) || twins.emplace(one, other).first->second != other ||
        twins.emplace(other, one).first->second != one) {
      return std::nullopt;
    }
  }
  if (twins.empty()) return std::nullopt;
  return twins;
}

}  // namespace

std::string renamed(const std::string& text, const Twins& twins) {
  std::string result;
  std::size_t at = 0;
  for (const rewrite::Token& token : rewrite::tokenize(text)) {
    result.append(text, at, token.offset - at);
    const auto twin = twins.find(token.text);
    result += twin == twins.end() ? std::string(token.text) : twin->second;
    at = token.end();
  }
  return result;
}

// dim3 grid(rows, columns)
void EditableFile::exchange_with_next(std::size_t s) {
  const Site& site = outline_.sites[s];
  const Site& next = outline_.sites[s + 1];
  if (next.form != Form::kValue || !source_.is(site.end, ",") || next.begin != site.end + 1) return;
  const std::string own = source_.text(site.begin, site.end);
  const std::string other = source_.text(next.begin, next.end);
  if (own == other) return;
  edits_.push_back({.lines = {source_[site.begin].line, source_[next.begin].line},
                    .kind = Kind::kExchange,
                    .before = own + ", " + other,
                    .after = other + ", " + own,
                    .choices = {{s, add(s, other)}, {s + 1, add(s + 1, own)}}});
}

struct EditableFile::Pair {
  std::size_t first, second;  // sites; the same: its two halves
  Twins twins;
};

// What is written twice.
std::vector<EditableFile::Pair> EditableFile::pairs() const {
  constexpr std::size_t kFar = 12;  // sites
  std::vector<Pair> pairs;
  for (std::size_t s = 0; s < outline_.sites.size(); ++s) {
    const Site& site = outline_.sites[s];
    const std::size_t count = site.end - site.begin;
    if (count < 3) continue;
    if (const std::size_t middle = middle_of(site); middle != 0) {
      if (auto twins = twins_of(source_, site.begin, middle + 2, middle - site.begin))
        pairs.push_back({s, s, std::move(*twins)});
    }
    for (std::size_t t = s + 1; t < outline_.sites.size(); ++t) {
      const Site& other = outline_.sites[t];
      // A kernel and the host compute some values alike.
      const bool is_elsewhere =
          other.function != site.function && count > 3 && site.form == Form::kValue;
      const bool is_near = other.function == site.function && t < s + kFar;
      const bool are_alike =
          (is_near || is_elsewhere) && other.form == site.form && other.end - other.begin == count;
      if (!are_alike) continue;
      auto twins = twins_of(source_, site.begin, other.begin, count);
      if (is_elsewhere && !twins &&
          source_.text(site.begin, site.end) == source_.text(other.begin, other.end))
        twins.emplace();
      if (!twins) continue;
      // The names that these values get.
      if (source_.is(site.begin - 1, "=") && source_.is(other.begin - 1, "="))
        twins->merge(twins_of(source_, site.begin - 2, other.begin - 2, 1).value_or(Twins()));
      pairs.push_back({s, t, std::move(*twins)});
    }
  }
  return pairs;
}

// The edit of a pair's first part, made in both.
void EditableFile::add_twin(const Pair& pair, const Edit& single) {
  const std::string text = alternatives_[pair.first][single.choices.front().second - 1].text;
  Edit both = single;
  if (pair.first != pair.second) {
    if (!knows_names_in(renamed(text, pair.twins), pair.second)) return;
    const std::size_t alternative = add(pair.second, renamed(text, pair.twins));
    if (alternative == 0) return;
    both.choices.emplace_back(pair.second, alternative);
    const Site& other = outline_.sites[pair.second];
    both.before += "\n" + tidy(source_.text(other.begin, other.end));
    both.after += "\n" + tidy(renamed(text, pair.twins));
    both.lines.insert(source_[outline_.sites[pair.second].begin].line);
  } else {
    const Site& site = outline_.sites[pair.first];
    const std::size_t middle = middle_of(site);
    const std::string rest = source_.text(middle, site.end);
    if (!text.ends_with(rest)) return;  // the second half has changed
    const std::string half = text.substr(0, text.size() - rest.size());
    const std::string all =
        half + source_.text(middle, middle + 2) + " " + renamed(half, pair.twins);
    const bool is_known = knows_names_in(all, pair.first);
    const std::size_t alternative = is_known ? add(pair.first, all) : 0;
    if (alternative == 0) return;
    both.choices = {{pair.first, alternative}};
    both.after = tidy(all);
  }
  edits_.push_back(std::move(both));
}

// What is written twice, for rows and for columns, is often wrong twice: the change of one part is
// made in the other, too.
void EditableFile::add_twins() {
  std::vector<Pair> all = pairs();
  std::map<std::size_t, Twins> of_function;
  for (const Pair& pair : all) {
    of_function[outline_.sites[pair.first].function].insert(pair.twins.begin(), pair.twins.end());
  }
  const Twins of_shapes = {{"height", "width"},
                           {"width", "height"},
                           {"out_height", "out_width"},
                           {"out_width", "out_height"}};
  const std::vector<Edit> singles = edits_;
  for (Pair& pair : all) {
    // What both parts have in common stays; what a change adds may have its twin elsewhere.
    const Site& own = outline_.sites[pair.first];
    for (std::size_t i = own.begin; i < own.end; ++i) {
      pair.twins.emplace(source_[i].text, source_[i].text);
    }
    pair.twins.merge(Twins(of_function[own.function]));
    pair.twins.merge(Twins(of_shapes));
    for (const Edit& single : singles) {
      if (single.choices.size() != 1 || single.choices.front().first != pair.first) continue;
      add_twin(pair, single);
    }
  }
}

// Whether each name in a text is one of the site's own, or of a value that is known there. A
// compiler tells an unknown one once for a whole function.
bool EditableFile::knows_names_in(const std::string& text, std::size_t s) const {
  std::set<std::string_view> own;
  for (std::size_t i = outline_.sites[s].begin; i < outline_.sites[s].end; ++i) {
    if (!source_.is(i - 1, ".") && !source_.is(i - 1, "->")) own.insert(source_[i].text);
  }
  bool is_member = false;
  for (const rewrite::Token& token : rewrite::tokenize(text)) {
    const auto begins = names_[s].lower_bound(std::string(token.text));
    const std::string known = begins == names_[s].end() ? "" : *begins;
    const bool is_known = own.contains(token.text) || is_member ||
                          known.substr(0, known.find_first_of(".-")) == token.text;
    if (token.kind == rewrite::Token::Kind::kIdentifier && !is_known) return false;
    is_member = token.is(".") || token.is("->");
  }
  return true;
}

// The && or || between the halves of a condition; 0 if it has none.
std::size_t EditableFile::middle_of(const Site& site) const {
  const std::size_t middle = site.begin + (site.end - site.begin) / 2 - 1;
  const bool is_one = site.form == Form::kCondition || site.form == Form::kValue;
  if (!is_one || site.end - site.begin < 8) return 0;
  const bool joins = (source_.is(middle, "&") && source_.is(middle + 1, "&")) ||
                     (source_.is(middle, "|") && source_.is(middle + 1, "|"));
  return joins ? middle : 0;
}

}  // namespace convlab::grader::mend
