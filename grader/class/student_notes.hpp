#pragma once

#include <string>
#include <vector>

namespace convlab::grader {

/// A hint that a student read.
struct HintRow {
  std::string list{};     ///< "m1", "m4/streams", or a finding
  int number = 0;         ///< in the list, from 1
  std::string finding{};  ///< what the last check before it had found; empty: nothing
  int helped = -1;  ///< 1: the next check no longer found it; 0: it did; −1: there was no next one
};

/// What a student expected of a stage, and what was counted of it later.
struct PredictionRow {
  std::string stage{};
  std::string limiter{};       ///< one of kLimiters (notebook.hpp)
  double loads = 0.0;          ///< for each multiply-add
  double inputs = 0.0;         ///< loads of each input; 0: not asked
  double op_ms = 0.0;          ///< at 1000 images; 0: not asked
  double counted_loads = 0.0;  ///< 0: not counted
  double counted_inputs = 0.0;
};

/// What students noted: read from the notebook that grader submit packs. It is theirs to change, so
/// no point depends on it.
struct StudentNotes {
  std::vector<HintRow> hints{};
  std::vector<PredictionRow> predictions{};
};

/// The notes of one archive, without its student. What does not read as notes is left out.
/// @param notebook  the text of notebook.json
/// @param history   the text of history.jsonl: the checks between which hints were read
StudentNotes parse_notes(const std::string& notebook, const std::string& history);

}  // namespace convlab::grader
