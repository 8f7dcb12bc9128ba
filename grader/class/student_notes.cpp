#include "grader/class/student_notes.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "grader/checks/result/check_history.hpp"
#include "grader/course/notebook.hpp"

namespace convlab::grader {

namespace {

// A finding, a milestone, a stage of a milestone.
bool is_name(const std::string& text) {
  constexpr std::size_t kLongest = 80;
  return text.size() <= kLongest && std::ranges::all_of(text, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '/';
         });
}

// By the first check after the hint that looked at its stage.
int helped(const ShownHint& hint, const std::vector<HistoryEntry>& history) {
  if (hint.finding.empty()) return -1;
  for (const HistoryEntry& check : history) {
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

}  // namespace

StudentNotes parse_notes(const std::string& notebook, const std::string& history) {
  StudentNotes notes;
  if (notebook.empty()) return notes;
  Notebook book;
  try {
    book = parse_notebook(notebook, "notebook.json");
  } catch (const EnvironmentError&) {
    return notes;
  }
  constexpr std::size_t kMost = 1000;
  const auto checks = parse_history(history);
  for (const ShownHint& hint : book.hints) {
    const bool good =
        hint.number > 0 && !hint.list.empty() && is_name(hint.list) && is_name(hint.finding);
    if (!good || notes.hints.size() == kMost) continue;
    notes.hints.push_back({.list = hint.list,
                           .number = hint.number,
                           .finding = hint.finding,
                           .helped = helped(hint, checks)});
  }
  for (const auto& [stage, slip] : book.predictions) {
    const bool known = std::ranges::find(kLimiters, slip.limiter) != kLimiters.end();
    const bool finite = std::isfinite(slip.loads + slip.inputs + slip.op_ms);
    if (!is_id(stage) || !known || !finite || notes.predictions.size() == kMost) continue;
    const auto counted = book.explained.find(stage);
    const Counted now = counted == book.explained.end() ? Counted{} : counted->second;
    notes.predictions.push_back({.stage = stage,
                                 .limiter = slip.limiter,
                                 .loads = slip.loads,
                                 .inputs = slip.inputs,
                                 .op_ms = slip.op_ms,
                                 .counted_loads = now.loads,
                                 .counted_inputs = now.inputs});
  }
  return notes;
}

}  // namespace convlab::grader
