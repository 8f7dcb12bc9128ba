#pragma once

#include <string>
#include <vector>

#include "grader/checks/result/check_history.hpp"
#include "grader/course/progress.hpp"

namespace convlab::grader {

/// What students noted: the notebook and the checks that grader submit packs. They are theirs to
/// change, so no point depends on them.
struct StudentNotes {
  Notebook notebook{};
  std::vector<HistoryEntry> checks{};
};

/// The notes of one archive. Hints and predictions that do not read as such are left out.
/// @param notebook  the text of notebook.json
/// @param history   the text of history.jsonl: the checks between which hints were read
StudentNotes parse_notes(const std::string& notebook, const std::string& history);

/// Whether the first check after a hint that looked at its stage no longer found what the hint was
/// about: 1 or 0; −1 if there was no such check.
int helped(const ShownHint& hint, const std::vector<HistoryEntry>& checks);

}  // namespace convlab::grader
