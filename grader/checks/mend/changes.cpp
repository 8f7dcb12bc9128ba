#include "grader/checks/mend/changes.hpp"

#include <algorithm>
#include <set>

namespace convlab::grader::mend {

std::string listed(const Choices& choices) {
  std::string text;
  for (const auto& [site, alternative] : choices) {
    text += (text.empty() ? "" : ",") + std::to_string(site) + ":" + std::to_string(alternative);
  }
  return text;
}

Mend mend_of(const Changes& edits, const std::string& file) {
  Mend mend{.file = file};
  for (const Edit* edit : edits) {
    mend.lines.insert(mend.lines.end(), edit->lines.begin(), edit->lines.end());
    mend.kind += (mend.kind.empty() ? "" : ", and ") + std::string(words_of(edit->kind));
    if (edit->further) mend.kind += std::string(", and ") + words_of(*edit->further);
    if (!mend.before.empty()) mend.before += "\n", mend.after += "\n";
    mend.before += edit->before;
    mend.after += edit->after;
  }
  std::ranges::sort(mend.lines);
  mend.lines.erase(std::ranges::unique(mend.lines).begin(), mend.lines.end());
  return mend;
}

bool share_a_site(const Edit& a, const Edit& b) {
  return std::ranges::any_of(a.choices, [&](const auto& own) {
    return std::ranges::any_of(b.choices,
                               [&](const auto& other) { return own.first == other.first; });
  });
}

Choices joined(const Changes& edits) {
  Choices all;
  for (const Edit* each : edits) all.insert(all.end(), each->choices.begin(), each->choices.end());
  return all;
}

ByLines by_lines(const std::vector<Changes>& mends) {
  ByLines all;
  const auto length = [](const Changes& each) { return mend_of(each, {}).after.size(); };
  for (const Changes& each : mends) all[mend_of(each, {}).lines].push_back(each);
  for (auto& [lines, own] : all) std::ranges::stable_sort(own, {}, length);
  std::erase_if(all, [&](const auto& each) {
    return std::ranges::any_of(all, [&](const auto& other) {
      return other.first.size() < each.first.size() &&
             std::ranges::includes(each.first, other.first);
    });
  });
  return all;
}

void keep_first_places(ByLines& mends) {
  std::set<std::string> seen;
  for (auto& of_lines : mends) {
    std::erase_if(of_lines.second, [&](const Changes& each) {
      const Edit& edit = *each.front();
      const bool is_added = each.size() == 1 && edit.before.empty() && edit.lines.size() == 1;
      return is_added && !seen.insert(edit.after).second;
    });
  }
  std::erase_if(mends, [](const auto& each) { return each.second.empty(); });
}

}  // namespace convlab::grader::mend
