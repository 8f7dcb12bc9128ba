// Conditions that keep a thread without work away: a comparison of what is made of the number of
// the thread with a size, and the same for rows and columns together.

#include <algorithm>
#include <set>
#include <vector>

#include "grader/checks/mend/edits.hpp"

namespace convlab::grader::mend {

// What a value is made of: its name, and the first values of the variables in it.
std::string EditableFile::origin_of(const std::string& value, std::size_t place) const {
  constexpr std::size_t kMost = 12;
  std::vector<std::string> names = {value};
  std::string all;
  for (std::size_t next = 0; next < names.size() && next < kMost; ++next) {
    const auto known = std::ranges::find_if(outline_.variables, [&](const Variable& each) {
      return each.name == names[next] && each.begin <= place && place < each.end;
    });
    const std::string made =
        known == outline_.variables.end() || known->alias.empty() ? names[next] : known->alias;
    all += " " + made;
    if (made == names[next]) continue;
    for (const rewrite::Token& token : rewrite::tokenize(made)) {
      const std::string name(token.text);
      if (token.kind == rewrite::Token::Kind::kIdentifier &&
          std::ranges::find(names, name) == names.end()) {
        names.push_back(name);
      }
    }
  }
  return all;
}

std::map<std::string, std::string> EditableFile::guards_at(const Site& site,
                                                           const Names& names) const {
  std::vector<std::string> of_threads;
  std::vector<std::pair<std::string, std::string>> sizes;  // with their origins
  if (!source_.has(site.function, source_.partner(site.function), {"threadIdx"})) return {};
  for (const std::string& each : names.values) {
    const std::string origin = origin_of(each, site.begin);
    if (origin.find("threadIdx") != std::string::npos) {
      if (each.find('.') == std::string::npos) of_threads.push_back(each);
    } else if (names.sizes.contains(each) && origin.find("Idx") == std::string::npos) {
      sizes.emplace_back(each, origin);
    }
  }
  constexpr std::size_t kMostOfThreads = 8;
  if (of_threads.size() > kMostOfThreads) of_threads.resize(kMostOfThreads);
  std::map<std::string, std::string> guards;
  for (const std::string& value : of_threads) {
    for (const auto& [size, origin] : sizes) guards[value + " < " + size] = value + " >= " + size;
  }
  const Twins rows = {{"height", "width"}, {"out_height", "out_width"}};
  for (const auto& [row, origin] : sizes) {
    const std::string twin = renamed(origin, rows);
    for (const auto& [column, other] : sizes) {
      if (twin == origin || twin != other) continue;
      for (const std::string& h : of_threads) {
        for (const std::string& w : of_threads) {
          if (h == w) continue;
          guards[h + " < " + row + " && " + w + " < " + column] =
              h + " >= " + row + " || " + w + " >= " + column;
        }
      }
    }
  }
  return guards;
}

// In front of the first statement of a kernel that knows which output each thread has.
bool EditableFile::may_leave_at(const Site& place) const {
  if (place.form != Site::Form::kPlace || shares_memory(place)) return false;
  for (std::size_t i = place.function + 1; i < place.begin; ++i) {
    if (source_.is(i, "{") && source_.opens(i) && source_.partner(i) > place.begin) return false;
  }
  const std::size_t end = source_.partner(place.function);
  return std::ranges::none_of(outline_.variables, [&](const Variable& each) {
    return each.end == end && each.begin >= place.begin &&
           each.alias.find("Idx") != std::string::npos;
  });
}

}  // namespace convlab::grader::mend
