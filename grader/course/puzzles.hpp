#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/base/error.hpp"
#include "common/serve/finding.hpp"
#include "grader/course/course.hpp"

namespace convlab {
struct FindingWords;  // common/serve/finding_texts.hpp
}

namespace convlab::grader {

/// A small exercise with one idea, milestones/…/puzzles/3_copy_back.cu. It registers one stage.
/// The milestone's cases.json lists the convolutions that it must compute.
struct Puzzle {
  std::filesystem::path file{};
  std::string stage{};   ///< by the name of the file, "copy-back"
  std::string title{};   ///< of the stage, as the file says it
  std::string folder{};  ///< "puzzles", "repairs" or "detective"
  std::string before{};  ///< the stage that it prepares for; empty: the first of the milestone
  std::string cause{};   ///< of a repair the id of its diagnosis, of the slow suspect a counter
  std::vector<std::string> causes{};  ///< of a repair: among which the student chooses
  std::string seen{};                 ///< of a repair: what is wrong with the output as handed out
  double most_moved = 0.0;  ///< of the slow suspect: times the least bytes, once it is mended
};

/// Stage and SHA-256 of the file of each solved puzzle.
using SolvedFiles = std::map<std::string, std::string>;

/// The puzzles of a milestone in their order; in "repairs" its broken kernels, in "detective" its
/// suspects, which are checked in the same way.
std::vector<Puzzle> puzzles_of(const CourseMilestone& milestone,
                               const std::string& folder = "puzzles");

/// The puzzle, the broken kernel or the suspect with this name.
std::optional<Puzzle> find_puzzle(const CourseMilestone& milestone, const std::string& stage);

/// The stages that give points, in their order.
std::vector<std::string> scored_stages(const CourseMilestone& milestone);

/// To throw where --stage is missing.
UsageError name_a_stage(const CourseMilestone& milestone);

/// What --stage may name: stages, puzzles, broken kernels, "detective".
std::vector<std::string> stage_names(const CourseMilestone& milestone);

/// Whether the name stands in a file of the student's that is no puzzle.
bool is_own_stage(const CourseMilestone& milestone, const std::string& stage);

/// @throws UsageError if the name is none of them and stands in no file of the student's
void require_stage(const CourseMilestone& milestone, const std::string& stage);

/// What to say of a name that is not in `known`: the milestone that has it, or a name like it.
std::string unknown_stage(const CourseMilestone& milestone, const std::string& stage,
                          const std::vector<std::string>& known);

bool is_repair(const CourseMilestone& milestone, const std::string& stage);

/// The first convolution of a puzzle's check.
ConvShape first_shape(const CourseMilestone& milestone, const Puzzle& puzzle);

/// The puzzles that a check in this build folder found solved and that have not changed since.
SolvedFiles known_solved(const CourseMilestone& milestone);
void remember_solved(const CourseMilestone& milestone, const SolvedFiles& solved);

/// SHA-256 of the file of each.
std::vector<std::string> hashes_of(const std::vector<Puzzle>& puzzles);

/// Builds and checks a puzzle, a broken kernel or a suspect; its file may lie anywhere. None: it is
/// solved. @throws EnvironmentError if cases.json lacks it
std::optional<Finding> check_puzzle(const CourseMilestone& milestone, const Puzzle& puzzle);

/// The causes among which the student chooses, a, b, … @throws EnvironmentError for an unknown one
std::vector<FindingWords> causes_of(const Puzzle& repair);

}  // namespace convlab::grader
