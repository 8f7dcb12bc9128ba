#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/network/preset.hpp"
#include "grader/course/course.hpp"
#include "grader/scores/grade.hpp"

namespace convlab::grader::check_command {

/// The command line of `check`.
struct Options {
  std::string milestone;
  std::string stage;
  std::string cause;
  std::string batches;
  std::string network = kDefaultPreset;
  std::string solution = "student";
  std::string program;
  std::string rules;
  std::string precision;
  std::vector<std::string> libraries;
  std::vector<std::string> refused;
  std::string puzzles;
  std::string json;
  std::string times_of;
  std::string only_case;
  std::uint64_t seed = 0;
  double time_limit_s = 0.0;
  bool no_speed = false;
  std::string launcher = "local";
};

/// What to check, from the command line; files that are named there are built.
GradeRequest request_of(const CourseMilestone& milestone, const Options& options);

/// Builds the student's files. Those in milestones/ may come from anybody, so they are built in
/// isolation like custom submissions.
void build_students_work(const CourseMilestone& milestone, const std::string& stage,
                         GradeRequest& request);

}  // namespace convlab::grader::check_command
