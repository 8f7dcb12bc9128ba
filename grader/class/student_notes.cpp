#include "grader/class/student_notes.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"

namespace convlab::grader {

namespace {

// A finding, a milestone, a stage of a milestone.
bool is_name(const std::string& text) {
  constexpr std::size_t kLongest = 80;
  return text.size() <= kLongest && std::ranges::all_of(text, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '/';
         });
}

}  // namespace

int helped(const ShownHint& hint, const std::vector<HistoryEntry>& checks) {
  if (hint.finding.empty()) return -1;
  for (const HistoryEntry& check : checks) {
    const bool looked =
        hint.stage.empty() || std::ranges::find(check.stages, hint.stage) != check.stages.end();
    if (check.created <= hint.shown || !looked) continue;
    const bool still = std::ranges::any_of(check.findings, [&](const Finding& each) {
      return each.id == hint.finding && (hint.stage.empty() || each.stage == hint.stage);
    });
    return still ? 0 : 1;
  }
  return -1;
}

StudentNotes parse_notes(const std::string& notebook, const std::string& history) {
  if (notebook.empty()) return {};
  StudentNotes notes{.checks = parse_history(history)};
  try {
    notes.notebook = parse_notebook(notebook, "notebook.json");
  } catch (const EnvironmentError&) {
    return {};
  }
  constexpr int kMost = 1000;
  int kept = 0;
  std::erase_if(notes.notebook.hints, [&](const ShownHint& hint) {
    const bool good =
        hint.number > 0 && !hint.list.empty() && is_name(hint.list) && is_name(hint.finding);
    return !good || kept++ >= kMost;
  });
  std::erase_if(notes.notebook.predictions, [&](const auto& each) {
    const Prediction& slip = each.second;
    const bool known = std::ranges::find(kLimiters, slip.limiter) != kLimiters.end();
    return !is_id(each.first) || !known || kept++ >= 2 * kMost ||
           !std::isfinite(slip.loads + slip.inputs + slip.op_ms);
  });
  return notes;
}

}  // namespace convlab::grader
