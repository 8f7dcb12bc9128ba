#include "common/base/unknown_name.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace convlab {

namespace {

std::string folded(std::string_view name) {
  std::string text;
  for (const char each : name) {
    const auto letter = static_cast<unsigned char>(each);
    text += each == '_' || each == ' ' ? '-' : static_cast<char>(std::tolower(letter));
  }
  return text;
}

// Letters to insert, to delete or to replace (Levenshtein); exchanged letters count once.
std::size_t distance(const std::string& from, const std::string& to) {
  if (std::ranges::is_permutation(from, to)) return 1;
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string name_meant(std::string_view name, const std::vector<std::string>& known) {
  const std::string typed = folded(name);
  std::string nearest;
  std::size_t least = 1 + typed.size() / 4;  // one typing error in four letters
  std::vector<std::string> extended;
  for (const std::string& each : known) {
    const std::string other = folded(each);
    if (typed == other) return each;
    if (const std::size_t errors = distance(typed, other); errors < least) {
      least = errors;
      nearest = each;
    }
    const bool related = !typed.empty() && (other.starts_with(typed) || typed.starts_with(other));
    if (related) extended.push_back(each);
  }
  if (!nearest.empty()) return nearest;
  return extended.size() == 1 ? extended.front() : "";
}

std::string unknown_name(const std::string& kind, const std::string& name,
                         const std::vector<std::string>& known, const std::string& where) {
  const std::string there_is = "There is no " + kind + " '" + name + "'" + where;
  if (const std::string meant = name_meant(name, known); !meant.empty()) {
    return there_is + ". Did you mean " + meant + "?";
  }
  std::string names;
  for (const std::string& each : known) names += (names.empty() ? "" : ", ") + each;
  return there_is + "; " + (known.empty() ? "there are none" : "the " + kind + "s are: " + names) +
         ".";
}

}  // namespace convlab
