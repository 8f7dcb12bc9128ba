#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "grader/plots/plotted_runs.hpp"

namespace convlab::grader {

/// A stage at one batch: its times, in milliseconds, or its speed-ups.
struct LadderCell {
  std::vector<PlottedPoint> layers{};
  PlottedPoint sum{};
  std::string text{};  ///< the text to the right of the points
};

struct LadderRow {
  std::string name{};                         ///< no two rows have the same
  std::string title{};                        ///< the printed text; two rows may have the same
  std::map<std::size_t, LadderCell> cells{};  ///< by panel; not every stage has every batch
};

/// A line across a panel.
struct LadderLine {
  std::string label;
  std::string kind;  ///< "library" or "floor"
  double milliseconds = 0.0;
};

struct LadderPanel {
  int batch = 0;
  std::vector<LadderLine> lines{};
};

/// Stage by stage: one panel per batch, one row per stage, a log scale that all share.
struct Ladder {
  std::string title{};
  std::string axis{};
  std::string file_stem{};
  std::string caption{};
  double origin = 0.0;  ///< where each row's bar begins; 0: at its smallest point
  std::vector<LadderPanel> panels{};
  std::vector<LadderRow> rows{};

  /// The row of this name; a new one with the title `shown`, at the end, if there is none.
  LadderRow& row(const std::string& name, const std::string& shown);
};

/// Op-time progression. @return nothing if there is no time to draw
std::optional<Ladder> make_ladder(const std::vector<Result>& results, const std::string& network);

/// What each step gained: the op time of a stage's baseline divided by its own op time, from
/// medians at the same batch. The baseline is the last stage before it with the id that it names;
/// if it names none, the stage before it on the ladder. A stage without a baseline in the results
/// is left out. The bars are the quotients of opposite quartiles.
/// @return nothing if no stage is left
std::optional<Ladder> make_steps(const std::vector<Result>& results, const std::string& network);

/// The reference lines of a network and batch, shortest time first. Of two lines with the same
/// label the one in the later file counts.
std::vector<LadderLine> reference_lines(const std::vector<Result>& results,
                                        const std::string& network, int batch);

/// Its pictures: rows that do not fit on one slide go to STEM-2, STEM-3, …
/// @throws UsageError if there would be dozens
std::vector<Picture> pictures_of(const Ladder& ladder);

}  // namespace convlab::grader
