#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/fault_record.hpp"
#include "grader/checks/findings/catalogue.hpp"

namespace convlab::grader {

/// The catalogue with the findings for submissions of the course: causes of a crash, an exit or a
/// wrong output that the symptom does not show.
std::vector<Diagnosis> with_course_diagnoses(std::vector<Diagnosis> diagnoses);

/// For a program that ended by itself: the finding of the CUDA error that it printed last.
/// @return nothing if it printed none
std::optional<Finding> printed_cuda_error(const std::string& printed, const std::string& where);

}  // namespace convlab::grader
