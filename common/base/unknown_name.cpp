#include "common/base/unknown_name.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

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

// Whether one letter more, less or another one makes the other name, or some exchanged.
bool is_like(std::string_view one, std::string_view other) {
  if (std::ranges::is_permutation(one, other)) return true;
  if (one.size() > other.size()) std::swap(one, other);
  const auto same = static_cast<std::size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
  const std::size_t letters = other.size() == one.size() ? 1 : 0;
  return other.size() - one.size() <= 1 &&
         other.substr(same + 1) == one.substr(std::min(same + letters, one.size()));
}

}  // namespace

std::string name_meant(std::string_view name, const std::vector<std::string>& known) {
  const std::string typed = folded(name);
  std::string like;
  std::vector<std::string> related;
  for (const std::string& each : known) {
    const std::string other = folded(each);
    if (typed == other) return each;
    constexpr std::size_t kShort = 3;  // another letter of so few is another name
    if (like.empty() && typed.size() > kShort && is_like(typed, other)) like = each;
    const bool begins = other.starts_with(typed) || typed.starts_with(other);
    if (!typed.empty() && begins) related.push_back(each);
  }
  return like.empty() && related.size() == 1 ? related.front() : like;
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
