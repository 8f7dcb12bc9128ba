#pragma once

#include <chrono>
#include <filesystem>

#include "common/serve/serve.hpp"
#include "grader/submission/sandbox/child_process.hpp"

namespace convlab::grader {

/// Receives the steps that a reply announces.
/// @return false if the program sends something else
bool receive_steps(ChildProcess& process, std::chrono::milliseconds limit, ServeReply& reply);

/// Adds file and line to a fault that only has its address in the program. Does nothing if they are
/// known or the program has no debug information.
/// @param secret  the folder that the reader of the program must not see
void find_line(FaultRecord& fault, const std::filesystem::path& program,
               const std::filesystem::path& secret);

}  // namespace convlab::grader
