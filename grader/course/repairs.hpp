#pragma once

#include <vector>

#include "grader/checks/findings/catalogue.hpp"
#include "grader/course/notebook.hpp"

namespace convlab::grader {

/// The same puzzle with a file of its own, which is as it was handed out.
/// @throws EnvironmentError if there is no such text
Puzzle pristine_copy(const CourseMilestone& milestone, Puzzle puzzle);

/// What is noted about a broken kernel. The first time it is checked as it was handed out, also if
/// the student has changed it since.
/// @throws EnvironmentError if it cannot be built, or nothing is wrong with it
Repair examined_repair(const CourseMilestone& milestone, const Puzzle& repair,
                       const std::function<void(const Puzzle&)>& announce);

/// The causes among which the student chooses, a, b, …: the right one and others of the catalogue.
std::vector<Diagnosis> causes_of(const Puzzle& repair, const std::string& found);

}  // namespace convlab::grader
