#pragma once

#include <filesystem>

#include "common/base/fault_record.hpp"

namespace convlab::grader {

/// Adds file and line to a fault that has its address in the program, if they can be found.
void find_line(FaultRecord& fault, const std::filesystem::path& program);

}  // namespace convlab::grader
