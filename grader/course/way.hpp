#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grader/course/course.hpp"

namespace convlab::grader {

/// One thing to do in a milestone.
struct Step {
  enum class Kind {
    kPuzzle,
    kPrediction,
    kStage,
    kExplain,   ///< read what a stage that has passed does
    kRepair,    ///< a broken kernel, or the detective's case: practice, which nobody has to do
    kQuestion,  ///< of the chapter
  };
  std::string milestone{};
  Kind kind = Kind::kPuzzle;
  std::string name{};  ///< of the puzzle or the stage; the number of the question
  bool done = false;
  bool left_out = false;  ///< done only because later work makes it unnecessary
  bool fresh = false;     ///< a file as it was handed out
  bool tried = false;     ///< a stage that passes with few images: the whole check is left
  std::string what{};     ///< what it is and what to do, in sentences
  std::string command{};
  std::string else_{};  ///< what may be done instead; may be empty
};

/// The steps of a milestone: each stage after the puzzles that prepare for it, a look at what the
/// stages do, the chapter's questions. Where a student chooses among stages, one is proposed until
/// those that passed give as many points as count.
struct MilestoneWay {
  CourseMilestone milestone{};
  std::vector<Step> steps{};
};

/// The whole course. A stage that has passed counts for the stages that it was made from.
std::vector<MilestoneWay> way_through();

/// The first step that is not done, without practice; of puzzles and stages only, if `work`. None:
/// all is done.
std::optional<Step> next_step(const std::vector<MilestoneWay>& way, bool work = false);

/// The first broken kernel of a milestone that was not mended, once one of its stages is begun:
/// they train the eye for the stages. None if all are mended.
std::optional<Step> next_practice(const std::vector<MilestoneWay>& way,
                                  const std::string& milestone);

/// "Next: the puzzle …", with the command.
std::string lead_text(const Step& step);

/// A question of a chapter, from its section "Questions".
struct ChapterQuestion {
  std::string number{};  ///< "3"
  std::string needs{};   ///< "count", "emulated" or "GPU"
  std::string text{};
};

std::vector<ChapterQuestion> chapter_questions(const std::string& chapter);

}  // namespace convlab::grader
