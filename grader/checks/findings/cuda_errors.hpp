#pragma once

#include <optional>
#include <string>

#include "common/base/fault_record.hpp"
#include "grader/checks/findings/catalogue.hpp"

namespace convlab::grader {

/// For a program that ended by itself: the finding of the CUDA error that it printed last.
/// @return nothing if it printed none
std::optional<Finding> printed_cuda_error(const std::string& printed, const std::string& where);

}  // namespace convlab::grader
