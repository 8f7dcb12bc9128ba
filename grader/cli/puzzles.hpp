#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "grader/cli/course.hpp"
#include "grader/result/finding.hpp"

namespace convlab::grader {

/// A student's progress with the puzzles of a milestone. scores.json gives their points.
struct PuzzleWalk {
  int solved = 0;
  int all = 0;
  std::string waits{};               ///< the file of the first that is not solved, from the root
  std::string title{};               ///< of that one
  std::optional<Finding> finding{};  ///< its finding; none if it is as handed out
};

/// The puzzles of a milestone, milestones/…/puzzles/1_….cu, in their order; sorted.
std::vector<std::filesystem::path> puzzle_files(const CourseMilestone& milestone);

/// The stage of a puzzle, by the name of its file: "copy-back" of puzzles/3_copy_back.cu.
std::string stage_of_puzzle(const std::filesystem::path& file);

/// Checks puzzle after puzzle with small convolutions of one dimension, up to the first unsolved
/// one. Builds nothing.
/// @param program  built from these files
/// @param is_fresh  whether a file is still as it was handed out
PuzzleWalk walk_puzzles(const std::vector<std::filesystem::path>& files,
                        const std::filesystem::path& program,
                        const std::function<bool(const std::filesystem::path&)>& is_fresh);

}  // namespace convlab::grader
