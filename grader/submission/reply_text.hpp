#pragma once

#include <filesystem>

#include "common/serve/serve.hpp"

namespace convlab::grader {

/// Replaces the control characters in every text of a reply: nothing that a submission says of
/// itself reaches a terminal or a file as it is.
void make_printable(ServeReply& reply);

/// Adds file and line to a fault that only knows its place in the program; leaves it as it is where
/// they are known or the program has no debug information.
/// @param secret  the folder that whoever reads the program must not see
void find_line(FaultRecord& fault, const std::filesystem::path& program,
               const std::filesystem::path& secret);

}  // namespace convlab::grader
